//! Which paths of an object an overlay reads and writes.

use crate::value::{GroupVersionKind, PathSet, Step, Text, Value};

use super::anchor::Anchor;
use super::schema::{ListStrategy, Position};

/// So many scalars are compared with each difference of two objects, at most.
const MAX_CONSTANTS: usize = 64;

/// Adds the paths of objects that an overlay may read and write. Keys may still have variables. `kinds` are the kinds
/// of the objects, of any group; without any nothing is known of their lists.
pub fn overlay_paths(overlay: &Value, kinds: &[&Text], reads: &mut PathSet, writes: &mut PathSet) {
    let mut walk = Walk { path: Vec::new(), reads, writes };
    let unknown = [Position::Unknown];
    let positions: Vec<Position<'_>> = kinds.iter().map(|kind| Position::of_kind(kind)).collect();
    for position in if positions.is_empty() { &unknown[..] } else { &positions } {
        walk.node(overlay, *position);
    }
}

/// The scalars of an overlay with their paths in the object, anchors left out: what conditions require as written, and
/// what is set. Strings with variables are left out, and what is more than a proof would try.
pub fn overlay_literals(overlay: &Value) -> Vec<(Vec<Step>, Value)> {
    const MAX_LITERALS: usize = 2000;
    literals(overlay, MAX_LITERALS)
}

/// The first of them, at most so many.
fn literals(overlay: &Value, most: usize) -> Vec<(Vec<Step>, Value)> {
    let mut found = Vec::new();
    let mut open = vec![(Vec::new(), overlay)];
    while let Some((path, node)) = open.pop()
        && found.len() < most
    {
        let below = |step: Step| path.iter().cloned().chain([step]).collect::<Vec<_>>();
        match node {
            Value::Object(members) => {
                for (key, member) in members.iter().take(most).filter(|(key, _)| !is_for_map(key)).rev() {
                    let name = Anchor::parse(key).map_or(&**key, |(_, name)| name);
                    open.push((below(Step::Key(name.into())), member));
                }
            }
            Value::Array(items) => {
                open.extend(items.iter().take(most).rev().map(|item| (below(Step::Elements), item)));
            }
            Value::String(text) if text.contains("{{") => {}
            scalar => found.push((path, scalar.clone())),
        }
    }
    found
}

/// The scalars that an overlay without variables may set, with their paths in the object, and those of its conditions;
/// `None` if it may set others, or these are many.
pub fn overlay_constants(overlay: &Value) -> Option<Vec<(Vec<Step>, Value)>> {
    let mut open = vec![overlay];
    while let Some(node) = open.pop() {
        match node {
            Value::Object(members) if members.keys().any(|key| is_for_map(key)) => return None,
            Value::Object(members) => open.extend(members.values()),
            Value::Array(items) => open.extend(items.iter()),
            Value::String(text) if text.contains("{{") => return None,
            _ => {}
        }
    }
    let found = literals(overlay, MAX_CONSTANTS + 1);
    (found.len() <= MAX_CONSTANTS).then_some(found)
}

struct Walk<'a> {
    path: Vec<Step>,
    reads: &'a mut PathSet,
    writes: &'a mut PathSet,
}

impl Walk<'_> {
    fn below(&mut self, step: Step, visit: impl FnOnce(&mut Self)) {
        self.path.push(step);
        visit(self);
        self.path.pop();
    }

    fn read(&mut self) {
        self.reads.insert(&self.path);
    }

    /// Whether the map of a condition exists, and the maps above it.
    fn read_parents(&mut self) {
        self.reads.insert_parents(&self.path);
        self.reads.insert_node(&self.path);
    }

    fn write(&mut self) {
        self.writes.insert(&self.path);
    }

    fn read_and_write(&mut self) {
        self.read();
        self.write();
    }

    fn node(&mut self, node: &Value, position: Position<'_>) {
        match node {
            Value::Object(members) if !members.is_empty() => {
                for (key, member) in members.iter() {
                    self.member(key, member, position);
                }
            }
            Value::Array(items) => {
                if !matches!(position.strategy(), ListStrategy::Keys(_)) || items.is_empty() {
                    self.write();
                }
                for item in items.iter() {
                    self.element(item, position);
                }
            }
            // To remove a member of a map that is missing leaves an empty one.
            Value::Null => {
                self.reads.insert_parents(&self.path);
                self.write();
            }
            _ if self.path.is_empty() && node.as_object().is_some() => {}
            _ => self.write(),
        }
    }

    fn member(&mut self, key: &Text, member: &Value, position: Position<'_>) {
        if is_for_map(key) {
            return self.read_and_write();
        }
        let anchor = Anchor::parse(key);
        if anchor.as_ref().is_some_and(|(anchor, _)| !matches!(anchor, Anchor::Add)) {
            self.read_parents();
        }
        match anchor {
            None => {
                self.below(Step::Key(key.clone()), |walk| walk.node(member, position.member(key)));
            }
            Some((Anchor::Condition | Anchor::Global, name)) => {
                self.below(Step::Key(name.into()), |walk| walk.condition(member));
            }
            Some((Anchor::Add, name)) => self.below(Step::Key(name.into()), Self::read_and_write),
            Some((Anchor::Equality | Anchor::Existence | Anchor::Negation, name)) => {
                for key in [name, key] {
                    self.below(Step::Key(key.into()), Self::read_and_write);
                }
            }
        }
    }

    fn element(&mut self, item: &Value, list: Position<'_>) {
        let keys = match list.strategy() {
            ListStrategy::Keys(keys) => keys,
            _ => Vec::new().into(),
        };
        self.below(Step::Elements, |walk| {
            walk.writes.insert_node(&walk.path);
            for key in keys.iter().filter(|key| item.get(key).is_some()) {
                walk.below(Step::Key((*key).into()), Self::read);
            }
            if let Some(members) = item.as_object() {
                for (key, member) in members {
                    walk.member(key, member, list.element());
                }
            }
        });
    }

    /// The value of a condition: it is compared, and Kyverno writes a part of it.
    fn condition(&mut self, node: &Value) {
        match node {
            Value::Object(members) if !members.is_empty() => {
                self.reads.insert_node(&self.path);
                for (key, member) in members.iter() {
                    let name = Anchor::parse(key).map_or(&**key, |(_, name)| name);
                    if is_for_map(key) {
                        self.read_and_write();
                    } else {
                        self.below(Step::Key(name.into()), |walk| walk.condition(member));
                    }
                }
            }
            Value::Array(items)
                if items.iter().all(|item| item.as_object().is_some()) && !items.is_empty() =>
            {
                self.below(Step::Elements, |walk| items.iter().for_each(|item| walk.condition(item)));
            }
            _ => self.read_and_write(),
        }
    }
}

/// Whether a key may concern any member of its map: a directive, or one with variables or wildcards.
fn is_for_map(key: &str) -> bool {
    key.starts_with('$') || key.contains("{{") || key.contains(['*', '?'])
}

impl Position<'_> {
    /// The position of the root of objects of a built-in kind.
    fn of_kind(kind: &str) -> Self {
        const GROUPS: [&str; 7] = [
            "v1",
            "apps/v1",
            "batch/v1",
            "batch/v1beta1",
            "policy/v1",
            "storage.k8s.io/v1",
            "admissionregistration.k8s.io/v1",
        ];
        let kinds = GROUPS.iter().map(|version| GroupVersionKind::new(version, kind));
        kinds.into_iter().find_map(|kind| Self::built_in(&kind)).unwrap_or(Self::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_large_overlays_have_a_limit() {
        let items = (0..5000_i64).map(|number| Value::array(vec![Value::from(number)])).collect();
        let overlay = Value::from_iter([("a", Value::array(items))]);
        assert_eq!(overlay_literals(&overlay).len(), 2000);
        assert_eq!(overlay_constants(&overlay), None);
    }

    #[test]
    fn overlays_read_conditions_and_write_the_rest() {
        for (kind, overlay, reads, writes) in [
            ("Pod", r#"{"spec":{"a":1,"b":{"c":null,"d":{}}}}"#, "spec.b", "spec.a, spec.b.c, spec.b.d"),
            ("Pod", r#"{"spec":{"+(a)":1}}"#, "spec.a", "spec.a"),
            ("Pod", r#"{"spec":{"(a)":">1","b":1}}"#, "spec.a", "spec.a, spec.b"),
            (
                "Pod",
                r#"{"spec":{"containers":[{"(name)":"*","image":"x"}]}}"#,
                "spec.containers[].name",
                "spec.containers[].image, spec.containers[].name",
            ),
            (
                "Pod",
                r#"{"spec":{"containers":[{"name":"a","image":"x"}]}}"#,
                "spec.containers[].name",
                "spec.containers[].image, spec.containers[].name",
            ),
            (
                "Deployment",
                r#"{"spec":{"template":{"spec":{"containers":[{"name":"a","ports":[{"containerPort":1,"protocol":"TCP"}]}]}}}}"#,
                "spec.template.spec.containers[].name, spec.template.spec.containers[].ports[].containerPort, \
                 spec.template.spec.containers[].ports[].protocol",
                "spec.template.spec.containers[].name, spec.template.spec.containers[].ports[].containerPort, \
                 spec.template.spec.containers[].ports[].protocol",
            ),
            (
                "Widget",
                r#"{"spec":{"containers":[{"(name)":"*","image":"x"}]}}"#,
                "spec.containers[].name",
                "spec.containers",
            ),
            ("Pod", r#"{"spec":{"tolerations":[{"key":"a"}]}}"#, "nothing", "spec.tolerations"),
            (
                "Pod",
                r#"{"metadata":{"labels":{"a":"b"}},"spec":{"(containers)":[{"(image)":"x"}]}}"#,
                "spec.containers[].image",
                "metadata.labels.a, spec.containers[].image",
            ),
            ("Pod", r#"{"spec":{"<(a)":{"b":"c"},"d":1}}"#, "spec.a.b", "spec.a.b, spec.d"),
            ("Pod", r#"{"metadata":{"labels":{"{{ x }}":"b"}}}"#, "metadata.labels", "metadata.labels"),
            (
                "Pod",
                r#"{"metadata":{"labels":{"$patch":"replace","a":"b"}}}"#,
                "metadata.labels",
                "metadata.labels",
            ),
            ("Pod", "{}", "nothing", "nothing"),
            ("Pod", r#""{{ x }}""#, "nothing", "everything"),
        ] {
            let (mut read, mut written) = (PathSet::default(), PathSet::default());
            let overlay = Value::from_json(overlay).unwrap();
            overlay_paths(&overlay, &[&kind.into()], &mut read, &mut written);
            assert_eq!(
                (read.to_string().as_str(), written.to_string().as_str()),
                (reads, writes),
                "{overlay:?}"
            );
        }
    }
}
