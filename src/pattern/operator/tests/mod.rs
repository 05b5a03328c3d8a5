use super::*;
use crate::semantics::{DivergenceSet, Semantics};

mod pairs;

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn evaluate(operator: Operator, key: &str, value: &str) -> bool {
    operator.evaluate(&json(key), &json(value), &DivergenceTracker::default())
}

/// Checks lines of the form `key · value → TF` with a letter for each operator. `P` is false where Kyverno panics.
fn check(operators: &[Operator], table: &str) {
    let mut checked = 0;
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (pair, expected) = line.rsplit_once(" → ").unwrap();
        let (key, value) = pair.split_once(" · ").unwrap();
        assert_eq!(expected.len(), operators.len(), "{line}");
        for (operator, expected) in operators.iter().zip(expected.chars()) {
            assert!(matches!(expected, 'T' | 'F' | 'P'), "{line}");
            assert_eq!(evaluate(*operator, key, value), expected == 'T', "{operator}: {line}");
            checked += 1;
        }
    }
    assert!(checked > 0);
}

const ORDER: [Operator; 4] =
    [Operator::GreaterThan, Operator::GreaterThanOrEquals, Operator::LessThan, Operator::LessThanOrEquals];

const MEMBERSHIP: [Operator; 6] =
    [Operator::In, Operator::AnyIn, Operator::AllIn, Operator::NotIn, Operator::AnyNotIn, Operator::AllNotIn];

#[test]
fn equality_depends_on_the_kind_of_the_key() {
    check(
        &[Operator::Equals, Operator::NotEquals],
        r#"
        "a" · "a" → TF
        "abc" · "a*" → TF
        "a*" · "abc" → FT
        "abc" · "!x" → FT
        "abc" · "a|abc" → FT
        "A" · "a" → FT
        "" · "" → TF
        "" · "*" → TF
        "a" · "" → FT
        "5" · "" → FT
        "5" · "5.0" → TF
        "5" · 5 → FT
        5 · "5" → TF
        5 · "5.0" → TF
        5 · 5.0 → TF
        1 · "0x1" → FT
        "1Gi" · "1024Mi" → TF
        "1Gi" · 1073741824 → FT
        1073741824 · "1Gi" → FT
        "1Gi" · "1*" → FT
        "1" · "*" → FT
        "100" · "1*" → FT
        "1.2.3" · "1.2.*" → TF
        "1d" · "1d" → TF
        "1h" · "60m" → TF
        "1h" · 3600 → TF
        3600 · "1h" → FT
        "0" · "0s" → FT
        "0s" · "0" → FT
        "0" · 0 → FT
        "0s" · 0 → TF
        "30m" · "0.03" → TF
        "10m" · "10" → FT
        null · null → FF
        "a" · null → FT
        null · "a" → FF
        true · "true" → FT
        "true" · true → FT
        [] · [] → TF
        [] · null → FT
        ["a","b"] · ["b","a"] → FT
        ["a"] · "a" → FT
        {"a":"b"} · {"a":"b"} → TF
        "inf" · "inf" → TF
        "#,
    );
}

#[test]
fn order_compares_durations_then_quantities_then_numbers_then_versions() {
    check(
        &ORDER,
        r#"
        5 · 3 → TTFF
        "5" · 3 → TTFF
        5 · "3" → TTFF
        "5" · "3" → TTFF
        5 · "3s" → TTFF
        3600 · "30m" → TTFF
        "1h" · 3599 → TTFF
        "1h" · "59m" → TTFF
        "10m" · "5" → FFTT
        "10m" · "5m" → TTFF
        "10" · "5m" → TTFF
        "500m" · "1" → FFTT
        "500m" · 1 → TTFF
        "500m" · "0.4" → TTFF
        "1Gi" · "1023Mi" → TTFF
        "1Gi" · 5 → FFFF
        5 · "1Gi" → FFFF
        "1.5" · "1.2" → TTFF
        "1.5.0" · "1.4.9" → TTFF
        "1.5.0" · "1.5" → FFFF
        "1.5" · "1.4.0" → FFFF
        "v1.5.0" · "v1.4.0" → FFFF
        "1.5.0-rc1" · "1.5.0" → FFTT
        "1.5.0" · "1.5.0-rc1" → TTFF
        "b" · "a" → FFFF
        "" · 0 → FFFF
        null · 0 → FFFF
        true · 0 → FFFF
        [5] · 3 → FFFF
        "1e3" · "999" → TTFF
        "0" · "0s" → FTFT
        0 · "0s" → FTFT
        "0" · "1s" → FFTT
        "1" · "1s" → FTFT
        "2" · "1s" → TTFF
        "inf" · 1 → TTFF
        "nan" · 1 → FFFF
        "10s" · 9.99 → TTFF
        10.9 · "10s" → FTFT
        "#,
    );
}

#[test]
fn order_of_mixed_kinds() {
    check(
        &ORDER,
        r#"
        10 · 5 → TTFF
        5 · 10 → FFTT
        5 · 5 → FTFT
        10.5 · 10.4 → TTFF
        "100" · 50 → TTFF
        "50" · "100" → FFTT
        "1.2.3" · "1.2.2" → TTFF
        "1.1.0" · "1.2.0" → FFTT
        "1.2.0" · "1.2.0" → FTFT
        "200Mi" · "100Mi" → TTFF
        "1Gi" · "2Gi" → FFTT
        "500m" · "0.5" → FTFT
        true · 5 → FFFF
        "not-a-number" · 5 → FFFF
        null · 5 → FFFF
        9007199254740993 · 9007199254740992 → TTFF
        "1h" · 1e300 → FFTT
        "#,
    );
}

#[test]
fn deprecated_operators_compare_durations_only() {
    check(
        &[
            Operator::DurationGreaterThan,
            Operator::DurationGreaterThanOrEquals,
            Operator::DurationLessThan,
            Operator::DurationLessThanOrEquals,
        ],
        r#"
        60 · "30s" → TTFF
        60.9 · 60 → FTFT
        "60" · 30 → FFFF
        "0" · "0s" → FTFT
        "1h" · true → FFFF
        "2h" · "1h" → TTFF
        "90m" · "1h30m" → FTFT
        "0s" · "1h" → FFTT
        "1h" · 3600 → FTFT
        30 · "1m" → FFTT
        null · "1h" → FFFF
        ["1h"] · "1h" → FFFF
        "1h" · "1Gi" → FFFF
        "#,
    );
}

#[test]
fn durations_pair_with_durations_and_numbers() {
    check(
        &[Operator::Equals],
        r#"
        "90m" · "1h30m" → T
        "3600s" · "1h" → T
        "1h" · 3600.9 → T
        "0" · "0" → T
        "0s" · false → F
        "1h" · true → F
        "1h" · "hour" → F
        "#,
    );
}

#[test]
fn membership_of_texts_lists_and_ranges() {
    check(
        &MEMBERSHIP,
        r#"
        "a" · ["a","b"] → TTTFFF
        "a" · "a" → TTTFFF
        "a" · "a,b" → FFFFTT
        "a" · "[\"a\",\"b\"]" → TTTFFF
        "a*" · ["abc"] → TTTFFF
        "abc" · ["a*"] → TTTFFF
        "a" · "*" → TTTFFF
        "a" · "[\"*\"]" → FFFTTT
        "a" · [] → FFFTTT
        "a" · "" → FFFFTT
        "" · [] → FFFTTT
        "" · [""] → TTTFFF
        "" · "" → TTTFFF
        ["a"] · ["a","b"] → TTTFFF
        ["a","c"] · ["a","b"] → FTFTTF
        ["c","d"] · ["a","b"] → FFFTTT
        [] · ["a"] → TFTFFT
        [] · [] → TFTFFT
        ["a"] · "a" → TTTTFF
        ["a","b"] · "a" → FTFFTF
        ["a","b"] · "[\"a\",\"b\"]" → TTTFFF
        ["a"] · "b" → FFFFTT
        ["a*"] · ["abc"] → FTTTFF
        ["abc"] · ["a*"] → FTTTFF
        5 · "1-10" → FTTFFF
        "5" · "1-10" → FTTFFF
        15 · "1-10" → FFFFTT
        [5,15] · "1-10" → PTFPTF
        [15,25] · "1-10" → PFFPTT
        [3,5] · "1-10" → PTTPFF
        5 · "1!-10" → FFFFTT
        15 · "1!-10" → FFFFTT
        5 · "!1-10" → FFFFTT
        5 · [1,5] → TTTFFF
        "5" · [5] → TTTFFF
        5 · ["5"] → TTTFFF
        1.5 · ["1.5"] → TTTFFF
        true · [true] → TTTFFF
        true · ["true"] → TTTFFF
        "a" · null → FFFFFF
        "a" · 5 → FFFFFF
        5 · 5 → FFFFFF
        ["5"] · 5 → FTFFFF
        "a" · {"a":1} → FFFFFF
        [1,2] · [1,2] → PTTPFF
        [null] · ["<nil>"] → PTTPFF
        "2h" · "1h-3h" → FTTFFF
        "1Gi" · "512Mi-2Gi" → FTTFFF
        "a" · "b-c" → FFFFTT
        "-1" · "-5-5" → FTTFFF
        [["a"]] · [["a"]] → PTTPFF
        "true" · "true" → TTTFFF
        "1" · "1" → TTTFFF
        "1" · "2" → FFFFFF
        ["1"] · "2" → FFFFFF
        "a" · "{\"a\":1}" → FFFFFF
        "a" · "null" → FFFTTT
        "3.5" · "1.5-4.5" → FTTFFF
        5 · ">3" → FFFFTT
        ["5"] · [">=3"] → FFFTTT
        "#,
    );
}

#[test]
fn null_and_objects_are_neither_members_nor_not() {
    for key in ["null", r#"{"a":1}"#] {
        for value in ["null", "1", r#""a""#, "[]", r#"["<nil>"]"#, r#"["map[a:1]"]"#, "{}"] {
            for operator in MEMBERSHIP {
                assert!(!evaluate(operator, key, value), "{operator} {key} {value}");
            }
        }
    }
}

#[test]
fn membership_of_texts_that_look_like_json() {
    check(
        &MEMBERSHIP,
        r#"
        "abc" · "1e4567" → FFFFFF
        "abc" · "1e45x" → FFFFTT
        "abc" · "[1]" → FFFFFF
        "abc" · "\"x\"" → FFFFFF
        "abc" · "[" → FFFFTT
        "abc" · " [\"abc\"] " → TTTFFF
        "" · "[null]" → TTTFFF
        ["a","b"] · "true" → FFFFFF
        ["a","b"] · "null" → FFFTTT
        ["a","b"] · "01" → FFFFTT
        "#,
    );
}

#[test]
fn negative_membership_in_many() {
    check(
        &[Operator::AllNotIn, Operator::AnyNotIn],
        r#"
        "kyverno" · "kyverno" → FF
        "kube-system" · ["default","kube-*"] → FF
        "kyverno" · "default" → TT
        64 · "64" → FF
        64 · "default" → TT
        ["kube-system","kube-public"] · "kube-*" → FF
        ["kube-system","default"] · "kube-system" → FT
        ["default","kyverno"] · "kube-*" → TT
        ["default","kyverno"] · ["kube-*","kube-system"] → TT
        ["default","kyverno"] · ["kube-*","ky*"] → FT
        1 · [1,2,3] → FF
        3.14 · "3.14" → FF
        2.2 · [1.1,2.2,3.3] → FF
        true · true → FF
        [1,2,3] · 2 → FT
        [1,2,3] · 4 → FT
        [1.1,2.2,3.3] · 1.1 → FT
        [true,false] · true → FT
        [true] · false → FT
        [] · ["default","kyverno"] → TF
        "" · ["default","kyverno"] → TT
        "#,
    );
}

#[test]
fn large_sets_are_searched_quickly() {
    let texts = |from: usize, step: usize| {
        Value::array((0..20_000).map(|n| Value::from(format!("item-{}", from + n * step))).collect())
    };
    let tracker = DivergenceTracker::default();
    assert!(Operator::In.evaluate(&texts(0, 2), &texts(0, 2), &tracker));
    assert!(Operator::AllIn.evaluate(&texts(0, 2), &texts(0, 2), &tracker));
    assert!(Operator::AnyNotIn.evaluate(&texts(1, 2), &texts(0, 2), &tracker));
    assert!(Operator::AllNotIn.evaluate(&texts(1, 2), &texts(0, 2), &tracker));
}

#[test]
fn large_numbers_have_plain_digits_except_in_kyverno() {
    let expected = [(Semantics::Documented, "TTTFFF"), (Semantics::Kyverno, "FFFTTT")];
    for (semantics, expected) in expected {
        for (key, value) in [
            (r#""1000000""#, "[1000000]"),
            ("1000000", r#"["1000000"]"#),
            ("0.00001", r#"["0.00001"]"#),
            (r#""[1234567 1]""#, "[[1234567,1]]"),
        ] {
            for (operator, expected) in MEMBERSHIP.iter().zip(expected.chars()) {
                let tracker = DivergenceTracker::new(semantics);
                let holds = operator.evaluate(&json(key), &json(value), &tracker);
                assert_eq!(holds, expected == 'T', "{semantics} {operator} {key} {value}");
                let reached: Vec<_> = tracker.reached().iter().collect();
                assert_eq!(reached, [Divergence::NumberText], "{operator} {key} {value}");
            }
        }
    }
}

#[test]
fn large_numbers_are_no_divergence_if_their_text_does_not_matter() {
    for (key, value) in [
        ("1000000", "[1000000]"),
        (r#""a""#, "[1000000]"),
        ("1000000", r#""1-2000000""#),
        ("[1000000]", "[1000000]"),
        ("100000", r#"["100000"]"#),
    ] {
        for operator in MEMBERSHIP {
            let tracker = DivergenceTracker::default();
            let _ = operator.evaluate(&json(key), &json(value), &tracker);
            assert_eq!(tracker.reached(), DivergenceSet::NONE, "{operator} {key} {value}");
        }
    }
}

#[test]
fn operators_have_names() {
    assert_eq!(Operator::NAMES.len(), 18);
    for (name, operator) in Operator::NAMES {
        assert_eq!(Operator::from_name(name), Some(*operator));
        assert!(operator.to_string() == *name || matches!(*name, "Equal" | "NotEqual"));
    }
    assert_eq!(Operator::from_name("equals"), None);
}
