//! Label selectors in the query of a request: `tier=gold,env in (a, b),!old`.

use crate::engine::LookupError;
use crate::value::{Text, Value};

/// Requirements on labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LabelQuery(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
}

impl LabelQuery {
    /// Reads a selector; an empty one selects everything.
    ///
    /// # Errors
    ///
    /// Text that is no requirement.
    pub(super) fn parse(text: &str) -> Result<Self, LookupError> {
        let parts = split(text).into_iter().map(str::trim).filter(|part| !part.is_empty());
        parts.map(requirement).collect::<Result<_, _>>().map(Self)
    }

    /// Whether an object meets all requirements.
    pub(super) fn selects(&self, object: &Value) -> bool {
        let labels = object.path(&["metadata", "labels"]);
        self.0.iter().all(|requirement| {
            let label = labels.and_then(|labels| labels.get(&requirement.key)).and_then(Value::as_text);
            let is_one = |values: &[String]| {
                label.is_some_and(|label: &Text| values.iter().any(|value| **value == **label))
            };
            match &requirement.test {
                Test::Exists => label.is_some(),
                Test::Absent => label.is_none(),
                Test::In(values) => is_one(values),
                Test::NotIn(values) => !is_one(values),
            }
        })
    }
}

/// Splits at the commas outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut is_inside = false;
    text.split(move |c| {
        is_inside = (is_inside || c == '(') && c != ')';
        c == ',' && !is_inside
    })
    .collect()
}

fn requirement(text: &str) -> Result<Requirement, LookupError> {
    let error = || LookupError::Unanswerable(format!("`{text}` is no label requirement"));
    let (key, test) = if let Some(key) = text.strip_prefix('!') {
        (key, Test::Absent)
    } else if let Some((key, value)) = text.split_once("!=") {
        (key, Test::NotIn(vec![value.trim().to_owned()]))
    } else if let Some((key, value)) = text.split_once('=') {
        (key, Test::In(vec![value.trim_start_matches('=').trim().to_owned()]))
    } else if let Some((head, list)) = text.split_once('(') {
        let list = list.trim_end().strip_suffix(')').ok_or_else(error)?;
        let values = list.split(',').map(|value| value.trim().to_owned()).collect();
        match head.trim_end().rsplit_once(char::is_whitespace) {
            Some((key, "in")) => (key, Test::In(values)),
            Some((key, "notin")) => (key, Test::NotIn(values)),
            _ => return Err(error()),
        }
    } else {
        (text, Test::Exists)
    };
    let key = key.trim();
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err(error());
    }
    Ok(Requirement { key: key.to_owned(), test })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_requirement_is_read() {
        let object =
            Value::from_json(r#"{"metadata":{"labels":{"tier":"gold","env":"dev","n":"1"}}}"#).unwrap();
        for (text, expected) in [
            ("", true),
            ("tier=gold", true),
            ("tier==gold,env=dev", true),
            ("tier = silver", false),
            ("tier!=gold", false),
            ("absent!=x", true),
            ("tier in (gold, silver),env notin (prod)", true),
            ("tier in (silver)", false),
            ("n", true),
            ("!n", false),
            ("!absent", true),
        ] {
            assert_eq!(LabelQuery::parse(text).unwrap().selects(&object), expected, "{text}");
        }
        for text in ["a b", "a in (b", "=x", "a of (b)"] {
            assert!(LabelQuery::parse(text).is_err(), "{text}");
        }
    }
}
