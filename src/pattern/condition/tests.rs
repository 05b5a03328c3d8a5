use super::*;
use crate::value::JsonReader;

fn parse(json: &str) -> Result<Conditions, Vec<InvalidCondition>> {
    Conditions::parse(&JsonReader::new(json).read().unwrap())
}

fn errors(json: &str) -> Vec<String> {
    parse(json).unwrap_err().iter().map(ToString::to_string).collect()
}

/// Evaluates conditions whose operands are as written; the operand `fail` cannot be resolved.
fn evaluate(json: &str) -> Result<Verdict, String> {
    let mut resolve = |side: &Value, at: &Pointer| match side.as_str() {
        Some("fail") => Err(format!("no value at {at}")),
        _ => Ok((side.clone(), IntegerTyping::Floats)),
    };
    parse(json)
        .unwrap()
        .evaluate(&mut resolve, &DivergenceTracker::default())
        .map_err(|error| error.operand().map_or(error.to_string(), |operand| format!("{operand}: {error}")))
}

fn condition(holds: bool, message: &str) -> String {
    format!(r#"{{"key":{holds},"operator":"Equals","value":true,"message":"{message}"}}"#)
}

fn block(any: Option<&[(bool, &str)]>, all: Option<&[(bool, &str)]>) -> String {
    let list = |conditions: &[(bool, &str)]| {
        let conditions: Vec<_> =
            conditions.iter().map(|(holds, message)| condition(*holds, message)).collect();
        format!("[{}]", conditions.join(","))
    };
    let members: Vec<_> = [("any", any), ("all", all)]
        .into_iter()
        .filter_map(|(name, conditions)| Some(format!(r#""{name}":{}"#, list(conditions?))))
        .collect();
    format!("{{{}}}", members.join(","))
}

#[test]
fn messages_are_those_of_the_decisive_conditions() {
    type Part<'a> = Option<&'a [(bool, &'a str)]>;
    let table: &[(Part<'_>, Part<'_>, bool, &str)] = &[
        (Some(&[(false, "invalid name"), (false, "invalid foo")]), None, false, "invalid name; invalid foo"),
        (Some(&[(true, "invalid name"), (false, "invalid foo")]), None, true, "invalid name"),
        (Some(&[(true, "a")]), Some(&[(true, "b"), (false, "invalid foo")]), false, "invalid foo"),
        (
            Some(&[(false, "invalid name"), (false, "invalid foo")]),
            Some(&[(true, "valid"), (false, "invalid foo2"), (false, "late")]),
            false,
            "invalid name; invalid foo; invalid foo2",
        ),
        (Some(&[(false, "no"), (true, "a")]), Some(&[(true, ""), (true, "b")]), true, "a; b"),
        (None, Some(&[(true, "a"), (true, "b")]), true, "a; b"),
        (Some(&[]), None, false, ""),
        (Some(&[]), Some(&[(true, "a")]), false, ""),
        (None, Some(&[]), true, ""),
        (None, None, true, ""),
    ];
    for (any, all, met, message) in table {
        let verdict = evaluate(&block(*any, *all)).unwrap();
        assert_eq!((verdict.met, &*verdict.message), (*met, *message), "{any:?} {all:?}");
    }
}

#[test]
fn all_conditions_of_a_list_must_hold() {
    for (conditions, met, message) in [
        (&[(true, "a"), (true, "b")][..], true, "a;b"),
        (&[(true, "a"), (false, "b"), (false, "c")], false, "b"),
        (&[], true, ""),
    ] {
        let conditions: Vec<_> =
            conditions.iter().map(|(holds, message)| condition(*holds, message)).collect();
        let verdict = evaluate(&format!("[{}]", conditions.join(","))).unwrap();
        assert_eq!((verdict.met, &*verdict.message), (met, message));
    }
}

#[test]
fn evaluation_stops_at_the_decisive_condition() {
    for (any, all, seen) in [
        (&[(false, ""), (true, ""), (true, "")][..], &[(true, "")][..], "any[0] any[1] all[0]"),
        (&[(false, ""), (false, "")], &[(true, "")], "any[0] any[1] all[0]"),
        (&[(false, "")], &[(true, ""), (false, ""), (true, "")], "any[0] all[0] all[1]"),
        (&[], &[], ""),
    ] {
        let verdict = evaluate(&block(Some(any), Some(all))).unwrap();
        let pointers: Vec<_> = verdict.seen.iter().map(|seen| seen.pointer.to_string()).collect();
        assert_eq!(pointers.join(" "), seen);
        for (seen, met) in verdict.seen.iter().zip(verdict.seen.iter().map(|seen| &seen.key)) {
            assert_eq!(Value::from(seen.met), *met);
        }
    }
}

#[test]
fn operands_are_resolved_lazily_and_the_key_first() {
    let condition =
        |key: &str, value: &str| format!(r#"{{"key":"{key}","operator":"Equals","value":"{value}"}}"#);
    let (met, unmet, bad) = (condition("a", "a"), condition("a", "b"), condition("fail", "fail"));
    let key_error = |at: &str| format!("condition key: no value at {at}");
    for (json, expected) in [
        (format!(r#"{{"any":[{met},{bad}]}}"#), None),
        (format!(r#"{{"all":[{unmet},{bad}]}}"#), None),
        (format!("[{unmet},{bad}]"), None),
        (format!(r#"{{"any":[{unmet},{bad}]}}"#), Some(key_error("any[1].key"))),
        (format!(r#"{{"any":[{unmet}],"all":[{bad}]}}"#), Some(key_error("all[0].key"))),
        (format!("[{met},{bad}]"), Some(key_error("[1].key"))),
        (format!("[{}]", condition("a", "fail")), Some("condition value: no value at [0].value".into())),
    ] {
        assert_eq!(evaluate(&json).err(), expected, "{json}");
    }
}

#[test]
fn exceptions_evaluate_all_first_and_ignore_an_empty_any() {
    type Part<'a> = Option<&'a [(bool, &'a str)]>;
    let table: &[(Part<'_>, Part<'_>, bool)] = &[
        (None, None, true),
        (Some(&[]), Some(&[(true, "")]), true),
        (Some(&[(false, "")]), Some(&[(true, "")]), false),
        (Some(&[(false, ""), (true, "")]), None, true),
        (Some(&[(true, "")]), Some(&[(false, "")]), false),
    ];
    for (any, all, holds) in table {
        let conditions = parse(&block(*any, *all)).unwrap();
        let mut resolve =
            |side: &Value, _: &Pointer| Ok::<_, Infallible>((side.clone(), IntegerTyping::Floats));
        assert_eq!(
            conditions.holds(&mut resolve, &DivergenceTracker::default()),
            Ok(*holds),
            "{any:?} {all:?}"
        );
    }
}

#[test]
fn operands_are_mapped_with_their_paths() {
    let conditions = parse(&block(Some(&[(true, "")]), Some(&[(true, ""), (false, "")]))).unwrap();
    let mut places = Vec::new();
    let prepared = conditions.map(|side, at| {
        places.push(at.to_string());
        side.as_bool().unwrap()
    });
    assert_eq!(
        places,
        ["any[0].key", "any[0].value", "all[0].key", "all[0].value", "all[1].key", "all[1].value"]
    );
    assert_eq!(prepared.iter().map(|condition| condition.key).collect::<Vec<_>>(), [true, true, false]);
    let failed = prepared.try_map(|side, at| if side { Ok(()) } else { Err(at.to_string()) });
    assert_eq!(failed.unwrap_err(), "all[1].key");
}

#[test]
fn conditions_are_parsed_strictly() {
    let good = r#"{"key":"a","operator":"Equals","value":"b"}"#;
    for json in [
        "null",
        "[]",
        "{}",
        r#"{"any":null,"all":null}"#,
        &format!("[{good}]"),
        &format!(r#"{{"any":[{good}],"all":[]}}"#),
        r#"[{"key":"{{ request.operation }}","operator":"In","value":["CREATE","DELETE"],"message":null}]"#,
        r#"[{"key":"{{request.operation}}","operator":"Equals","value":"{{ x }}"}]"#,
        r#"[{"key":"{{request.operation || 'BACKGROUND'}}","operator":"Equal","value":"BACKGROUND"}]"#,
        r#"[{"key":"","operator":"NotEqual","value":""}]"#,
    ] {
        assert!(parse(json).is_ok(), "{json}");
    }
}

#[test]
fn errors_have_paths_and_suggestions() {
    let list = "expected a list of conditions, or an object with `any` and `all`, found ";
    let operation = "expected CREATE, UPDATE, DELETE or CONNECT, as the key is the operation of the request";
    let blocks = "expected a condition, found `any` or `all`: a list of such blocks is not supported here";
    for (json, expected) in [
        ("1", vec![format!("{list}a number")]),
        (r#""x""#, vec![format!("{list}a string")]),
        (
            r#"{"key":"a","operator":"Equals","value":"b"}"#,
            vec!["a condition must be an element of a list, as under `any` or `all`".into()],
        ),
        (r#"{"anny":[]}"#, vec!["unknown field at `anny`, did you mean `any`?".into()]),
        (r#"{"any":{}}"#, vec!["expected a list of conditions, found an object at `any`".into()]),
        (r#"{"all":["x"]}"#, vec!["expected a condition, found a string at `all[0]`".into()]),
        (r#"[{"any":[]},{"all":[]}]"#, vec![format!("{blocks} at `[0]`"), format!("{blocks} at `[1]`")]),
        (
            "[{}]",
            vec![
                "`key` is missing at `[0]`".into(),
                "`operator` is missing at `[0]`".into(),
                "`value` is missing at `[0]`".into(),
            ],
        ),
        (
            r#"{"all":[{"key":null,"operator":"Equals","value":null}]}"#,
            vec!["`key` is missing at `all[0]`".into(), "`value` is missing at `all[0]`".into()],
        ),
        (
            r#"[{"key":1,"operator":"equals","value":1,"mesage":"x"}]"#,
            vec![
                "unknown field at `[0].mesage`, did you mean `message`?".into(),
                "unknown operator at `[0].operator`, did you mean `Equals`?".into(),
            ],
        ),
        (r#"[{"key":1,"operator":"Matches","value":1}]"#, vec!["unknown operator, expected one of Equals, NotEquals, In, AnyIn, AllIn, NotIn, AnyNotIn, AllNotIn, GreaterThan, \
                 GreaterThanOrEquals, LessThan, LessThanOrEquals, DurationGreaterThan, DurationGreaterThanOrEquals, \
                 DurationLessThan, DurationLessThanOrEquals, Equal, NotEqual at `[0].operator`".into()]),
        (
            r#"[{"key":1,"operator":["In"],"value":1,"message":2}]"#,
            vec![
                "expected a string, found a list at `[0].operator`".into(),
                "expected a string, found a number at `[0].message`".into(),
            ],
        ),
        (
            r#"[{"key":"{{request.operation}}","operator":"AnyIn","value":["CREATE","Create",1]}]"#,
            vec![format!("{operation} at `[0].value[1]`"), format!("{operation} at `[0].value[2]`")],
        ),
        (
            r#"[{"key":"{{ request.operation }}","operator":"Equals","value":"BACKGROUND"}]"#,
            vec![format!("{operation} at `[0].value`")],
        ),
    ] {
        assert_eq!(errors(json), expected, "{json}");
    }
}
