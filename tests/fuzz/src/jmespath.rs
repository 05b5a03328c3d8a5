//! Expressions: an answer within the limits, the same each time; parentheses around it change nothing, and
//! where the two semantics part a difference is named.

use kyv::jmespath::{EvalError, Expression, FixedClock, Limits, Runtime, SeededRandom, functions};
use kyv::semantics::{DivergenceSet, DivergenceTracker, Semantics};
use kyv::value::{MAX_DEPTH, Value};

use super::input::{Choices, Input};
use super::values;

const LIMITS: Limits = Limits { steps: 200_000, result_bytes: 256 * 1024, result_depth: 200 };

type Outcome = (Result<Value, EvalError>, DivergenceSet);

/// Checks one input.
pub fn run(data: &[u8]) {
    let (text, root) = match Input::new(data) {
        Input::Text(parts) => {
            let Some(root) = values::parsed(parts.at(1)) else { return };
            (parts.at(0).to_owned(), root)
        }
        Input::Choices(mut choices) => {
            let text = expression(&mut choices, 5);
            (text, values::value(&mut choices, 4))
        }
    };
    if root.depth() > MAX_DEPTH {
        return;
    }
    let [documented, kyverno] =
        [Semantics::Documented, Semantics::Kyverno].map(|side| check(&text, &root, side));
    if let (Some(documented), Some(kyverno)) = (documented, kyverno)
        && documented.0 != kyverno.0
    {
        let named = !documented.1.is_empty() && !kyverno.1.is_empty();
        assert!(named, "the sides differ, unnamed: {:?} {:?}", documented.0, kyverno.0);
    }
}

/// Checks one side; `None` for a text that is no expression.
fn check(text: &str, root: &Value, semantics: Semantics) -> Option<Outcome> {
    let expression = match Expression::parse(text) {
        Ok(expression) => expression,
        Err(error) => {
            assert!(error.offset <= text.len() && !error.message.is_empty());
            return None;
        }
    };
    assert_eq!(expression.text(), text);
    let outcome = search(&expression, root, semantics);
    assert_eq!(search(&expression, root, semantics), outcome, "another answer the second time");
    if let Ok(value) = &outcome.0
        && value.depth() < MAX_DEPTH
    {
        assert_eq!(Value::from_json(&value.to_json()).as_ref(), Ok(value));
    }
    if let Ok(inside) = Expression::parse(&format!("({text})")) {
        assert_eq!(search(&inside, root, semantics), outcome, "parentheses change the answer");
    }
    Some(outcome)
}

fn search(expression: &Expression, root: &Value, semantics: Semantics) -> Outcome {
    let tracker = DivergenceTracker::new(semantics);
    let random = SeededRandom::new(7);
    let runtime = Runtime::new(&FixedClock::EPOCH, &random, &tracker).with_limits(LIMITS);
    let outcome = expression.search(root, &runtime);
    assert!(outcome.is_err() || runtime.steps() <= LIMITS.steps, "more steps than the limit");
    (outcome, tracker.reached())
}

/// An expression of the grammar, mostly.
fn expression(choices: &mut Choices<'_>, depth: usize) -> String {
    if depth == 0 || choices.is_dry() {
        return atom(choices);
    }
    let inner = |choices: &mut Choices<'_>| expression(choices, depth - 1);
    match choices.below(16) {
        0 => atom(choices),
        1 => format!("{}.{}", inner(choices), atom(choices)),
        2 => format!("{}[{}]", inner(choices), choices.number() % 5),
        3 => format!("{}[]", inner(choices)),
        4 => format!("{}[*].{}", inner(choices), inner(choices)),
        5 => format!("{} | {}", inner(choices), inner(choices)),
        6 => format!("{} || {}", inner(choices), inner(choices)),
        7 => format!("{} && {}", inner(choices), inner(choices)),
        8 => format!("!{}", inner(choices)),
        9 => {
            let operator = *choices.one(&["==", "!=", "<", "<=", ">", ">="]);
            format!("{} {operator} {}", inner(choices), inner(choices))
        }
        10 => format!("{}[?{}]", inner(choices), inner(choices)),
        11 => format!("[{}, {}]", inner(choices), inner(choices)),
        12 => format!("{{a: {}, \"b c\": {}}}", inner(choices), inner(choices)),
        13 => format!(
            "{}[{}:{}:{}]",
            inner(choices),
            choices.number() % 4,
            choices.number() % 4,
            choices.number() % 3
        ),
        _ => {
            let names: Vec<_> = functions().map(|function| function.name).collect();
            let name = *choices.one(&names);
            let arguments: Vec<String> = (0..choices.below(4))
                .map(|_| if choices.once_in(5) { format!("&{}", inner(choices)) } else { inner(choices) })
                .collect();
            format!("{name}({})", arguments.join(", "))
        }
    }
}

fn atom(choices: &mut Choices<'_>) -> String {
    match choices.below(6) {
        0 => "@".to_owned(),
        1 => "*".to_owned(),
        2 => format!("`{}`", values::value(choices, 2).to_json().replace('`', "\\`")),
        3 => format!("'{}'", values::key(choices).replace('\'', "\\'")),
        4 => Value::from(values::key(choices)).to_json(),
        _ => (*choices.one(&["a", "b", "name", "spec", "metadata", "labels", "image"])).to_owned(),
    }
}
