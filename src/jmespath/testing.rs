//! Test helpers: tables of expressions with their results.

use crate::semantics::{Divergence, DivergenceSet, DivergenceTracker, Semantics};
use crate::value::{JsonReader, Value};

use super::{Expression, FixedClock, Runtime, SeededRandom};

/// The document that most tables evaluate their expressions on.
pub(super) const DOCUMENT: &str = r#"{"a":{"b":"B","c":{"d":1}},"n":7,"s":"str",
    "list":[{"x":1,"y":"p"},{"x":2},{"z":3}],"nested":[[1,2],[3,[4]]],"nul":null,"e":[],"eo":{},
    "obj":{"k1":1,"k2":2},"nums":[3,1,2],"str":"abc"}"#;

/// The result of an expression as JSON, or its error in Kyverno's words after `error: `.
pub(super) fn search(document: &str, expression: &str) -> String {
    search_with(document, expression, Semantics::Documented).0
}

/// [`search`] with some semantics, and the divergences that were reached.
pub(super) fn search_with(document: &str, expression: &str, semantics: Semantics) -> (String, DivergenceSet) {
    let document = JsonReader::new(document).last_wins().read().unwrap();
    let expression = match Expression::parse(expression) {
        Ok(expression) => expression,
        Err(error) => {
            let text = error.original.unwrap_or(error.message);
            return (format!("error: {text}"), DivergenceSet::NONE);
        }
    };
    let tracker = DivergenceTracker::new(semantics);
    let random = SeededRandom::new(1);
    let clock = FixedClock("2024-02-29T12:34:56.789Z".parse().unwrap());
    let runtime = Runtime::new(&clock, &random, &tracker);
    let result = match expression.search(&document, &runtime) {
        Ok(value) => value.to_json(),
        Err(error) => format!("error: {}", error.original().unwrap_or_else(|| error.to_string())),
    };
    (result, tracker.reached())
}

/// Checks a table of expressions and their results on [`DOCUMENT`]: JSON, or `error: ` and the start of the message.
pub(super) fn check(table: &[(&str, &str)]) {
    let mut failures = Vec::new();
    for (expression, expected) in table {
        let found = search(DOCUMENT, expression);
        let same = match expected.strip_prefix("error:") {
            Some(start) => found.strip_prefix("error:").is_some_and(|text| text.starts_with(start)),
            None => Value::from_json(&found).ok() == Some(Value::from_json(expected).expect(expected)),
        };
        if !same {
            failures.push(format!("{expression}\n    is  {found}\n    not {expected}"));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// Checks expressions whose results differ between the two semantics, and that both report the divergence.
pub(super) fn check_divergence(divergence: Divergence, table: &[(&str, &str, &str)]) {
    for (expression, documented, kyverno) in table {
        for (semantics, expected) in [(Semantics::Documented, documented), (Semantics::Kyverno, kyverno)] {
            let (found, reached) = search_with(DOCUMENT, expression, semantics);
            assert_eq!(found, *expected, "{expression} under {semantics}");
            assert!(reached.contains(divergence), "{expression} under {semantics}: no {divergence}");
        }
    }
}
