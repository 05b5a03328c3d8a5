//! The texts of policies, for the places of errors of their rules.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use crate::policy::Policy;
use crate::value::{Pointer, Segment, Text};
use crate::yaml::{Document, DocumentNodes};

use super::Place;

/// A node of a policy.
#[derive(Debug)]
pub struct PolicyNode<'a> {
    /// The node, from the root of the policy.
    pub pointer: &'a Pointer,
    /// The expression in it.
    pub expression: Option<&'a str>,
    /// The bytes of a part of the expression, where it is the whole text of the node.
    pub part: Option<Range<usize>>,
}

/// The text of a policy. It is read again when the place of a node is looked for.
#[derive(Clone, Debug)]
pub struct PolicyText {
    document: DocumentNodes,
    /// The policy in the document.
    at: Pointer,
}

impl PolicyText {
    pub(super) fn new(document: &Document, at: &Pointer) -> Self {
        Self { document: document.nodes(), at: at.clone() }
    }

    fn place(&self, node: &PolicyNode<'_>) -> Option<Place> {
        let PolicyNode { pointer, expression, part } = node;
        let mut pointers = vec![self.at.join(pointer)];
        pointers.extend(before_autogen(pointer).map(|pointer| self.at.join(&pointer)));
        let (key, value) = self.document.find(&pointers)?;
        // Autogen moves expressions, too.
        const MOVED: [&str; 3] = ["", "spec.jobTemplate.spec.template.", "spec.template."];
        let range = expression.and_then(|expression| match part {
            Some(part) => self.document.part(&value, expression, part).or_else(|| {
                let part = expression.get(part.clone())?;
                MOVED.iter().find_map(|moved| self.expression(&value, &part.replace(moved, "")))
            }),
            None => {
                MOVED.iter().find_map(|moved| self.expression(&value, &expression.replacen(moved, "", 1)))
            }
        });
        let range = range.unwrap_or(key);
        Some(Place::underlined(&self.document, &range))
    }

    /// The range of an expression in the text of a node.
    fn expression(&self, node: &Range<usize>, expression: &str) -> Option<Range<usize>> {
        let text = self.document.source().text().get(node.clone())?;
        let start = node.start + text.find(expression).filter(|_| !expression.is_empty())?;
        Some(start..start + expression.len())
    }
}

/// The place in the written rule of a node that autogen moved into the template of a Pod controller.
fn before_autogen(pointer: &Pointer) -> Option<Pointer> {
    const MOVED: [&[&str]; 2] = [&["spec", "jobTemplate", "spec", "template"], &["spec", "template"]];
    let segments = pointer.segments();
    let is = |segment: &Segment, name: &str| matches!(segment, Segment::Key(key) if &**key == name);
    let (start, names) = (0..segments.len()).find_map(|start| {
        let begins = |names: &&&[&str]| {
            let rest = &segments[start..];
            rest.len() >= names.len()
                && rest.iter().zip(names.iter()).all(|(segment, name)| is(segment, name))
        };
        MOVED.iter().find(begins).map(|names| (start, names))
    })?;
    let kept = segments[..start].iter().chain(&segments[start + names.len()..]);
    Some(kept.fold(Pointer::ROOT, |pointer, segment| match segment {
        Segment::Key(key) => pointer.key(key.clone()),
        Segment::Index(index) => pointer.index(*index),
    }))
}

/// The texts of the policies of a run, by the names of the policies.
#[derive(Clone, Debug, Default)]
pub struct PolicyTexts {
    /// `None` for a name that several policies have.
    texts: HashMap<Text, Option<PolicyText>>,
    /// The same for exceptions from CEL policies.
    exceptions: HashMap<Text, Option<PolicyText>>,
}

impl PolicyTexts {
    /// The texts of policies, in the same order, and of exceptions from CEL policies by name.
    pub fn new(policies: &[Policy], texts: Vec<PolicyText>, exceptions: Vec<(Text, PolicyText)>) -> Self {
        let names = policies.iter().map(Policy::full_name);
        Self { texts: by_name(names.zip(texts)), exceptions: by_name(exceptions) }
    }

    /// The place of an expression in a node of a policy, or of the node; `None` if the text is not known.
    pub fn place(&self, policy: &str, node: &PolicyNode<'_>) -> Option<Place> {
        self.texts.get(policy)?.as_ref()?.place(node)
    }

    /// The same for a node of an exception, by its name as `namespace/name`.
    pub fn place_in_exception(&self, exception: &str, node: &PolicyNode<'_>) -> Option<Place> {
        self.exceptions.get(exception)?.as_ref()?.place(node)
    }
}

/// Texts by their names; `None` for a name that several have.
fn by_name(texts: impl IntoIterator<Item = (Text, PolicyText)>) -> HashMap<Text, Option<PolicyText>> {
    let mut named = HashMap::new();
    for (name, text) in texts {
        match named.entry(name) {
            Entry::Vacant(entry) => drop(entry.insert(Some(text))),
            Entry::Occupied(mut entry) => drop(entry.insert(None)),
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_node_has_the_place_of_the_written_one() {
        for (generated, written) in [
            ("/a/spec/template/spec/containers/0", Some("/a/spec/containers/0")),
            ("/a/spec/jobTemplate/spec/template/metadata", Some("/a/metadata")),
            ("/a/spec/containers", None),
        ] {
            let names = generated.split('/').skip(1);
            let pointer = before_autogen(&names.fold(Pointer::ROOT, |pointer, name| pointer.key(name)));
            assert_eq!(pointer.map(|pointer| pointer.to_json_pointer()).as_deref(), written);
        }
    }
}
