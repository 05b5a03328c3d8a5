use super::*;

/// Checks lines of the form `value · pattern → T` or `F`.
fn check(table: &str) {
    let mut checked = 0;
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (pair, expected) = line.rsplit_once(" → ").unwrap();
        let (value, pattern) = pair.split_once(" · ").unwrap();
        let json = |text| Value::from_json(text).unwrap();
        assert_eq!(LeafPattern::prepare(&json(pattern)).matches(&json(value)), expected == "T", "{line}");
        checked += 1;
    }
    assert!(checked > 0);
}

#[test]
fn leaf_patterns_match_as_documented() {
    check(include_str!("examples.txt"));
}

/// Integers are integers, as in Kyverno's controllers. Where Kyverno has floats, each line has the opposite result.
#[test]
fn integers_match_as_digits() {
    check(
        r#"
        12 · "1?" → T
        12 · "!1?" → F
        1000000 · "1000*" → T
        12.0 · "1?" → T
        12345678901234567890 · "123*" → T
        0 · "<1h" → T
        0 · "0s" → T
        "#,
    );
}

#[test]
fn ranges_include_their_ends() {
    check(
        r#"
        0 · "0-2" → T
        1 · "0-2" → T
        2 · "0-2" → T
        3 · "0-2" → F
        0 · "10!-20" → T
        25 · "10!-20" → T
        15 · "10!-20" → F
        1 · "0.00001-2.00001" → T
        2 · "0.00001-2.00001" → T
        0 · "0.00001-2.00001" → F
        2.0001 · "0.00001-2.00001" → F
        0 · "0.00001!-2.00001" → T
        2.0001 · "0.00001!-2.00001" → T
        1 · "0.00001!-2.00001" → F
        2 · "0.00001!-2.00001" → F
        2 · "2-2" → T
        2 · "2!-2" → F
        2.99999 · "2.99998-3" → T
        2.99997 · "2.99998!-3" → T
        3.00001 · "2.99998!-3" → T
        "256Mi" · "128Mi-512Mi" → T
        "1024Mi" · "128Mi-512Mi" → F
        "64Mi" · "128Mi-512Mi" → F
        "256Mi" · "128Mi!-512Mi" → F
        "1024Mi" · "128Mi!-512Mi" → T
        "64Mi" · "128Mi!-512Mi" → T
        -9 · "-10-8" → T
        9 · "-10--8" → F
        9 · "-10!--8" → T
        -9 · "-10!--8" → F
        "9Mi" · "-10Mi!--8Mi" → T
        "-9Mi" · "-10Mi-8Mi" → T
        0 · "-10-+8" → T
        "7Mi" · "-10Mi-+8Mi" → T
        10 · "-10!-+8" → T
        0 · "+0-+1" → T
        "1025Mi" · "+0Mi!-+1024Mi" → T
        "#,
    );
}

#[test]
fn operators_compare_numbers_quantities_and_durations() {
    check(
        r#"
        4 · ">= 3" → T
        "10" · ">1 & <20 | >31 & <33" → T
        "32" · ">1 & <20 | >31 & <33" → T
        "21" · ">1 & <20 | >31 & <33" → F
        "10.100.11.54" · "192.168.88.1 | 10.100.11.*" → T
        "5.16.5-arch1-1" · "!5.10.84-1 & !5.15.2-1" → T
        "!5.10.84-1" · "!5.10.84-1" → T
        7.00001 · ">7.000001" → T
        6.000000001 · "<6" → F
        "1024Gi" · "" → F
        "gii" · "1024Gi" → F
        "1G" · "<1Gi" → T
        "0.2" · "200m" → T
        "500m" · ">=0.5" → T
        "500m" · ">=0.6" → F
        "12s" · "12s" → T
        "12s" · "!12s" → F
        "12s" · ">12s" → F
        "15s" · ">12s" → T
        "12s" · ">=12s" → T
        "12s" · "<15s" → T
        "15s" · "<=12s" → F
        "15s" · "12s-20s" → T
        "15s" · "12s!-20s" → F
        "#,
    );
}

#[test]
fn numbers_match_numbers() {
    check(
        r#"
        7.9914 · 7.9914 → T
        7.9914 · 7.99141 → F
        7 · 7.0 → T
        7.000001 · 7 → F
        8 · 7 → F
        "8.0" · 8 → T
        "8" · 8 → T
        9007199254740993 · 9007199254740992 → F
        "9007199254740993" · 9007199254740992 → F
        "" · 0 → F
        1 · "1E+*" → F
        1.5 · "1.5E+*" → T
        null · {} → F
        "#,
    );
}

#[test]
fn many_alternatives_match() {
    let pattern = LeafPattern::text(format!("{}>5&<7|x*", "a|".repeat(5_000)));
    for (value, expected) in [("6", true), ("5", false), ("xyz", true), ("a", true), ("b", false)] {
        assert_eq!(pattern.matches_text(value), expected, "{value}");
    }
}

#[test]
fn malformed_patterns_do_not_panic() {
    for pattern in ["|", "&", "|&|", "!", ">=", "!!", "é-1", "1-é", "١-٢", ">=é", "\u{a0}"] {
        for value in ["", "é", "|", "x"] {
            let _ = LeafPattern::text(pattern).matches(&Value::from(value));
        }
    }
}
