//! Values of context variables from the user, in the form of Kyverno's `Values` documents.

use indexmap::IndexMap;

use crate::pattern::nearest;
use crate::policy::{Operation, Policy};
use crate::value::{GroupVersionKind, Text, Value};

/// A dotted name, split: `a."b.c".d` has three parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DottedName(Vec<Text>);

/// Why a text is not a dotted name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// A quote is not closed.
    #[error("unclosed quote in `{0}`")]
    UnclosedQuote(String),
    /// The name or a part is empty.
    #[error("empty part in `{0}`")]
    EmptyPart(String),
    /// A closing quote is not followed by a dot.
    #[error("text after a closing quote in `{0}`")]
    TextAfterQuote(String),
}

impl DottedName {
    /// Splits a name at its dots. A part in double quotes may contain dots, and `""` for a quote.
    ///
    /// # Errors
    ///
    /// See [`NameError`].
    pub fn parse(name: &str) -> Result<Self, NameError> {
        let mut parts = Vec::new();
        let mut rest = name;
        loop {
            let part;
            (part, rest) = if let Some(quoted) = rest.strip_prefix('"') {
                quoted_part(quoted).ok_or_else(|| NameError::UnclosedQuote(name.into()))?
            } else {
                let end = rest.find('.').unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            };
            if part.is_empty() {
                return Err(NameError::EmptyPart(name.into()));
            }
            parts.push(part.into());
            match rest.strip_prefix('.') {
                Some(more) => rest = more,
                None if rest.is_empty() => return Ok(Self(parts)),
                None => return Err(NameError::TextAfterQuote(name.into())),
            }
        }
    }

    /// The parts.
    pub fn parts(&self) -> &[Text] {
        &self.0
    }

    /// Whether the name has exactly these parts.
    pub fn is(&self, parts: &[&str]) -> bool {
        self.0.iter().map(|part| &**part).eq(parts.iter().copied())
    }

    /// Sets the value of this name: an object is merged into an object, everything else replaces the old value.
    pub fn merge_into(&self, root: &mut Value, value: &Value) {
        let mut node = root;
        for part in &self.0 {
            if node.as_object().is_none() {
                *node = Value::empty_object();
            }
            let Some(members) = node.as_object_mut() else { return };
            node = members.entry(part.clone()).or_default();
        }
        merge(node, value);
    }
}

/// The text up to the closing quote, and the rest.
fn quoted_part(text: &str) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        part.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                part.push('"');
                rest = more;
            }
            None => return Some((part, rest)),
        }
    }
}

/// Merges an object into an object; everything else replaces the old value.
pub(super) fn merge(node: &mut Value, value: &Value) {
    match (node.as_object_mut(), value.as_object()) {
        (Some(members), Some(new)) => {
            for (key, value) in new {
                merge(members.entry(key.clone()).or_default(), value);
            }
        }
        _ => *node = value.clone(),
    }
}

/// Values by the policies, rules and objects they apply to.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// For every policy.
    pub global: Assignments,
    /// For one policy, by name.
    pub policies: IndexMap<Text, PolicyValues>,
    /// From the command line; these override all others.
    pub set: Assignments,
    /// Labels of namespaces, by name.
    pub namespaces: IndexMap<Text, Value>,
    /// Kinds whose objects are a subresource of another kind.
    pub subresources: Vec<SubresourceKind>,
}

/// Names and their values, in order.
pub type Assignments = Vec<(DottedName, Value)>;

/// Values for one policy.
#[derive(Clone, Debug, Default)]
pub struct PolicyValues {
    /// By the name of the object.
    pub resources: IndexMap<Text, Assignments>,
    /// By the name of the rule; generated rules use those of their source.
    pub rules: IndexMap<Text, Assignments>,
}

/// A kind whose objects are a subresource of a parent kind.
#[derive(Clone, Debug)]
pub struct SubresourceKind {
    /// The kind of the subresource's objects.
    pub kind: GroupVersionKind,
    /// The parent's kind.
    pub parent: GroupVersionKind,
    /// The subresource's name, such as `scale`.
    pub name: Text,
}

impl Values {
    /// The assignments for a policy and an object's name; later ones override earlier ones.
    pub(super) fn of(&self, policy: &str, object: &str) -> impl Iterator<Item = &(DottedName, Value)> {
        let own = self.policies.get(policy).and_then(|policy| policy.resources.get(object));
        self.global.iter().chain(own.into_iter().flatten()).chain(&self.set)
    }

    /// Whether there are no assignments.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.global.is_empty() && self.policies.is_empty() && self.set.is_empty()
    }

    /// A line for each unknown policy and each unknown rule with assignments, with the nearest known name. `others` are
    /// further known policies.
    pub fn unknown_to<'n>(&self, policies: &[Policy], others: impl Iterator<Item = &'n Text>) -> Vec<String> {
        let others: Vec<&Text> = others.collect();
        let suggestion = |name: &str, known: &[&str]| {
            let nearest = nearest(name, known.iter().copied());
            nearest.map_or_else(String::new, |nearest| format!(", did you mean `{nearest}`?"))
        };
        let mut lines = Vec::new();
        for (name, values) in self.policies.iter().filter(|(name, _)| !others.contains(name)) {
            let mut named = policies.iter().filter(|policy| policy.meta().name == *name).peekable();
            if named.peek().is_none() {
                let names: Vec<&str> = policies.iter().map(|policy| &*policy.meta().name).collect();
                let suggestion = suggestion(name, &names);
                lines.push(format!("the values name a policy `{name}` that does not exist{suggestion}"));
                continue;
            }
            let named: Vec<&Policy> = named.collect();
            let mutating = named.iter().flat_map(|policy| policy.rules()).map(|rule| &**rule.source);
            let other = named.iter().flat_map(|policy| &policy.meta().not_evaluated);
            let rules: Vec<&str> = mutating.chain(other.filter_map(|other| other.rule.as_deref())).collect();
            for rule in values.rules.keys().filter(|rule| !rules.contains(&&***rule)) {
                let suggestion = suggestion(rule, &rules);
                lines.push(format!("the values name a rule `{name}/{rule}` that does not exist{suggestion}"));
            }
        }
        lines
    }

    /// The assignments for a rule of a policy.
    pub(super) fn of_rule(&self, policy: &str, rule: &str) -> impl Iterator<Item = &(DottedName, Value)> {
        self.policies.get(policy).and_then(|policy| policy.rules.get(rule)).into_iter().flatten()
    }

    /// The operation of the request, for a policy and an object's name.
    pub(super) fn operation(&self, policy: &str, object: &str) -> Option<Operation> {
        let values = self.of(policy, object).filter(|(name, _)| name.is(&["request", "operation"]));
        values.last().and_then(|(_, value)| Operation::parse(value.as_str()?))
    }

    /// The parent's kind and the subresource's name if a kind stands for a subresource; else the kind itself and an
    /// empty name.
    pub(super) fn as_subresource<'a>(
        &'a self,
        kind: &'a GroupVersionKind,
    ) -> (&'a GroupVersionKind, &'a str) {
        let listed = self.subresources.iter().find(|subresource| subresource.kind == *kind);
        listed.map_or((kind, ""), |subresource| (&subresource.parent, &subresource.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(name: &str) -> Result<Vec<String>, NameError> {
        Ok(DottedName::parse(name)?.parts().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn quotes_protect_dots() {
        assert_eq!(parts("a.b").unwrap(), ["a", "b"]);
        assert_eq!(parts(r#"a."b.c".d"#).unwrap(), ["a", "b.c", "d"]);
        assert_eq!(parts(r#""a""b""#).unwrap(), ["a\"b"]);
        for name in ["", "a..b", "a.", r#""a"#, r#""a"b"#] {
            assert!(parts(name).is_err(), "{name}");
        }
    }

    #[test]
    fn objects_merge_and_other_values_replace() {
        let json = |text| Value::from_json(text).unwrap();
        let mut root = json(r#"{"a":{"b":{"x":1},"c":[1]},"d":5}"#);
        let name = |text| DottedName::parse(text).unwrap();
        name("a").merge_into(&mut root, &json(r#"{"b":{"y":2},"c":[2]}"#));
        name("d.e").merge_into(&mut root, &json("true"));
        assert_eq!(root, json(r#"{"a":{"b":{"x":1,"y":2},"c":[2]},"d":{"e":true}}"#));
    }
}
