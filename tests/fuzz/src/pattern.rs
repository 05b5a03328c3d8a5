//! Wildcards as a plain matcher has them; patterns of single values, operators and conditions.

use kyv::pattern::{self, Conditions, IntegerTyping, LeafPattern, Operator, Range};
use kyv::semantics::{DivergenceTracker, Semantics};
use kyv::value::{GoDuration, MAX_DEPTH, Pointer, Quantity, Value};

use super::input::Input;
use super::values;

/// Checks one input.
pub fn run(data: &[u8]) {
    let (pattern, text, wanted, value) = match Input::new(data) {
        Input::Text(parts) => {
            let value = |text: &str| values::parsed(text).unwrap_or_else(|| Value::from(text));
            (parts.at(0).to_owned(), parts.at(1).to_owned(), value(parts.at(0)), value(parts.at(1)))
        }
        Input::Choices(mut choices) => {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_json(), str::to_owned);
            let (wanted, value) = (values::value(&mut choices, 3), values::value(&mut choices, 3));
            (text(&wanted), text(&value), wanted, value)
        }
    };
    if wanted.depth().max(value.depth()) > MAX_DEPTH {
        return;
    }
    // The work is bounded by the product of both lengths, and done many times over here.
    let work = pattern.len() * text.len();
    if work > 1 << 24 {
        return;
    }
    if work < 1 << 16 {
        assert_eq!(pattern::matches(&pattern, &text), by_table(&pattern, &text), "{pattern:?} {text:?}");
    } else {
        pattern::matches(&pattern, &text);
    }
    leaf(&pattern, &text);
    for (wanted, value) in
        [(&Value::from(&*pattern), &value), (&wanted, &value), (&wanted, &Value::from(&*text))]
    {
        LeafPattern::prepare(wanted).matches(value);
        let operators =
            if work < 1 << 22 { Operator::NAMES } else { &Operator::NAMES[work % 16..=work % 16] };
        for (_, operator) in operators {
            sides_agree(|tracker| operator.evaluate(value, wanted, tracker));
        }
    }
    amounts(&text);
    conditions(&wanted);
}

/// Whether a text fits a wildcard pattern: every prefix of one with every prefix of the other.
fn by_table(pattern: &str, text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let mut fits = vec![false; text.len() + 1];
    fits[0] = true;
    for wanted in pattern.chars() {
        let before = fits.clone();
        fits[0] = wanted == '*' && before[0];
        for (index, found) in text.iter().enumerate() {
            fits[index + 1] = match wanted {
                '*' => before[index + 1] || fits[index],
                '?' => before[index],
                _ => before[index] && wanted == *found,
            };
        }
    }
    fits[text.len()]
}

/// A pattern of alternatives fits where one of them does.
fn leaf(pattern: &str, text: &str) {
    let value = Value::from(text);
    let whole = LeafPattern::text(pattern).matches(&value);
    assert!(whole || pattern != text, "a text does not fit itself");
    let Some((left, right)) = pattern.split_once('|') else { return };
    if [pattern, left, right].contains(&text) {
        return;
    }
    let either = LeafPattern::text(left).matches(&value) || LeafPattern::text(right).matches(&value);
    assert_eq!(whole, either, "{pattern:?} {text:?}");
}

/// What is read as an amount prints, and reads back equal.
fn amounts(text: &str) {
    if let Ok(quantity) = Quantity::parse(text) {
        let printed = quantity.to_string();
        assert_eq!(Quantity::parse(&printed).as_ref(), Ok(&quantity), "{text:?} prints as {printed:?}");
    }
    if let Ok(duration) = GoDuration::parse(text) {
        let printed = duration.to_string();
        assert_eq!(GoDuration::parse(&printed).as_ref(), Ok(&duration), "{text:?} prints as {printed:?}");
    }
    if let Some(range) = Range::parse(text) {
        assert!(text.starts_with(range.low) && text.ends_with(range.high));
    }
}

fn conditions(block: &Value) {
    match Conditions::parse(block) {
        Err(faults) => assert!(!faults.is_empty() && faults.iter().all(|fault| !fault.message.is_empty())),
        Ok(conditions) => {
            for integers in [IntegerTyping::Floats, IntegerTyping::Integers] {
                sides_agree(|tracker| {
                    let mut as_written =
                        |side: &Value, _: &Pointer| Ok::<_, std::fmt::Error>((side.clone(), integers));
                    let verdict = conditions.evaluate(&mut as_written, tracker);
                    // Nothing fails to resolve; what makes Kyverno panic is an error.
                    verdict.ok().map(|verdict| verdict.met)
                });
            }
        }
    }
}

/// Checks that the two semantics agree, or name where they part.
fn sides_agree<T: PartialEq>(decide: impl Fn(&DivergenceTracker) -> T) {
    let [documented, kyverno] = [Semantics::Documented, Semantics::Kyverno].map(|semantics| {
        let tracker = DivergenceTracker::new(semantics);
        (decide(&tracker), tracker.reached())
    });
    if documented.0 != kyverno.0 {
        assert!(!documented.1.is_empty() && !kyverno.1.is_empty(), "the sides differ, unnamed");
    }
}
