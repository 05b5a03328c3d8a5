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
    evaluated_within(source, COST_LIMIT)
}

fn evaluated_within(source: &str, limit: u64) -> Result<String, EvalError> {
    let env = Env::policy(Dialect::Kyverno).with_messages();
    let program = Program::compile(&env, source).expect(source);
    let mut activation = Activation::new(&env, &[]);
    let object = Value::from_json(r#"{"n": 3, "list": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}"#).unwrap();
    activation.set("object", Val::from_json(&object, Numbers::Exact));
    program.evaluate(&activation, &mut Meter::with_limit(limit)).map(|value| canonical(&value))
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
        assert_eq!(evaluated(source), Err(EvalError::CostLimit(COST_LIMIT)), "{source}");
    }
    // Neither `||` nor a macro absorbs that.
    assert_eq!(
        evaluated("lists.range(1000000).exists(x, x < 0) || true"),
        Err(EvalError::CostLimit(COST_LIMIT))
    );
}

#[test]
fn values_that_grow_are_cancelled() {
    let doubled = (0..60).fold("'0123456789'".to_owned(), |inner, _| format!("[{inner}].map(x, x + x)[0]"));
    for source in [
        doubled.as_str(),
        "lists.range(9223372036854775807)",
        "[lists.range(10000).map(x, 'a').join()].map(a, [a.replace('a', a)].map(b, b + b))",
        "'%.1000f'.format([1.0]).size() < 0 ? [] : lists.range(100000000)",
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
        env.define(name, Some(&program));
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

/// The source with `v` and `w`, equal lists with 2^30 values: each level has the one before it twice.
fn with_doubled_lists(source: &str) -> String {
    let doubled = |name: &str, inner: String| {
        (1..=30).rev().fold(inner, |inner, n| {
            let before = format!("{name}{}", n - 1);
            format!("cel.bind({name}{n}, [{before}, {before}], {inner})")
        })
    };
    let source = source.replace('V', "v30").replace('W', "w30");
    format!("cel.bind(v0, ['x'], cel.bind(w0, ['x'], {}))", doubled("v", doubled("w", source)))
}

#[test]
fn values_in_many_places_cost_in_each_of_them() {
    for source in [
        "V == W",
        "V != W",
        "V in [W]",
        "'%s'.format([V])",
        "[V, W].distinct()",
        "[V].indexOf(W)",
        "[V].lastIndexOf(W)",
        "dyn(V).sum()",
        "dyn(V).flatten(40)",
        "sets.contains([V], [W])",
        "sets.equivalent([V], [W])",
        "sets.intersects([V], [W])",
        "{'a': V} == {'a': W}",
        "optional.of(V) == optional.of(W)",
        "Object{a: V} == Object{a: W}",
        "json.marshal(V)",
        "json.marshal({'a': V})",
    ] {
        let found = evaluated_within(&with_doubled_lists(source), 10_000);
        assert!(found.as_ref().is_err_and(EvalError::is_final), "{source}: {found:?}");
    }
    // What does not look inside costs nothing more.
    for source in
        ["size(V) == 2", "[V, W].size() == 2", "type(V) == list", "has({'a': V}.a)", "V[0][1].size() == 2"]
    {
        assert_eq!(evaluated(&with_doubled_lists(source)).unwrap(), "true", "{source}");
    }
}

#[test]
fn constructed_objects_in_many_places_cost_in_each_of_them() {
    let mut env = Env::policy(Dialect::Kubernetes).with_messages();
    let mut programs = Vec::new();
    for n in 0_u32..=30 {
        let before = format!("variables.o{}", n.saturating_sub(1));
        let source =
            if n == 0 { "Object{}".to_owned() } else { format!("Object{{a: {before}, b: {before}}}") };
        let program = Program::compile(&env, &source).unwrap();
        env.define(&format!("o{n}"), Some(&program));
        programs.push(program);
    }
    let source = "true ? optional.of(variables.o30) : optional.none()";
    let program = Program::compile(&env, source).unwrap();
    let found = program.evaluate(&Activation::new(&env, &programs), &mut Meter::with_limit(10_000));
    assert!(found.as_ref().is_err_and(EvalError::is_final), "{found:?}");
}

#[test]
fn conversion_to_json_is_bounded() {
    let env = Env::policy(Dialect::Kyverno).with_messages();
    let object = Value::from_json(&format!(r#"{{"list": [{}]}}"#, vec!["1"; 1000].join(","))).unwrap();
    for source in [with_doubled_lists("V"), "lists.range(10000).map(x, object.list)".to_owned()] {
        let mut activation = Activation::new(&env, &[]);
        activation.set("object", Val::from_json(&object, Numbers::Exact));
        let value =
            Program::compile(&env, &source).unwrap().evaluate(&activation, &mut Meter::default()).unwrap();
        let found = to_json(&value, &mut Meter::default());
        assert!(found.as_ref().is_err_and(EvalError::is_final), "{source}");
    }
    let list = Val::from_json(&object, Numbers::Exact);
    let mut meter = Meter::default();
    assert_eq!(to_json(&list, &mut meter), Ok(object));
    assert_eq!(meter.visits(), 0);
}

#[test]
fn timestamps_last_until_the_end_of_the_year_9999() {
    for (source, expected) in [
        ("timestamp('9999-12-31T23:59:59.999999999Z')", "timestamp(9999-12-31T23:59:59.999999999Z)"),
        ("timestamp(253402300799)", "timestamp(9999-12-31T23:59:59Z)"),
        ("int(timestamp('9999-12-31T23:59:59Z'))", "253402300799"),
        ("timestamp('9999-12-31T23:59:59Z').getFullYear('+01:00')", "10000"),
        ("timestamp('0001-01-01T00:00:00Z').getDayOfYear('-01:00')", "365"),
        ("timestamp('9999-12-31T00:00:00Z') + duration('86399s')", "timestamp(9999-12-31T23:59:59Z)"),
        ("timestamp('2024-01-01T00:00:00.1234567899Z').getMilliseconds()", "123"),
        ("timestamp(253402300799) > timestamp(-62135596800)", "true"),
    ] {
        assert_eq!(evaluated(source).unwrap(), expected, "{source}");
    }
    for source in ["timestamp(253402300799) + duration('1s')", "timestamp(-62135596800) - duration('1ns')"] {
        assert_eq!(evaluated(source), Err(EvalError::failed("timestamp overflow")), "{source}");
    }
}

/// As cel-go has them.
#[test]
fn timestamps_keep_the_offset_that_they_were_written_with() {
    for (source, expected) in [
        ("string(timestamp('2024-02-28T00:00:00+01:00'))", "2024-02-28T00:00:00+01:00"),
        ("string(timestamp('2024-02-28T00:00:00.5-07:30'))", "2024-02-28T00:00:00.5-07:30"),
        ("string(timestamp('2024-02-28T00:00:00-00:00'))", "2024-02-28T00:00:00Z"),
        ("string(timestamp('2024-02-28T00:00:00-07:30') + duration('1h'))", "2024-02-28T01:00:00-07:30"),
        ("'%s'.format([timestamp('2024-02-28T00:00:00+01:00')])", "2024-02-28T00:00:00+01:00"),
        ("string(timestamp('2024-02-28T00:30:00+01:00').getHours())", "0"),
        ("string(timestamp('2024-02-28T00:30:00+01:00').getHours('UTC'))", "23"),
        ("string(timestamp('2024-02-28T00:30:00+01:00').getDate())", "28"),
        ("string(timestamp('2024-02-28T01:00:00+01:00') == timestamp('2024-02-28T00:00:00Z'))", "true"),
        ("string(timestamp('2024-02-28T01:00:00+01:00') > timestamp('2024-02-28T00:30:00Z'))", "false"),
    ] {
        assert_eq!(evaluated(source).unwrap(), format!("{expected:?}"), "{source}");
    }
}

/// As the extension of cel-go writes them: a precision of `%e` is a width.
#[test]
fn powers_of_ten_have_six_decimals() {
    for (source, expected) in [
        ("'%e'.format([12345.678])", "1.234568×10⁰⁴"),
        ("'%.2e'.format([-0.0])", "0.000000×10⁰⁰"),
        ("'%.20e'.format([-1.0])", "      -1.000000×10⁰⁰"),
        ("'%.2f'.format([-0.0])", "0.00"),
        ("'%.2f'.format([-0.001])", "-0.00"),
        ("'%.4e'.format(['Infinity'])", "   ∞"),
    ] {
        assert_eq!(evaluated(source).unwrap(), format!("{expected:?}"), "{source}");
    }
}

#[test]
fn seconds_of_durations_are_doubles() {
    for (source, expected) in [
        ("string(duration('100000h0m0.123456789s'))", "360000000.1234568s"),
        ("string(duration('-1.5s'))", "-1.5s"),
        ("string(duration('0s'))", "0s"),
        ("string(duration('1h30m'))", "5400s"),
    ] {
        assert_eq!(evaluated(source).unwrap(), format!("{expected:?}"), "{source}");
    }
}

#[test]
fn digits_of_a_double_have_a_limit() {
    assert_eq!(evaluated("'%.1000f'.format([1.0]).size()").unwrap(), "1002");
    let refused = refused("'%.1001f'.format([1.0])");
    assert!(matches!(&refused[..], [(_, _, message)] if message.contains("at most 1000")), "{refused:?}");
    let failed = evaluated("dyn('%.1001e').format([1.0])").unwrap_err();
    assert!(failed.to_string().contains("at most 1000"), "{failed}");
}

#[test]
fn huge_numbers_and_many_decimals_are_rounded() {
    for (source, expected) in [
        ("math.round(1.5, 400)", "NaN"),
        ("math.round(0.0, 400)", "NaN"),
        ("math.round(1e300, 20)", "d+Inf"),
        ("math.round(-1e308, 2)", "d-Inf"),
        ("math.round(1.5, -400)", "NaN"),
        ("math.round(1e308, -9223372036854775808)", "NaN"),
        ("math.round(1.5, 9223372036854775807)", "NaN"),
        ("math.round(1234.5, -2)", "d1.2e+03"),
        ("math.round(double('inf'), 2)", "d+Inf"),
        ("math.round(double('-inf'), -400)", "NaN"),
        ("math.round(double('nan'), 2)", "NaN"),
        ("math.round(1e308)", "d1e+308"),
        ("math.ceil(1e308)", "d1e+308"),
        ("math.floor(-1e308)", "d-1e+308"),
        ("math.trunc(1e308)", "d1e+308"),
        ("math.round(4503599627370497.5)", "d4.503599627370498e+15"),
        ("math.round(0.49999999999999994)", "d0e+00"),
    ] {
        assert_eq!(evaluated(source).unwrap(), expected, "{source}");
    }
}

#[test]
fn regular_expressions_cost_what_they_may_do() {
    let texts = "lists.range(3000).map(x, 'A').join()";
    for source in [
        // Each match is looked for until the end of the text.
        format!("{texts}.findAll('.*[^A-Z]|[A-Z]').size()"),
        format!("regex.replace({texts}, '.*[^A-Z]|[A-Z]', 'b').size()"),
        // Compiled anew for each text.
        "lists.range(1000).map(x, 'a'.matches(string(x) + '([a-z]{30}){30}'))".to_owned(),
        "lists.range(1000).map(x, 'a'.matches(string(x) + '\\\\pL{100}'))".to_owned(),
    ] {
        let found = evaluated_within(&source, 15_000);
        assert!(found.as_ref().is_err_and(EvalError::is_final), "{source}: {found:?}");
    }
    assert_eq!(evaluated("'a1b22'.findAll('[0-9]+').size()").unwrap(), "2");
    assert_eq!(evaluated("['a', 'b'].all(x, x.matches('^' + x + '[a-z]{0,63}$'))").unwrap(), "true");
}

#[test]
fn variables_that_name_each_other_have_a_limit() {
    let mut env = Env::policy(Dialect::Kyverno);
    let mut last = None;
    for n in 0..=limits::MAX_DEPTH {
        let source = if n == 0 { "1".to_owned() } else { format!("dyn([variables.v{}])", n - 1) };
        match Program::compile(&env, &source) {
            Ok(program) => env.define(&format!("v{n}"), Some(&program)),
            Err(error) => {
                last = Some((n, error.to_string()));
                break;
            }
        }
    }
    let (number, message) = last.unwrap();
    // Each is a call of a list of a variable.
    assert_eq!(number, (limits::MAX_DEPTH - 1) / 3 + 1);
    assert!(message.contains("nested deeper than 1000 levels"), "{message}");
}
