//! What of an explanation must not be shown: the values of Secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::report::{ObjectReport, Outcome};
use crate::value::{Pointer, Text, Value};

use crate::render::mask;

const MASK: &str = "***";
/// Shorter texts are masked only where they stand alone: every other word would hold them.
const TELLING: usize = 4;
/// So many comparisons are made for one value; beyond, all of it is masked.
const COMPARED: usize = 1 << 22;
/// What may be shown of a Secret, as the path goes on behind it.
const HARMLESS: [&str; 5] = [".metadata", ".kind", ".apiVersion", ".type", ".immutable"];

/// Masks what is secret in values, messages and answers.
#[derive(Debug, Default)]
pub(super) struct Shade {
    is_secret: bool,
    /// Everything may be shown.
    is_open: bool,
    texts: Vec<Text>,
}

impl Shade {
    /// The shade of an object's report: that of its secret values, as they stand and decoded.
    pub(super) fn of(report: &ObjectReport) -> Self {
        let mut shade = Self { is_open: report.shows_secrets, ..Self::default() };
        if shade.is_open {
            return shade;
        }
        let others = report.secrets.iter();
        let patched = report.rules().filter_map(|(_, rule)| match &rule.outcome {
            Outcome::Patched { after, .. } => Some(after),
            _ => None,
        });
        for object in [&report.before, &report.after]
            .into_iter()
            .chain(others)
            .chain(patched)
            .filter(|one| is_secret(one))
        {
            shade.is_secret = true;
            for field in ["data", "stringData"] {
                for value in
                    object.get(field).and_then(Value::as_object).into_iter().flat_map(|all| all.values())
                {
                    shade.add(value);
                }
            }
        }
        if shade.is_secret {
            shade.add_answers(report);
        }
        shade.texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        shade.texts.dedup();
        shade
    }

    /// What variables made of secret values must not show where it was written to, either.
    fn add_answers(&mut self, report: &ObjectReport) {
        let traces = report.rules().filter_map(|(_, rule)| rule.trace.as_ref());
        for seen in
            traces.flat_map(|trace| &trace.variables).filter(|seen| reaches_for_secrets(&seen.expression))
        {
            match &seen.value {
                Ok(Value::String(text)) if !text.is_empty() => self.texts.push(text.clone()),
                Ok(Value::Array(items)) => {
                    self.texts.extend(
                        items.iter().filter_map(Value::as_text).filter(|text| !text.is_empty()).cloned(),
                    );
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, value: &Value) {
        let text: Text = value.as_text().cloned().unwrap_or_else(|| value.to_json().into());
        if let Some(decoded) =
            STANDARD.decode(text.as_bytes()).ok().and_then(|bytes| String::from_utf8(bytes).ok())
            && !decoded.is_empty()
        {
            let decoded = decoded.trim_end_matches('\n');
            self.texts.push(decoded.into());
        }
        if !text.is_empty() {
            self.texts.push(text);
        }
    }

    /// A text without secret parts.
    pub(super) fn text(&self, text: &str) -> String {
        let mut shown = text.to_owned();
        for secret in self.texts.iter().filter(|secret| secret.len() >= TELLING) {
            shown = shown.replace(&**secret, MASK);
        }
        shown
    }

    /// The answer to an expression.
    pub(super) fn answer(&self, expression: &str, value: &Value) -> Value {
        if self.is_secret && reaches_for_secrets(expression) && !matches!(value, Value::Null | Value::Bool(_))
        {
            return MASK.into();
        }
        self.value(value)
    }

    /// What something written became, such as the key of a condition.
    pub(super) fn from(&self, written: Option<&Value>, value: &Value) -> Value {
        match written {
            None if self.is_secret => MASK.into(),
            Some(written) if self.is_secret && written.to_json().contains("{{") => {
                self.answer(&written.to_json(), value)
            }
            _ => self.value(value),
        }
    }

    /// What stands somewhere in the object.
    pub(super) fn at(&self, at: &Pointer, value: &Value) -> Value {
        let place = at.to_json_pointer();
        let hidden = ["/data", "/stringData"].iter().any(|field| place.starts_with(field));
        match value {
            // Masked already, in a way that shows what changed.
            Value::String(text) if text.starts_with(MASK) => value.clone(),
            _ if self.is_secret && hidden => MASK.into(),
            _ => self.value(value),
        }
    }

    /// A value without secret parts.
    pub(super) fn value(&self, value: &Value) -> Value {
        if self.is_open {
            return value.clone();
        }
        if self.texts.len().saturating_mul(nodes(value)) > COMPARED {
            return MASK.into();
        }
        self.shaded(value)
    }

    fn shaded(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let secret = self
                    .texts
                    .iter()
                    .any(|secret| secret == text || (secret.len() >= TELLING && text.contains(&**secret)));
                if secret { MASK.into() } else { value.clone() }
            }
            Value::Array(items) => Value::array(items.iter().map(|item| self.shaded(item)).collect()),
            Value::Object(members) if is_secret(value) => {
                let masked = mask(value, value).after;
                let members = masked.as_object().unwrap_or(members);
                members.iter().map(|(key, member)| (key.clone(), self.shaded(member))).collect()
            }
            Value::Object(members) => {
                members.iter().map(|(key, member)| (key.clone(), self.shaded(member))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

fn nodes(value: &Value) -> usize {
    let mut count = 0;
    let mut open = vec![value];
    while let Some(node) = open.pop() {
        count += 1;
        match node {
            Value::Array(items) => open.extend(items.iter()),
            Value::Object(members) => open.extend(members.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    count
}

fn is_secret(object: &Value) -> bool {
    object.get("kind").and_then(Value::as_str) == Some("Secret")
}

/// Whether an expression may yield secret values of a Secret, or something made of them.
fn reaches_for_secrets(expression: &str) -> bool {
    let rest = expression.replace("metadata", "");
    rest.contains("data")
        || rest.contains("Data")
        || rest.contains("last-applied")
        || rest.contains(['@', '*'])
        || expression
            .match_indices("request")
            .any(|(start, found)| !expression[start + found.len()..].starts_with(['.', 'K']))
        || expression
            .match_indices("bject")
            .map(|(start, found)| &expression[start + found.len()..])
            .any(|behind| !HARMLESS.iter().any(|path| behind.starts_with(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shade() -> Shade {
        let secret =
            r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"a":"cGFzc3dvcmQ="}}"#;
        Shade::of(&ObjectReport::untouched(Value::from_json(secret).unwrap()))
    }

    #[test]
    fn secret_values_are_masked_encoded_and_decoded() {
        let shade = shade();
        assert_eq!(shade.text("is `cGFzc3dvcmQ=`"), "is `***`");
        assert_eq!(shade.value(&"xpasswordx".into()), "***".into());
        assert_eq!(shade.value(&"pass".into()), "pass".into());
        assert_eq!(Shade::default().value(&"password".into()), "password".into());
    }

    #[test]
    fn what_is_made_of_secret_values_is_masked() {
        let shade = shade();
        for expression in [
            "to_upper(base64_decode(request.object.data.a))",
            "to_string(request.object)",
            "request.object.*",
            "request",
            "base64_encode(to_string(@))",
            "request.*",
            "request.oldObject.stringData",
            "request.object.metadata.annotations.\"kubectl.kubernetes.io/last-applied-configuration\"",
        ] {
            assert_eq!(shade.answer(expression, &"x".into()), "***".into(), "{expression}");
        }
        assert_eq!(shade.answer("request.object.metadata.name", &"x".into()), "x".into());
        assert_eq!(shade.answer("request.operation", &"CREATE".into()), "CREATE".into());
    }
}
