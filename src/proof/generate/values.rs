//! Values that decide about a literal: such that fit, and such that miss it narrowly.

use crate::admission::is_word;
use crate::value::{GoDuration, Number, Quantity, Step, Text, Value};

use crate::proof::schema::choices;

/// Images in every form that references have.
const IMAGES: [&str; 10] = [
    "nginx",
    "nginx:1.0",
    "n",
    "localhost/a",
    "localhost:5000/a/b:1",
    "corp.reg.com/a",
    "docker.io/library/nginx:latest",
    "ghcr.io/org/app@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "ghcr.io/org/app:2@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "nginx@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
];

/// Texts that languages read in several ways.
const TEXTS: [&str; 11] = ["x", "10", "true", "null", "1e3", "a\nb", "a/b~c", "*", "\u{c9}a", "1Gi", "a b"];

/// Values for a literal that a policy compares with or writes: first one that fits.
pub(super) fn around(literal: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    match literal {
        Value::String(text) => around_text(text, &mut found),
        Value::Number(number) => around_number(number, &mut found),
        Value::Bool(value) => found.extend([*value, !value].map(Value::Bool)),
        Value::Array(items) => items.iter().for_each(|item| found.extend(around(item))),
        Value::Null | Value::Object(_) => found.push(literal.clone()),
    }
    let mut unique: Vec<Value> = Vec::new();
    for value in found {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}

fn around_number(number: &Number, found: &mut Vec<Value>) {
    found.push(Value::Number(number.clone()));
    if let Some(number) = number.as_i64() {
        let near = [number.saturating_add(1), number.saturating_sub(1)];
        found.extend(near.map(|near| Value::from(Number::from(near))));
    }
}

fn around_text(text: &Text, found: &mut Vec<Value>) {
    let mut push = |text: String| found.push(Value::string(text));
    let parts: Vec<&str> = text.split(['|', '&']).map(str::trim).filter(|part| !part.is_empty()).collect();
    for part in &parts {
        let bare = part.trim_start_matches(['>', '<', '=', '!']).trim();
        let is_negated = part.starts_with('!');
        if is_negated {
            push("other".into());
        }
        if let Some((from, to)) = range(bare) {
            for limit in [from, to] {
                amounts(limit).into_iter().for_each(&mut push);
            }
            continue;
        }
        amounts(bare).into_iter().for_each(&mut push);
        if bare.contains(['*', '?']) {
            for (many, one) in [("x", "x"), ("", "x"), ("x-y", "y")] {
                push(bare.replace("?*", &format!("{one}{many}")).replace('*', many).replace('?', one));
            }
            // Without the plain part, the pattern does not match.
            push(bare.replace(['*', '?'], "").chars().skip(1).collect());
        } else {
            push(bare.to_owned());
        }
        if is_plain(bare) {
            // What begins, ends and goes on with it.
            push(format!("{bare}x"));
            push(format!("x{bare}"));
            push(bare.chars().take(bare.chars().count().saturating_sub(1)).collect());
            push(bare.to_uppercase());
        }
    }
    push("other".into());
    if let Some(text) = matching(text) {
        push(text);
    }
}

/// Whether a text has no meaning beside itself.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains(['*', '?']) && Number::parse(text).is_none()
}

/// The bounds of `1-10` and `1!-10`.
fn range(text: &str) -> Option<(&str, &str)> {
    let (from, to) = text.split_once("!-").or_else(|| text.split_once('-'))?;
    let is_amount = |text: &str| Quantity::parse(text).is_ok();
    (is_amount(from) && is_amount(to)).then_some((from, to))
}

/// Amounts at, above and below one, and the same in another unit.
fn amounts(text: &str) -> Vec<String> {
    if let Ok(quantity) = Quantity::parse(text) {
        let number = quantity.as_f64();
        let mut found = vec![text.to_owned()];
        let digits = text.trim_end_matches(|c: char| c.is_alphabetic());
        let unit = &text[digits.len()..];
        if let Ok(value) = digits.parse::<i64>() {
            found.extend(
                [value.saturating_add(1), value.saturating_sub(1)].map(|near| format!("{near}{unit}")),
            );
            match unit {
                "Gi" => found.push(format!("{}Mi", value.saturating_mul(1024))),
                "Mi" => found.push(format!("{}Ki", value.saturating_mul(1024))),
                "" => found.push(format!("{}m", value.saturating_mul(1000))),
                "m" if value % 1000 == 0 => found.push((value / 1000).to_string()),
                "G" => found.push(format!("{}M", value.saturating_mul(1000))),
                "M" => found.push(format!("{}k", value.saturating_mul(1000))),
                _ => {}
            }
        } else {
            found.push(format!("{}", number + 1.0));
        }
        return found;
    }
    match GoDuration::parse(text) {
        Ok(duration) if !text.is_empty() => {
            let seconds = duration.as_seconds();
            let whole = [seconds, seconds + 1.0, seconds - 1.0].map(|seconds| format!("{seconds:.0}s"));
            std::iter::once(text.to_owned()).chain(whole).collect()
        }
        _ => Vec::new(),
    }
}

/// A text that a regular expression matches, if the text looks like one.
fn matching(text: &str) -> Option<String> {
    let is_expression = text.contains(['^', '$', '[', '(', '\\', '+']) && text.len() < 200;
    let mut source = Least::default();
    is_expression.then(|| crate::regexp::random_text(text, &mut source).ok())?
}

/// The source of a text without repetitions.
#[derive(Default)]
struct Least {
    steps: usize,
}

impl crate::regexp::RandomSource for Least {
    type Error = ();

    fn next(&mut self) -> u64 {
        self.steps as u64
    }

    fn step(&mut self, bytes: usize) -> Result<(), ()> {
        self.steps += 1;
        if self.steps < 1000 && bytes < 1000 { Ok(()) } else { Err(()) }
    }
}

/// Further values for a text at a path: such as the API server accepts there, as far as that is known.
pub(super) fn texts(path: &[Step]) -> Vec<Value> {
    let field = match path.last() {
        Some(Step::Key(key)) => &**key,
        _ => "",
    };
    let found: &[&str] = if let Some(values) = choices(field) {
        values
    } else if field == "image" {
        &IMAGES
    } else {
        &TEXTS
    };
    let keys: Vec<&str> = path
        .iter()
        .filter_map(|step| match step {
            Step::Key(key) => Some(&**key),
            Step::Elements => None,
        })
        .collect();
    let is_allowed = |text: &&&str| !is_word(&keys) || !text.contains(['*', '?']);
    found.iter().filter(is_allowed).map(|text| Value::from(*text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_on_both_sides_of_a_literal() {
        let around = |json: &str| -> Vec<String> {
            around(&Value::from_json(json).unwrap()).iter().map(Value::to_json).collect()
        };
        for (literal, expected) in [
            ("true", &["true", "false"][..]),
            ("5", &["5", "6", "4"]),
            ("\"web\"", &["\"web\"", "\"webx\"", "\"xweb\"", "\"we\"", "\"WEB\"", "\"other\""]),
            ("\"*:latest\"", &["\"x:latest\"", "\":latest\"", "\"latest\""]),
            ("\"!a\"", &["\"other\"", "\"a\""]),
            ("\">1Gi\"", &["\"1Gi\"", "\"2Gi\"", "\"0Gi\"", "\"1024Mi\""]),
            ("\"1h\"", &["\"1h\"", "\"3600s\"", "\"3601s\"", "\"3599s\""]),
            ("\"a | b\"", &["\"a\"", "\"b\""]),
        ] {
            let found = around(literal);
            for value in expected {
                assert!(found.iter().any(|one| one == value), "{literal}: {value} in {found:?}");
            }
        }
    }
}
