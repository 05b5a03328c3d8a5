//! Positions of faults, limits, laziness. What expressions mean is shown by `tests/language/cel.rs`.

use super::*;
use crate::diagnostics::{Code, Coded as _};
use crate::value::Value;

fn refused(source: &str) -> Vec<(usize, usize, String)> {
    let env = Env::policy(Dialect::Kyverno).with_messages();
    let error = Program::compile(&env, source).expect_err(source);
    error.placed().map(|(line, column, issue)| (line, column, issue.message.clone())).collect()
}

fn evaluated(source: &str) -> Result<String, EvalError> {
    let env = Env::policy(Dialect::Kyverno).with_messages();
    let program = Program::compile(&env, source).expect(source);
    let mut activation = Activation::new(&env, &[]);
    let object = Value::from_json(r#"{"n": 3, "list": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}"#).unwrap();
    activation.set("object", Val::from_json(&object, Numbers::Exact));
    program.evaluate(&activation, &mut Meter::default()).map(|value| canonical(&value))
}

#[test]
fn faults_have_a_place_and_say_what_is_expected() {
    for (source, line, column, message) in [
        ("1 +", 1, 4, "syntax error: expected an expression, found the end"),
        ("[1, 2", 1, 6, "syntax error: expected ']', found the end"),
        ("object.\n  a b", 2, 5, "syntax error: expected an operator or the end, found 'b'"),
        ("'é' + nope", 1, 7, "undeclared reference to 'nope'"),
        ("object.spec.in", 1, 13, "syntax error: expected a name, found 'in'"),
        ("namespace", 1, 1, "reserved identifier: namespace"),
        ("1 + 'a'", 1, 3, "found no matching overload for '_+_' applied to '(int, string)'"),
        ("'a'.indexOf(1)", 1, 12, "found no matching overload for 'indexOf' applied to 'string.(int)'"),
        ("has(object)", 1, 5, "invalid argument to has() macro"),
        ("request.foo", 1, 8, "undefined field 'foo'"),
        ("{'a': 1, 'b': 'x'}", 1, 15, "expected type 'int' but found 'string'"),
        ("9223372036854775808", 1, 1, "invalid int literal"),
        ("'abc", 1, 1, "syntax error: the string has no end or a wrong escape"),
        ("'\\q'", 1, 1, "unknown escape in a string"),
        ("#", 1, 1, "syntax error: unexpected character '#'"),
        ("gzip.compress('a')", 1, 14, "the function 'gzip.compress' is not supported"),
    ] {
        assert_eq!(refused(source)[0], (line, column, message.to_owned()), "{source}");
    }
    assert_eq!(refused("foo + bar").len(), 2);
}

#[test]
fn deep_and_long_sources_are_refused() {
    let nested = |open: &str, inner: &str, close: &str| open.repeat(6_000) + inner + &close.repeat(6_000);
    for source in [
        nested("(", "1", ")"),
        nested("[", "", "]"),
        nested("{'a':", "1", "}"),
        nested("f(", "1", ")"),
        nested("true ? 1 : ", "1", ""),
        nested("object[", "0", "]"),
        format!("object{}", ".a".repeat(10_000)),
        format!("1{}", " + 1".repeat(10_000)),
        format!("1{}", " == 1".repeat(10_000)),
        format!("object{}", "[0]".repeat(10_000)),
        format!("object{}", ".map(x, x)".repeat(9_000)),
        nested("Object{a: ", "1", "}"),
    ] {
        let message = &refused(&source)[0].2;
        assert!(message.contains("nested deeper than the limit of 250"), "{}: {message}", &source[..20]);
    }
    let message = &refused(&"1".repeat(1_000_000))[0].2;
    assert_eq!(message, "the expression has 1000000 characters, the limit is 100000");
    assert!(refused(&"'".repeat(99_999)).len() <= 200);
    assert!(refused(&"# ".repeat(40_000)).len() <= 200);
}

#[test]
fn wide_sources_are_compiled() {
    let conditions = vec!["object.n == 3"; 5_000].join(" && ");
    assert_eq!(evaluated(&conditions).unwrap(), "true");
    let list = format!("size([{}])", vec!["1"; 20_000].join(","));
    assert_eq!(evaluated(&list).unwrap(), "20000");
    assert_eq!(evaluated(&format!("{}1", "!!".repeat(20_000) + "true || 1 == ")).unwrap(), "true");
}

#[test]
fn work_without_end_is_cancelled() {
    for source in [
        "object.list.all(a, object.list.all(b, object.list.all(c, object.list.all(d, object.list.all(e, object.list.all(f, f > 0))))))",
        "lists.range(1000000).map(x, x)",
        "lists.range(1000).map(x, lists.range(1000).map(y, x * y))",
    ] {
        assert_eq!(evaluated(source), Err(EvalError::CostLimit), "{source}");
    }
    // Neither `||` nor a macro absorbs that.
    assert_eq!(evaluated("lists.range(1000000).exists(x, x < 0) || true"), Err(EvalError::CostLimit));
}

#[test]
fn values_that_grow_are_cancelled() {
    let doubled = (0..60).fold("'0123456789'".to_owned(), |inner, _| format!("[{inner}].map(x, x + x)[0]"));
    for source in [
        doubled.as_str(),
        "lists.range(9223372036854775807)",
        "[lists.range(10000).map(x, 'a').join()].map(a, [a.replace('a', a)].map(b, b + b))",
        "'%.999999999f'.format([1.0]).size() < 0 ? [] : lists.range(100000000)",
    ] {
        // The values are too long for a message.
        let is_cancelled = matches!(evaluated(source), Err(error) if error.is_final());
        assert!(is_cancelled, "{source}");
    }
}

#[test]
fn types_that_grow_are_refused() {
    let source = (0..40).fold("[{1: 1}]".to_owned(), |inner, _| format!("{inner}.map(x, {{x: x}})"));
    assert!(refused(&source)[0].2.contains("too large"));
}

#[test]
fn optional_chains_do_not_multiply() {
    let source = (0..100).fold("optional.of(1)".to_owned(), |inner, _| format!("{inner}.optMap(x, x + 1)"));
    assert_eq!(evaluated(&source).map_err(|error| error.is_final()), Err(true));
    let source = (0..15).fold("optional.of(1)".to_owned(), |inner, _| format!("{inner}.optMap(x, x + 1)"));
    assert_eq!(evaluated(&source).unwrap(), "some(16)");
}

#[test]
fn variables_are_evaluated_once_and_only_if_they_are_used() {
    let mut env = Env::policy(Dialect::Kubernetes);
    let mut programs = Vec::new();
    for (name, source) in [("fails", "object.nope"), ("n", "size(object.list)"), ("more", "variables.n + 1")]
    {
        let program = Program::compile(&env, source).unwrap();
        env.define(name, program.output());
        programs.push(program);
    }
    let run = |source: &str| {
        let program = Program::compile(&env, source).unwrap();
        let mut activation = Activation::new(&env, &programs);
        let object = Value::from_json(r#"{"list": [1, 2]}"#).unwrap();
        activation.set("object", Val::from_json(&object, Numbers::Exact));
        let result = program.evaluate(&activation, &mut Meter::default());
        (
            result.map(|value| canonical(&value)).map_err(|error| error.to_string()),
            activation.definitions_cost(),
        )
    };
    assert_eq!(run("variables.more + variables.more"), (Ok("6".to_owned()), 6));
    assert_eq!(run("variables.n"), (Ok("2".to_owned()), 3));
    assert_eq!(run("variables.fails || true"), (Ok("true".to_owned()), 2));
    assert_eq!(run("has(variables.fails)").0, Err("no such key: nope".to_owned()));
    assert_eq!(run("true").1, 0);
}

#[test]
fn numbers_of_manifests_are_ints_or_doubles() {
    let env = Env::policy(Dialect::Kyverno);
    let object = Value::from_json(r#"{"n": 3, "x": 1.5}"#).unwrap();
    let run = |source: &str, numbers: Numbers| {
        let mut activation = Activation::new(&env, &[]);
        activation.set("object", Val::from_json(&object, numbers));
        let program = Program::compile(&env, source).unwrap();
        program.evaluate(&activation, &mut Meter::default()).map(|value| canonical(&value))
    };
    assert_eq!(run("object.n + 1", Numbers::Exact).unwrap(), "4");
    assert_eq!(run("object.n + 1", Numbers::Doubles), Err(EvalError::no_overload()));
    assert_eq!(run("[object].map(o, o.n)", Numbers::Doubles).unwrap(), "[d3e+00]");
    assert_eq!(run("object.x", Numbers::Exact).unwrap(), "d1.5e+00");
}

#[test]
fn programs_and_values_are_shared_between_threads() {
    const fn shared<T: Send + Sync>() {}
    shared::<Program>();
    shared::<Val>();
    assert!(size_of::<Val>() <= 24);
}

#[test]
fn all_signatures_of_the_table_can_be_read() {
    for dialect in [Dialect::Kubernetes, Dialect::Kyverno] {
        let all = signatures(dialect);
        assert!(all.len() > 150, "{}", all.len());
        for signature in all {
            assert!(signature.text.contains(") -> "), "{}: {}", signature.name, signature.text);
        }
    }
}

#[test]
fn quantities_beyond_our_limit_are_errors() {
    for text in ["1e1001", "1e-1001", "1e-2147483648", "1e2147483648", &"1".repeat(1001)] {
        for function in ["quantity", "isQuantity"] {
            let error = evaluated(&format!("{function}('{text}')")).unwrap_err();
            let message = "limit: quantity has more than 1000 digits or an exponent beyond 1000";
            assert_eq!(error.to_string(), message, "{function} {text}");
            assert_eq!(error.code(), Code::EvaluationLimit);
        }
    }
    assert_eq!(evaluated("isQuantity('1e1000')").unwrap(), "true");
    // Kubernetes refuses these, too.
    assert_eq!(evaluated("isQuantity('1e9223372036854775808') || isQuantity('1K')").unwrap(), "false");
}
