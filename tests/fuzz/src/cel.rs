//! CEL expressions: refused with places or evaluated within the limits, the same each time; parentheses around an
//! expression change nothing.

use kyv::cel::{
    Activation, COST_LIMIT, Dialect, Env, EvalError, Meter, Numbers, Program, Type, Val, canonical,
};
use kyv::cel::{signatures, to_json};
use kyv::value::{MAX_DEPTH, Value};

use super::input::{Choices, Input};
use super::values;

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
    for dialect in [Dialect::Kubernetes, Dialect::Kyverno] {
        check(&text, &root, dialect);
    }
}

type Outcome = (Type, Result<String, EvalError>, u64);

fn check(text: &str, root: &Value, dialect: Dialect) {
    let env = Env::policy(dialect).with_messages();
    let outcome = match outcome(&env, text, root) {
        Ok(outcome) => outcome,
        Err(offsets) => {
            assert!(!offsets.is_empty() && offsets.iter().all(|offset| *offset <= text.len()));
            return;
        }
    };
    assert_eq!(self::outcome(&env, text, root).as_ref(), Ok(&outcome), "another answer the second time");
    // A comment would hide the closing parenthesis.
    if let Ok(inside) = self::outcome(&env, &format!("({text}\n)"), root) {
        assert_eq!(inside, outcome, "parentheses change the answer");
    }
}

fn outcome(env: &Env, text: &str, root: &Value) -> Result<Outcome, Vec<usize>> {
    let program = Program::compile(env, text)
        .map_err(|error| error.issues().iter().map(|issue| issue.offset).collect::<Vec<_>>())?;
    let mut activation = Activation::new(env, &[]);
    activation.set("object", Val::from_json(root, Numbers::Exact));
    let mut meter = Meter::default();
    let result = program.evaluate(&activation, &mut meter);
    assert!(result.is_err() || meter.cost() <= COST_LIMIT, "more than the limit");
    if let Ok(value) = &result
        && let Ok(json) = to_json(value, &mut Meter::default())
        && json.depth() < MAX_DEPTH
    {
        assert_eq!(Value::from_json(&json.to_json()).as_ref(), Ok(&json));
    }
    Ok((program.output().clone(), result.map(|value| canonical(&value)), meter.cost()))
}

/// An expression of the grammar, mostly.
fn expression(choices: &mut Choices<'_>, depth: usize) -> String {
    if depth == 0 || choices.is_dry() {
        return atom(choices);
    }
    let inner = |choices: &mut Choices<'_>| expression(choices, depth - 1);
    match choices.below(16) {
        0 => atom(choices),
        1 => format!("{}.{}", inner(choices), choices.one(&["a", "name", "?spec", "metadata", "labels"])),
        2 => format!("{}[{}]", inner(choices), inner(choices)),
        3 => format!("{}[?{}]", inner(choices), inner(choices)),
        4 | 5 => {
            let operators = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||"];
            let operator = *choices.one(&operators);
            format!("({} {operator} {})", inner(choices), inner(choices))
        }
        6 => format!("!{}", inner(choices)),
        7 => format!("({} ? {} : {})", inner(choices), inner(choices), inner(choices)),
        8 => format!("[{}, ?{}]", inner(choices), inner(choices)),
        9 => format!("{{{}: {}}}", inner(choices), inner(choices)),
        10 => {
            let name = *choices.one(&["all", "exists", "exists_one", "map", "filter", "sortBy", "optMap"]);
            format!("{}.{name}(x, {})", inner(choices), inner(choices))
        }
        11 => {
            let name =
                *choices.one(&["all", "existsOne", "transformList", "transformMap", "transformMapEntry"]);
            format!("{}.{name}(k, x, {})", inner(choices), inner(choices))
        }
        12 => format!("cel.bind(x, {}, {})", inner(choices), inner(choices)),
        13 => format!("Object{{spec: Object.spec{{a: {}}}}}", inner(choices)),
        _ => {
            let all = signatures(Dialect::Kyverno);
            let (name, text) = {
                let signature = choices.one(&all);
                (signature.name, signature.text.clone())
            };
            let arguments: Vec<String> = (0..choices.below(4)).map(|_| inner(choices)).collect();
            let receiver = if text.contains(".(") { format!("{}.", inner(choices)) } else { String::new() };
            format!("{receiver}{name}({})", arguments.join(", "))
        }
    }
}

fn atom(choices: &mut Choices<'_>) -> String {
    match choices.below(6) {
        0 => "object".to_owned(),
        1 => "x".to_owned(),
        2 => Value::from(values::key(choices)).to_json(),
        3 => choices.number().to_string(),
        4 => format!("dyn({})", values::value(choices, 2).to_json()),
        _ => (*choices.one(&["true", "1u", "1.5", "b'a'", "null", "duration('1s')", "timestamp(0)"]))
            .to_owned(),
    }
}
