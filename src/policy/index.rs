//! Index keys: what an object must have for a part of a policy to select it.

use crate::value::{Map, Text, Value};

use super::Candidate;

/// A part of a policy that selects objects by itself: a rule of a classic policy, or a whole policy without rules.
#[derive(Clone, Debug)]
pub struct Part<'p> {
    /// The kinds of the objects.
    pub kinds: KindKeys<'p>,
    /// Keys of which one holds for every object that the part selects, or that a report on it may mention; `None` if
    /// there are none.
    pub keys: Option<Vec<IndexKey<'p>>>,
}

/// The kinds of objects that a part of a policy may select.
#[derive(Clone, Debug)]
pub enum KindKeys<'p> {
    /// Any.
    Any,
    /// These kinds, of any group and version.
    Kinds(Vec<&'p Text>),
    /// The resources with these plurals, of any group and version.
    Resources(Vec<&'p Text>),
}

/// Something that an object has if a part of a policy selects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexKey<'a> {
    /// A name that matches a pattern, which begins with plain text.
    Name(&'a Text),
    /// A namespace that matches a pattern, which begins with plain text; for a Namespace its name.
    Namespace(&'a Text),
    /// This namespace.
    InNamespace(&'a Text),
    /// A label, with this value or with any.
    Label(&'a Text, Option<&'a Text>),
}

impl IndexKey<'_> {
    /// Whether a pattern can be a key: a leading wildcard matches any beginning.
    pub(super) fn is_pattern(pattern: &str) -> bool {
        !pattern.starts_with(WILDCARDS)
    }
}

const WILDCARDS: [char; 2] = ['*', '?'];

/// Numbers of policies by index keys. Finding some takes no longer with more that are not found.
#[derive(Clone, Debug, Default)]
pub(super) struct PolicyIndex {
    /// Numbers without a key.
    always: Vec<usize>,
    names: Prefixes,
    namespaces: Prefixes,
    in_namespaces: Texts,
    labels: Map<Label>,
}

/// Numbers by the value of a label.
#[derive(Clone, Debug, Default)]
struct Label {
    of_any_value: Vec<usize>,
    of_value: Texts,
}

/// Numbers by a whole string.
#[derive(Clone, Debug, Default)]
struct Texts(Map<Vec<usize>>);

/// Numbers by the beginning of a string.
#[derive(Clone, Debug, Default)]
struct Prefixes {
    /// Those of patterns without wildcards.
    whole: Texts,
    /// Those of patterns up to the first wildcard, by the length of that in bytes.
    prefixes: Vec<(usize, Texts)>,
}

impl PolicyIndex {
    /// Adds a number greater than the earlier ones. With `None` as keys it is always found.
    pub(super) fn add(&mut self, number: usize, keys: Option<&[IndexKey<'_>]>) {
        let Some(keys) = keys else { return self.always.push(number) };
        for key in keys {
            match *key {
                IndexKey::Name(pattern) => self.names.add(pattern, number),
                IndexKey::Namespace(pattern) => self.namespaces.add(pattern, number),
                IndexKey::InNamespace(name) => self.in_namespaces.add(name.clone(), number),
                IndexKey::Label(key, value) => {
                    let label = self.labels.entry(key.clone()).or_default();
                    match value {
                        Some(value) => label.of_value.add(value.clone(), number),
                        None => add(&mut label.of_any_value, number),
                    }
                }
            }
        }
    }

    /// Finds the numbers with a key that holds for a candidate, as ascending lists.
    pub(super) fn find<'s>(&'s self, candidate: &Candidate<'_>, found: &mut Vec<&'s [usize]>) {
        push(&self.always, found);
        self.in_namespaces.find(candidate.namespace, found);
        self.names.find(candidate.name(), found);
        self.namespaces.find(candidate.namespace_or_name(), found);
        self.find_labeled(labels(candidate), None, found);
    }

    /// Finds the numbers with a key that holds for a candidate and did not before the object was changed.
    pub(super) fn find_gained<'s>(
        &'s self,
        before: &Candidate<'_>,
        candidate: &Candidate<'_>,
        found: &mut Vec<&'s [usize]>,
    ) {
        if !self.names.is_empty() && before.name() != candidate.name() {
            self.names.find(candidate.name(), found);
        }
        if !self.namespaces.is_empty() && before.namespace_or_name() != candidate.namespace_or_name() {
            self.namespaces.find(candidate.namespace_or_name(), found);
        }
        self.find_labeled(labels(candidate), labels(before), found);
    }

    /// Finds numbers by labels that are not among the `others`.
    fn find_labeled<'s>(&'s self, labels: Option<&Map>, others: Option<&Map>, found: &mut Vec<&'s [usize]>) {
        let is_same = labels.zip(others).is_some_and(|(labels, others)| std::ptr::eq(labels, others));
        if self.labels.is_empty() || is_same {
            return;
        }
        for (key, value) in labels.into_iter().flatten() {
            let other = others.and_then(|others| others.get(key));
            if let Some(label) = self.labels.get(key)
                && other != Some(value)
            {
                if other.is_none() {
                    push(&label.of_any_value, found);
                }
                label.of_value.find(value.as_str().unwrap_or_default(), found);
            }
        }
    }
}

fn labels<'a>(candidate: &Candidate<'a>) -> Option<&'a Map> {
    candidate.object.path(&["metadata", "labels"]).and_then(Value::as_object)
}

/// Adds a number to an ascending list once. The parts of a policy may share a key.
fn add(numbers: &mut Vec<usize>, number: usize) {
    if numbers.last() != Some(&number) {
        numbers.push(number);
    }
}

fn push<'s>(numbers: &'s [usize], found: &mut Vec<&'s [usize]>) {
    if !numbers.is_empty() {
        found.push(numbers);
    }
}

impl Texts {
    fn add(&mut self, text: Text, number: usize) {
        add(self.0.entry(text).or_default(), number);
    }

    fn find<'s>(&'s self, text: &str, found: &mut Vec<&'s [usize]>) {
        push(self.0.get(text).map_or(&[], Vec::as_slice), found);
    }
}

impl Prefixes {
    fn add(&mut self, pattern: &Text, number: usize) {
        let Some(length) = pattern.find(WILDCARDS) else { return self.whole.add(pattern.clone(), number) };
        let place = self.prefixes.iter().position(|(other, _)| *other == length).unwrap_or_else(|| {
            self.prefixes.push((length, Texts::default()));
            self.prefixes.len() - 1
        });
        self.prefixes[place].1.add(pattern[..length].into(), number);
    }

    fn is_empty(&self) -> bool {
        self.whole.0.is_empty() && self.prefixes.is_empty()
    }

    fn find<'s>(&'s self, text: &str, found: &mut Vec<&'s [usize]>) {
        self.whole.find(text, found);
        for (length, prefixes) in &self.prefixes {
            if let Some(prefix) = text.get(..*length) {
                prefixes.find(prefix, found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::Operation;
    use crate::value::GroupVersionKind;

    use super::*;

    /// What is found for an object, or for the change from another.
    fn found(index: &PolicyIndex, before: Option<&str>, object: &str) -> Vec<usize> {
        let kind = GroupVersionKind::new("v1", "Pod");
        let read = |text: &str| Value::from_json(text).unwrap();
        let object = read(object);
        let candidate = Candidate::new(&object, &kind, Operation::Create);
        let mut found = Vec::new();
        match before.map(read) {
            None => index.find(&candidate, &mut found),
            Some(before) => {
                let before = Candidate::new(&before, &kind, Operation::Create);
                index.find_gained(&before, &candidate, &mut found);
            }
        }
        let mut found = found.concat();
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn numbers_are_found_by_what_an_object_has() {
        let [web, team, shop, tier, front, empty] =
            ["web", "team-*", "shop", "tier", "front", ""].map(Text::from);
        let mut index = PolicyIndex::default();
        index.add(0, None);
        index.add(1, Some(&[IndexKey::Name(&web), IndexKey::Namespace(&team)]));
        index.add(2, Some(&[IndexKey::Label(&tier, Some(&front))]));
        index.add(3, Some(&[IndexKey::Label(&tier, None), IndexKey::InNamespace(&shop)]));
        index.add(4, Some(&[]));
        index.add(5, Some(&[IndexKey::Label(&tier, Some(&empty)), IndexKey::Name(&team)]));
        let of = |metadata: &str, kind: &str| {
            found(&index, None, &format!(r#"{{"kind":"{kind}","metadata":{metadata}}}"#))
        };
        assert_eq!(of("{}", "Pod"), [0]);
        assert_eq!(of(r#"{"name":"web","namespace":"team-a"}"#, "Pod"), [0, 1]);
        assert_eq!(of(r#"{"generateName":"web","namespace":"team"}"#, "Pod"), [0, 1]);
        assert_eq!(of(r#"{"name":"team-","namespace":"a"}"#, "Pod"), [0, 5]);
        assert_eq!(of(r#"{"name":"team-b"}"#, "Namespace"), [0, 1, 5]);
        assert_eq!(of(r#"{"namespace":"shop","labels":{"tier":"front"}}"#, "Pod"), [0, 2, 3]);
        assert_eq!(of(r#"{"namespace":"shop"}"#, "Namespace"), [0, 3]);
        assert_eq!(of(r#"{"labels":{"tier":null}}"#, "Pod"), [0, 3, 5]);
        assert_eq!(of(r#"{"name":"teäm-","labels":{"app":"front"}}"#, "Pod"), [0]);
    }

    #[test]
    fn what_an_object_gains_is_found() {
        let [web, shop, tier, front] = ["web", "shop", "tier", "front"].map(Text::from);
        let mut index = PolicyIndex::default();
        index.add(0, None);
        index.add(1, Some(&[IndexKey::Name(&web)]));
        index.add(2, Some(&[IndexKey::Namespace(&shop)]));
        index.add(3, Some(&[IndexKey::Label(&tier, Some(&front))]));
        index.add(4, Some(&[IndexKey::Label(&tier, None)]));
        let bare = r#"{"kind":"Namespace","metadata":{"name":"a"}}"#;
        let of = |before: &str, after: &str| found(&index, Some(before), after);
        assert_eq!(of(bare, bare), [0; 0]);
        assert_eq!(of(bare, r#"{"kind":"Pod","metadata":{"name":"web"}}"#), [1]);
        assert_eq!(of(bare, r#"{"kind":"Namespace","metadata":{"name":"shop"}}"#), [2]);
        let labeled = r#"{"kind":"Namespace","metadata":{"name":"a","labels":{"tier":"front"}}}"#;
        assert_eq!(of(bare, labeled), [3, 4]);
        assert_eq!(of(labeled, labeled), [0; 0]);
        assert_eq!(of(labeled, bare), [0; 0]);
        assert_eq!(of(&labeled.replace("front", "back"), labeled), [3]);
    }

    #[test]
    fn patterns_that_begin_with_a_wildcard_are_no_keys() {
        assert!(IndexKey::is_pattern("a*") && IndexKey::is_pattern(""));
        assert!(!IndexKey::is_pattern("*a") && !IndexKey::is_pattern("?"));
    }
}
