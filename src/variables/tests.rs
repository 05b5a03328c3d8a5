use crate::jmespath::EvalError;
use crate::semantics::{DivergenceTracker, Semantics};
use crate::value::{Pointer, Value};

use super::{Inline, Limits, Query, QueryError, Scope, Substitution, Template};

/// Values of some names and expressions.
struct Fake;

impl Scope for Fake {
    fn query(&mut self, query: &Query) -> Result<Value, QueryError> {
        query.expression()?;
        // Lists that contain the next one twice, up to an empty one.
        if let Some(level) = query.text().strip_prefix("twice").and_then(|level| level.parse::<u32>().ok()) {
            let inner = Value::from(format!("{{{{ twice{} }}}}", level + 1));
            return Ok(Value::array(if level < 40 { vec![inner.clone(), inner] } else { Vec::new() }));
        }
        let json = |text| Ok(Value::from_json(text).unwrap());
        match &**query.text() {
            "a" | "@.a" => json(r#""A""#),
            "n" => json("5"),
            "f" => json("1.5"),
            "big" => json("1000000"),
            "b" => json("true"),
            "nul" => json("null"),
            "obj" => json(r#"{"k":"v","k1":"v1"}"#),
            "obj.k1" => json(r#""v1""#),
            "key" => json(r#""k1""#),
            "ptr" => json(r#""a""#),
            "list" => json(r#"[{"x":"q","y":1}]"#),
            "tmpl" => json(r#""{{ a }}""#),
            "o2" => json(r#"{"x":"{{a}}","{{a}}":1}"#),
            "nested" => json(r#""{{ KEEP {{ME}} }}""#),
            "loop" => json(r#""{{ loop }}""#),
            "selfish" => json(r#"{"x":"{{ selfish }}"}"#),
            "double" => json(r#""{{ double }}{{ double }}""#),
            "'A'" => json(r#""A""#),
            "html" => json(r#"{"a":"<"}"#),
            "request.oldObject.x" => json("1"),
            "request.oldObject.key" => json(r#""x""#),
            "request.object.spec.x" => json(r#""here""#),
            "request.object.spec.\"a/b\"" => json(r#""quoted""#),
            "request.object.spec.l[0]" => json(r#""first""#),
            "upper('here')" => json(r#""HERE""#),
            _ => Err(QueryError::Failed(EvalError::NotFound { key: query.text().clone() })),
        }
    }
}

fn settings(tracker: &DivergenceTracker) -> Substitution<'_> {
    Substitution {
        tracker,
        deleting: false,
        inline: Inline::Path,
        inline_root: "request.object",
        limits: Limits::default(),
    }
}

fn substituted(document: &str) -> Result<String, String> {
    let tracker = DivergenceTracker::default();
    let template = Template::prepare(&Value::from_json(document).unwrap(), Semantics::Documented);
    let result = template
        .substitute(&mut Fake, settings(&tracker))
        .map_err(|error| error.original().unwrap_or_else(|| error.to_string()))?;
    Ok(result.value.to_json())
}

#[test]
fn a_whole_variable_keeps_its_type_and_an_embedded_one_becomes_text() {
    for (document, expected) in [
        (r#""{{ a }}""#, r#""A""#),
        (r#"" {{ a }}""#, r#"" A""#),
        (r#""x{{ a }}y""#, r#""xAy""#),
        (r#""{{ n }}""#, "5"),
        (r#""n={{ n }}""#, r#""n=5""#),
        (r#""{{ f }}/{{ big }}""#, r#""1.5/1000000""#),
        (r#""{{ obj }}""#, r#"{"k":"v","k1":"v1"}"#),
        (r#""o={{ obj }}""#, r#""o={\"k\":\"v\",\"k1\":\"v1\"}""#),
        (r#""l={{ list }}""#, r#""l=[{\"x\":\"q\",\"y\":1}]""#),
        (r#""{{ nul }}""#, "null"),
        (r#""x{{ nul }}""#, r#""xnull""#),
        (r#""x{{ b }}""#, r#""xtrue""#),
        (r#""{{ a }}{{ a }}""#, r#""AA""#),
        (r#""\"{{ a }}\"""#, r#""\"A\"""#),
        (r#""h={{ html }}""#, r#""h={\"a\":\"\\u003c\"}""#),
        (r#"["{{ a }}",5,true,null,{"x":"{{ n }}"}]"#, r#"["A",5,true,null,{"x":5}]"#),
    ] {
        assert_eq!(substituted(document).unwrap(), expected, "{document}");
    }
}

#[test]
fn escaped_variables_lose_their_backslash() {
    for (document, expected) in [
        (r#""{{ a }} \\{{ a }}""#, r#""A {{ a }}""#),
        (r#""\\{{ a }}""#, r#""{{ a }}""#),
        (r#""x\\{{ a }}""#, r#""x{{ a }}""#),
        (r#""\\\\{{ a }}""#, r#""\\{{ a }}""#),
        (r#""{{ a""#, r#""{{ a""#),
        (r#""{ {a} }""#, r#""{ {a} }""#),
    ] {
        assert_eq!(substituted(document).unwrap(), expected, "{document}");
    }
}

#[test]
fn variables_nest_and_inserted_text_is_scanned_again() {
    for (document, expected) in [
        (r#""{{ obj.{{ key }} }}""#, r#""v1""#),
        (r#""{{ obj.{{key}} }}-x""#, r#""v1-x""#),
        (r#""{{ {{ptr}} }}""#, r#""A""#),
        (r#""{{ tmpl }}""#, r#""{{ a }}""#),
        (r#""x{{ tmpl }}""#, r#""xA""#),
        (r#""{{- tmpl }} y""#, r#""{{ a }} y""#),
        (r#""x {{- tmpl }}""#, r#""x {{ a }}""#),
        (r#""{{- nested }} {{ a }} {{ tmpl }}""#, r#""{{ KEEP {{ME}} }} A A""#),
        (r#""{{ a }} {{- nested }} {{ tmpl }}""#, r#""A {{ KEEP {{ME}} }} A""#),
        (r#""{{- n }}""#, "5"),
        (r#""{{ o2 }}""#, r#"{"x":"A","A":1}"#),
        (r#""{{ '{{a}}' }}""#, r#""A""#),
        (r#""{{\na\n}}""#, r#""A""#),
    ] {
        assert_eq!(substituted(document).unwrap(), expected, "{document}");
    }
}

#[test]
fn what_has_no_variables_is_shared() {
    let plain = Value::from_json(r#"{"a": [{"b": "text"}], "c": {"d": null}}"#).unwrap();
    let fixed = Template::prepare(&plain, Semantics::Documented);
    assert!(fixed.fixed().unwrap().same_storage(&plain));
    let mixed = Value::from_json(r#"{"b": ["x", "{{ a }}", "y"], "{{ a }}": 1, "c": "\\{{ a }}"}"#).unwrap();
    let template = Template::prepare(&mixed, Semantics::Documented);
    let tracker = DivergenceTracker::default();
    let value = template.substitute(&mut Fake, settings(&tracker)).unwrap().value;
    assert_eq!(value.to_json(), r#"{"b":["x","A","y"],"A":1,"c":"{{ a }}"}"#);
}

#[test]
fn the_insertions_of_one_round_are_returned() {
    let tracker = DivergenceTracker::default();
    for (text, texts, expected) in [
        ("x{{ a }}-{{ n }}y", Some(vec!["x", "-", "y"]), Some(vec!["A", "5"])),
        (r"x{{ f }} {{ obj.{{ key }} }}", None, None),
        ("{{ a }}", Some(vec!["", ""]), None),
        ("x{{ tmpl }}", Some(vec!["x", ""]), None),
        ("x{{ a }}{{ a }}", None, None),
        (r"x{{ a }} \{{ a }}", None, Some(vec!["A"])),
        ("x {{- tmpl }}", None, Some(vec![r"\{{ a }}"])),
        ("x", None, None),
    ] {
        let template = Template::prepare(&text.into(), Semantics::Documented);
        assert_eq!(template.literals(), texts, "{text}");
        let whole = template.substitute(&mut Fake, settings(&tracker)).unwrap().value;
        let (value, insertions) = template.substitute_with_insertions(&mut Fake, settings(&tracker)).unwrap();
        assert_eq!(value, whole, "{text}");
        let insertions =
            insertions.as_ref().map(|insertions| insertions.iter().map(|text| &**text).collect::<Vec<_>>());
        assert_eq!(insertions, expected, "{text}");
    }
}

#[test]
fn keys_are_substituted_and_must_be_strings() {
    assert_eq!(substituted(r#"{"{{ a }}":"v"}"#).unwrap(), r#"{"A":"v"}"#);
    assert_eq!(substituted(r#"{"k-{{ a }}":"{{ n }}"}"#).unwrap(), r#"{"k-A":5}"#);
    assert_eq!(substituted(r#"{"{{ nul }}":"v"}"#).unwrap(), r#"{"{{ nul }}":"v"}"#);
    assert_eq!(
        substituted(r#"{"{{ n }}":"v"}"#).unwrap_err(),
        r#"expected string after substituting variables in key "{{ n }}" at path "#
    );
}

#[test]
fn references_are_replaced_before_variables() {
    assert_eq!(substituted(r#"{"a":"$(/b)","b":"{{ a }}"}"#).unwrap(), r#"{"a":"A","b":"A"}"#);
    assert_eq!(
        substituted(r#"{"a":"$(/b)","b":"$(/c)","c":"C"}"#).unwrap(),
        r#"{"a":"$(/c)","b":"C","c":"C"}"#
    );
}

#[test]
fn an_unresolved_variable_names_its_place() {
    assert_eq!(
        substituted(r#"{"mutate":{"x/y":["{{ missing }}"]}}"#).unwrap_err(),
        r#"failed to resolve missing at path /mutate/x\/y/0: JMESPath query failed: Unknown key "missing" in path"#
    );
    assert_eq!(
        substituted(r#"{"a":"{{ }}"}"#).unwrap_err(),
        "failed to resolve  at path /a: invalid query (nil)"
    );
}

#[test]
fn an_unresolved_variable_inside_or_around_another_is_named() {
    for (document, expected) in [
        (
            r#""{{ obj.{{ missing }} }}""#,
            r#"failed to resolve missing at path : JMESPath query failed: Unknown key "missing" in path"#,
        ),
        (r#""{{ missing.{{ key }} }}""#, "failed to resolve missing.k1 at path "),
        (r#""{{- nested {{ a }} {{ tmpl }} }}""#, "failed to resolve nested A A at path "),
    ] {
        let error = substituted(document).unwrap_err();
        assert!(error.starts_with(expected), "{document}: {error}");
    }
}

#[test]
fn data_that_refers_to_itself_exceeds_a_limit() {
    for document in [r#""x{{ loop }}""#, r#""{{ selfish }}""#, r#""x{{ double }}""#, r#""{{ twice0 }}""#] {
        assert!(substituted(document).unwrap_err().contains("limit"), "{document}");
    }
}

#[test]
fn a_deleting_request_reads_the_old_object() {
    let tracker = DivergenceTracker::default();
    let deleting = Substitution { deleting: true, ..settings(&tracker) };
    for (text, expected) in [
        ("{{ request.object.x }}", Value::from(1)),
        ("{{request.object.x}} {{request.oldObject.x}}", "1 1".into()),
        ("{{request.object.{{request.object.key}}}}", Value::from(1)),
        (r"\{{request.object.{{request.object.key}}}}", "{{request.object.x}}".into()),
    ] {
        let template = Template::prepare(&text.into(), Semantics::Documented);
        assert_eq!(template.substitute(&mut Fake, deleting).unwrap().value, expected, "{text}");
    }
}

#[test]
fn the_inline_value_has_the_same_path() {
    for (document, expected) in [
        (r#"{"mutate":{"overlay":{"spec":{"x":"{{@}}"}}}}"#, "here"),
        (r#"{"mutate":{"foreach":[{"patch":{"spec":{"x":"{{@}}"}}}]}}"#, "here"),
        (r#"{"mutate":{"overlay":{"spec":{"l":["{{@}}"]}}}}"#, "first"),
        (r#"{"mutate":{"overlay":{"spec":{"a/b":"{{ @ }}"}}}}"#, "quoted"),
    ] {
        assert!(substituted(document).unwrap().contains(expected), "{document}");
    }
}

#[test]
fn the_inline_value_can_be_deferred() {
    let tracker = DivergenceTracker::default();
    let rule = Value::from_json(r#"{"mutate":{"smp":{"x":"{{ upper('{{@}}') }}","y":"{{ a }}"}}}"#).unwrap();
    let at = Pointer::ROOT.key("mutate").key("smp");
    let template = Template::prepare_at(&rule, &at, Semantics::Documented);
    let deferred = Substitution { inline: Inline::Deferred, ..settings(&tracker) };
    let substituted = template.substitute(&mut Fake, deferred).unwrap();
    assert_eq!(substituted.value.get("y"), Some(&Value::from("A")));
    let leaf = &substituted.inline[&Pointer::ROOT.key("x")];
    assert_eq!(leaf.resolve(&"here".into(), &mut Fake, deferred).unwrap(), Value::from("HERE"));
    let error = Template::prepare_at(&rule, &at, Semantics::Documented)
        .substitute(&mut Fake, settings(&tracker))
        .unwrap_err();
    assert!(error.to_string().contains(" in mutate.smp.x: "), "{error}");
}
