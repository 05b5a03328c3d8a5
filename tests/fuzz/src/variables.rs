//! Variables: a document without braces is itself, results keep to the limits, and no variable is left over.

use kyv::jmespath::{FixedClock, Limits as Evaluation, Runtime, SeededRandom};
use kyv::semantics::{DivergenceSet, DivergenceTracker, Semantics};
use kyv::value::{MAX_DEPTH, Value};
use kyv::variables::{
    Inline, Limits, Query, QueryError, Scope, Substitution, SubstitutionError, Template, holds_variable,
    replace_variables,
};

use super::input::Input;
use super::values;

const LIMITS: Limits = Limits { bytes: 64 * 1024, rounds: 16, depth: 64 };
/// What `$(…)` may bring into a document.
const REFERENCED: usize = 2 << 20;
const EVALUATION: Evaluation = Evaluation { steps: 100_000, result_bytes: 64 * 1024, result_depth: 100 };

/// Checks one input.
pub fn run(data: &[u8]) {
    let (document, context) = match Input::new(data) {
        Input::Text(parts) => {
            let (Some(document), Some(context)) = (values::parsed(parts.at(0)), values::parsed(parts.at(1)))
            else {
                return;
            };
            (document, context)
        }
        Input::Choices(mut choices) => {
            let mut context = Value::from_iter([
                ("x", values::value(&mut choices, 4)),
                ("a", values::value(&mut choices, 2)),
            ]);
            context.insert("element", values::value(&mut choices, 3));
            context.insert("request", Value::from_iter([("object", values::value(&mut choices, 3))]));
            (values::value(&mut choices, 5), context)
        }
    };
    if document.depth().max(context.depth()) > MAX_DEPTH {
        return;
    }
    for text in texts(&document) {
        let mut queries = 0;
        let replaced = replace_variables(text, |_| {
            queries += 1;
            String::new()
        });
        assert_eq!(replaced.is_some(), holds_variable(text), "{text:?}");
        assert_eq!(replaced.is_some(), queries > 0);
    }
    let [documented, kyverno] =
        [Semantics::Documented, Semantics::Kyverno].map(|semantics| check(&document, &context, semantics));
    if documented.0.as_ref().ok() != kyverno.0.as_ref().ok() {
        let named = !documented.1.is_empty() && !kyverno.1.is_empty();
        assert!(named, "the sides differ, unnamed: {:?} {:?}", documented.0, kyverno.0);
    }
}

type Outcome = (Result<Value, SubstitutionError>, DivergenceSet);

fn check(document: &Value, context: &Value, semantics: Semantics) -> Outcome {
    let template = Template::prepare(document, semantics);
    assert_eq!(template.source(), document);
    let (result, reached) = substituted(&template, context, semantics);
    let again = substituted(&template, context, semantics);
    assert_eq!(format!("{result:?}"), format!("{:?}", again.0), "another answer the second time");
    if texts(document).all(|text| !text.contains("{{") && !text.contains("$(")) {
        assert_eq!(template.fixed(), Some(document), "a document without variables varies");
        assert_eq!(result.as_ref().ok(), Some(document));
    }
    if let Ok(value) = &result {
        let plain = |text: &str| !text.contains(['\\', '$', '-']);
        let tame = |value: &Value| texts(value).all(|text| plain(text) && !text.contains("{{@}}"));
        if tame(document) && texts(context).all(|text| !text.contains(['{', '}', '\\', '$'])) {
            // A key that `null` is put in stays as it was.
            let left = strings(value).into_iter().find(|text| holds_variable(text));
            assert_eq!(left, None, "a variable is left over");
        }
        let given = document.to_json().len() + context.to_json().len();
        let inserted =
            REFERENCED + LIMITS.bytes + texts(document).count() * (EVALUATION.result_bytes + given);
        let grown = value.to_json().len();
        assert!(
            grown <= 8 * (given + inserted),
            "{given} bytes grew to {grown}: {document:.2000?} {context:.2000?}"
        );
        // References bring the most into a string, beside what is written there.
        let most = (REFERENCED + given).max(LIMITS.bytes).max(EVALUATION.result_bytes);
        for text in texts(value) {
            assert!(text.len() <= most, "a string of {} bytes", text.len());
        }
        assert!(
            value.depth()
                <= document.depth() + LIMITS.depth * (context.depth() + 1) + EVALUATION.result_depth
        );
    }
    (result, reached)
}

fn substituted(template: &Template, context: &Value, semantics: Semantics) -> Outcome {
    let tracker = DivergenceTracker::new(semantics);
    let random = SeededRandom::new(7);
    let runtime = Runtime::new(&FixedClock::EPOCH, &random, &tracker).with_limits(EVALUATION);
    let settings = Substitution {
        tracker: &tracker,
        deleting: false,
        inline: Inline::Path,
        inline_root: "request.object",
        limits: LIMITS,
    };
    let result = template.substitute(&mut Context { value: context, runtime: &runtime }, settings);
    (result.map(|substituted| substituted.value), tracker.reached())
}

/// A context that is a value.
struct Context<'a> {
    value: &'a Value,
    runtime: &'a Runtime<'a>,
}

impl Scope for Context<'_> {
    fn query(&mut self, query: &Query) -> Result<Value, QueryError> {
        query.expression()?.search(self.value, self.runtime).map_err(QueryError::Failed)
    }
}

/// All strings.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![&**text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// All keys and strings.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let mut open = vec![value];
    let mut texts = Vec::new();
    while let Some(node) = open.pop() {
        match node {
            Value::String(text) => texts.push(&**text),
            Value::Array(items) => open.extend(items.iter()),
            Value::Object(members) => {
                texts.extend(members.keys().map(|key| &**key));
                open.extend(members.values());
            }
            _ => {}
        }
    }
    texts.into_iter()
}
