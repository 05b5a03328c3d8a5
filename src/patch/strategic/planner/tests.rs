//! Results of Kyverno 1.19, recorded from the real program.

use crate::patch::{MergeContext, Merged, Overlay, Schemas};
use crate::semantics::{DivergenceTracker, Semantics};
use crate::value::Value;

/// One line per case, tab-separated: kind, object, overlay and result. The result is `=` if nothing changed, `crash` if
/// the program crashed, or the start of the message after `error: `.
const RESULTS: &str = include_str!("results.tsv");

fn api_version(kind: &str) -> &'static str {
    match kind {
        "Deployment" => "apps/v1",
        "Widget" => "ex.io/v1",
        _ => "v1",
    }
}

#[test]
fn results_are_those_of_the_real_program() {
    let mut wrong = Vec::new();
    for line in RESULTS.lines() {
        let fields: Vec<_> = line.split('\t').collect();
        let [kind, base, overlay, expected] = fields[..] else { panic!("{line}") };
        let json = |text: &str| Value::from_json(text).unwrap();
        let object = |text: &str| {
            let mut object = json(text);
            object.insert("apiVersion", Value::from(api_version(kind)));
            object.insert("kind", Value::from(kind));
            object
        };
        let base = object(base);
        let tracker = DivergenceTracker::new(Semantics::Kyverno);
        let result = Overlay::prepare(&json(overlay), &tracker).and_then(|overlay| {
            overlay.apply(&base, &MergeContext::new(&Schemas::kubernetes()), &tracker, None)
        });
        let matches = match &result {
            Ok(Merged::Patched(value)) if expected == "=" => *value == base,
            Ok(Merged::ConditionFailed(_)) => expected == "=",
            Ok(Merged::Patched(value)) => !expected.starts_with(['c', 'e']) && *value == object(expected),
            Err(error) => match expected.strip_prefix("error: ") {
                Some(text) => error.to_string().starts_with(text),
                None => expected == "crash",
            },
        };
        if !matches {
            wrong.push(format!("{line}\n  {result:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
