//! What policies mention: kinds, paths, literals, users, namespaces. Objects are made of it.

mod matching;
mod targets;
mod texts;

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::policy::{Policy, UserInfo};
use crate::resources::ApiResource;
use crate::value::{GroupVersionKind, Step, Text, Value};

pub(super) use targets::TargetFacts;
use texts::Texts;

/// A path in an object.
pub(super) type Path = Vec<Step>;

/// What the policies of both sides mention.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// The kinds that policies select, in the order in which they are named.
    pub(super) kinds: Vec<GroupVersionKind>,
    /// Paths that are read or written, those above them included.
    pub(super) paths: BTreeSet<Path>,
    /// The paths that are written.
    pub(super) written: BTreeSet<Path>,
    /// Literals at paths, in the order in which policies name them.
    pub(super) literals: Vec<(Path, Value)>,
    /// Labels of namespaces with values that decide.
    pub(super) namespace_labels: Vec<(Text, Vec<Text>)>,
    /// Namespaces by name, which may be patterns.
    pub(super) namespaces: Vec<Text>,
    /// The users of requests; the first is an ordinary one.
    pub(super) users: Vec<UserInfo>,
    /// The objects that policies change beside that of the request.
    pub(super) targets: Vec<TargetFacts>,
    /// Whether rules with targets name deletions.
    pub(super) deletes: bool,
    /// The keys of data that lookups are expected to have.
    pub(super) data_keys: Vec<Text>,
    /// Whether nothing reads the manifests and the configurations of images.
    pub(super) knows_images: bool,
    /// How many rules the first side has, as written.
    pub(super) rules: usize,
}

impl Facts {
    /// What two sets of policies mention. `defined` are custom kinds.
    pub(super) fn of(old: &[Policy], new: &[Policy], defined: &[ApiResource]) -> Self {
        let mut facts = Self { rules: old.iter().map(written_rules).sum(), ..Self::default() };
        let mut texts = Texts::default();
        for policy in old.iter().chain(new) {
            matching::add(policy, defined, &mut facts);
            targets::add(policy, &mut facts);
            texts.add(policy);
            for part in 0..policy.parts().len() {
                let Some(paths) = policy.paths(part) else { continue };
                for path in paths.reads.paths().into_iter().chain(paths.writes.paths()) {
                    facts.add_path(&path);
                }
                facts.written.extend(paths.writes.paths());
                for (path, value) in &paths.literals {
                    facts.add_literal(path.clone(), value.clone());
                }
            }
        }
        texts.finish(&mut facts);
        facts.kinds.dedup();
        facts
    }

    pub(super) fn add_literal(&mut self, path: Path, value: Value) {
        self.add_path(&path);
        let literal = (path, value);
        if !literal.0.is_empty() && !self.literals.contains(&literal) {
            self.literals.push(literal);
        }
    }

    /// What is mentioned of objects of a kind: selectors of namespaces select a Namespace by its own labels.
    pub(super) fn of_kind(&self, kind: &GroupVersionKind) -> Cow<'_, Self> {
        if &*kind.kind != "Namespace" || !kind.group.is_empty() || self.namespace_labels.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut facts = self.clone();
        for (key, values) in &self.namespace_labels {
            for value in values.iter().filter(|value| !value.is_empty()) {
                facts.add_literal(keys(&["metadata", "labels", key]), Value::String(value.clone()));
            }
        }
        Cow::Owned(facts)
    }

    fn add_path(&mut self, path: &[Step]) {
        for length in 1..=path.len() {
            self.paths.insert(path[..length].to_vec());
        }
    }

    fn add_kind(&mut self, kind: &GroupVersionKind) {
        if !self.kinds.contains(kind) {
            self.kinds.push(kind.clone());
        }
    }

    fn add_namespace_label(&mut self, key: &Text, values: &[Text]) {
        match self.namespace_labels.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => {
                known.extend(values.iter().cloned());
                known.sort_unstable();
                known.dedup();
            }
            None => self.namespace_labels.push((key.clone(), values.to_vec())),
        }
    }
}

/// The number of rules of a policy as written.
fn written_rules(policy: &Policy) -> usize {
    let names: BTreeSet<Text> = policy.rules().iter().map(|rule| rule.source.clone()).collect();
    names.len().max(1)
}

/// The path of these keys.
pub(super) fn keys(keys: &[&str]) -> Path {
    keys.iter().map(|key| Step::Key((*key).into())).collect()
}

#[cfg(test)]
mod tests {
    use crate::policy::parse;
    use crate::semantics::Semantics;
    use crate::yaml;

    use super::*;

    fn facts(policies: &[&str]) -> Facts {
        let read = |text: &&str| parse(&yaml::parse_value(text).unwrap(), Semantics::Documented).unwrap();
        Facts::of(&policies.iter().map(read).collect::<Vec<_>>(), &[], &[])
    }

    fn literals(facts: &Facts) -> String {
        let path = |path: &Path| {
            let step = |step: &Step| match step {
                Step::Key(key) => format!(".{key}"),
                Step::Elements => "[]".to_owned(),
            };
            path.iter().map(step).collect::<String>()
        };
        let all = facts.literals.iter().map(|(at, value)| format!("{}={}", path(at), value.to_json()));
        all.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_classic_policy_names_kinds_literals_and_users() {
        let facts = facts(&["
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  background: false
  rules:
  - name: r
    match:
      any:
      - resources: {kinds: [ConfigMap], namespaces: ['dev-*'], selector: {matchLabels: {app: web}}, namespaceSelector: {matchLabels: {tier: gold}}}
        subjects: [{kind: User, name: jane}]
    preconditions: {all: [{key: '{{ request.object.data.a }}', operator: AnyIn, value: [x, w]}]}
    mutate: {patchStrategicMerge: {data: {(b): '>2', +(c): z}}}
"]);
        assert_eq!(facts.kinds, [GroupVersionKind::new("v1", "ConfigMap")]);
        assert_eq!(
            literals(&facts),
            r#".metadata.labels.app="web" .data.a="x" .data.a="w" .data.b=">2" .data.c="z""#
        );
        let of_namespaces = facts.of_kind(&GroupVersionKind::new("v1", "Namespace"));
        assert!(literals(&of_namespaces).ends_with(r#" .metadata.labels.tier="gold""#));
        assert_eq!(facts.namespaces, [Text::from("dev-*")]);
        assert_eq!(facts.namespace_labels, [("tier".into(), vec!["gold".into()])]);
        assert_eq!(&*facts.users[1].username, "jane");
    }

    #[test]
    fn a_cel_policy_names_them_in_its_expressions() {
        let facts = facts(&["
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  matchConditions:
  - {name: c, expression: 'object.metadata.?labels.?app.orValue(\"\") == \"web\"'}
  - {name: d, expression: 'object.spec.containers.exists(c, c.image.startsWith(\"corp/\"))'}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{spec: Object.spec{dnsPolicy: \"None\"}}'}
"]);
        let all = literals(&facts);
        for expected in [
            r#".metadata.labels.app="web""#,
            r#".spec.containers[].image="corp/""#,
            r#".spec.dnsPolicy="None""#,
        ] {
            assert!(all.contains(expected), "{expected} in {all}");
        }
        assert!(facts.kinds.contains(&GroupVersionKind::new("v1", "Pod")));
    }
}
