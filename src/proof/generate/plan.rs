//! Which changes are made to a request: by the literals, paths, lists and requests that policies mention.

use std::collections::BTreeMap;

use crate::admission::{ScalarType, minimal_at};
use crate::proof::facts::{Path, keys};
use crate::proof::request::{Answers, Case};
use crate::proof::schema::base;
use crate::proof::stored::CLUSTERS;
use crate::value::{Number, Step, Text, Value};

use super::edit::{Arrangement, Context, Edit, Stored};
use super::values::{around, texts};

/// The most updates that change labels, annotations or names.
const MAX_UPDATES: usize = 16;

/// The changes for objects of one kind, in the order in which they are tried.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Values around literals: each condition broken by value.
    pub(super) literals: Vec<Edit>,
    /// Fields missing, at each depth.
    pub(super) absences: Vec<Edit>,
    /// Fields that are null or empty.
    pub(super) empties: Vec<Edit>,
    /// Lists of none, one and several elements.
    pub(super) lists: Vec<Edit>,
    /// Texts that languages read in several ways.
    pub(super) texts: Vec<Edit>,
    /// Fields that no policy names, beside and below those that are written.
    pub(super) others: Vec<Edit>,
    /// Users, namespaces, updates.
    pub(super) requests: Vec<Edit>,
    /// For each path its values around literals.
    pub(super) choices: BTreeMap<Path, Vec<Value>>,
    /// The paths of literals that are no more than written.
    pub(super) written: Vec<Path>,
}

impl Plan {
    pub(super) fn of(context: &Context<'_>) -> Self {
        let mut plan = Self::default();
        plan.add_literals(context);
        for path in &context.facts.paths {
            plan.add_path(path, context);
        }
        let is_written = |path: &&Path| context.facts.written.contains(*path);
        plan.written = plan.choices.keys().filter(is_written).cloned().collect();
        plan.add_requests(context);
        // Selectors may look at the stored object, too.
        let edits = plan.absences.iter().chain(&plan.literals);
        let of_metadata = edits.filter(|edit| match edit {
            Edit::Set(path, _) | Edit::Remove(path) => {
                matches!(path.first(), Some(Step::Key(key)) if **key == *"metadata")
            }
            _ => false,
        });
        let updates: Vec<Edit> =
            of_metadata.take(MAX_UPDATES).map(|edit| Edit::UpdateBy(Box::new(edit.clone()))).collect();
        plan.requests.splice(0..0, updates);
        plan
    }

    fn add_literals(&mut self, context: &Context<'_>) {
        for (path, literal) in &context.facts.literals {
            if !is_free(path) || context.schemas.forms(context.kind, path).is_none() {
                continue;
            }
            self.add_key(path, literal, context);
            for value in around(literal) {
                let Some(value) = adapted(&value, path, context) else { continue };
                let choices = self.choices.entry(path.clone()).or_default();
                if !choices.contains(&value) {
                    choices.push(value.clone());
                    self.literals.push(Edit::Set(path.clone(), value));
                }
            }
        }
    }

    /// A literal at a map may be one of its keys.
    fn add_key(&mut self, path: &Path, literal: &Value, context: &Context<'_>) {
        let map = context.schemas.forms(context.kind, path).and_then(|forms| forms.map);
        let (Some(map), Some(key)) = (map, literal.as_text()) else { return };
        if map.field(key).is_none() && (map.values.is_none() || key.is_empty()) {
            return;
        }
        let path: Path = path.iter().cloned().chain([Step::Key(key.clone())]).collect();
        if let Some(value) = minimal_at(context.kind, &keys_of(&path)) {
            let choices = self.choices.entry(path.clone()).or_default();
            if !choices.contains(&value) {
                choices.push(value.clone());
            }
            self.literals.push(Edit::Set(path, value));
        }
    }

    /// Fields that no policy names, below and beside a path that is written.
    fn add_others(&mut self, path: &Path, context: &Context<'_>) {
        /// The most of one struct.
        const MAX_FIELDS: usize = 10;
        let parent = path.split_last().map_or(&[][..], |(_, parent)| parent);
        let parent = if parent.last() == Some(&Step::Elements) { &[][..] } else { parent };
        for place in [&path[..], parent] {
            if place.len() < 2 {
                continue;
            }
            let Some(map) = context.schemas.forms(context.kind, place).and_then(|forms| forms.map) else {
                continue;
            };
            let named = |name: &&str| {
                let path: Path = place.iter().cloned().chain([Step::Key((*name).into())]).collect();
                !context.facts.paths.contains(&path)
            };
            for name in map.names().filter(named).take(MAX_FIELDS) {
                let path: Path = place.iter().cloned().chain([Step::Key(name.into())]).collect();
                let value = minimal_at(context.kind, &keys_of(&path));
                let edit =
                    value.map(|value| Edit::Set(path, value)).filter(|edit| !self.others.contains(edit));
                self.others.extend(edit);
            }
        }
    }

    fn add_path(&mut self, path: &Path, context: &Context<'_>) {
        if !is_free(path) {
            return;
        }
        let Some(forms) = context.schemas.forms(context.kind, path) else { return };
        if context.facts.written.contains(path) {
            self.add_others(path, context);
        }
        let is_element = path.last() == Some(&Step::Elements);
        if is_element {
            let list = &path[..path.len() - 1];
            self.lists.extend(Arrangement::ALL.map(|arrangement| Edit::List(list.to_vec(), arrangement)));
        } else {
            self.absences.push(Edit::Remove(path.clone()));
            self.empties.push(Edit::Set(path.clone(), Value::Null));
        }
        self.add_struct(path, context);
        if let Some(map) = forms.map {
            self.empties.push(Edit::Set(path.clone(), Value::empty_object()));
            // A member that no policy names, and two.
            if map.values.is_some() {
                let other: Path = path.iter().cloned().chain([Step::Key("other".into())]).collect();
                if let Some(value) = adapted(&Value::from("o"), &other, context) {
                    let two = ["another", "other"].map(|key| (Text::from(key), value.clone()));
                    self.absences.push(Edit::Set(path.clone(), two.into_iter().collect()));
                    self.absences.push(Edit::Set(other, value));
                }
            }
        }
        if forms.list.is_some() && forms.map.is_none() && !is_element {
            self.lists.extend(Arrangement::ALL.map(|arrangement| Edit::List(path.clone(), arrangement)));
        }
        let values = match forms.scalar {
            Some(ScalarType::String) => std::iter::once(Value::from("")).chain(texts(path)).collect(),
            Some(ScalarType::Bool) => vec![Value::Bool(true), Value::Bool(false)],
            Some(ScalarType::Number) => [0, 1, 10].map(|number| Value::from(Number::from(number))).to_vec(),
            Some(ScalarType::Any) if forms.map.is_none() => {
                ["1", "10", "1Gi", "1024Mi", "100m"].map(Value::from).to_vec()
            }
            Some(ScalarType::Any) => {
                let number = Value::from(Number::from(1));
                vec![Value::from("x"), Value::from(""), number, Value::Bool(true)]
            }
            None => Vec::new(),
        };
        for (number, value) in values.into_iter().enumerate() {
            let edit = Edit::Set(path.clone(), value);
            if number < 2 { self.empties.push(edit) } else { self.texts.push(edit) }
        }
    }

    /// A struct that the smallest object does not have, with the fields that it needs.
    fn add_struct(&mut self, path: &Path, context: &Context<'_>) {
        let is_struct = |value: &Value| value.as_object().is_some_and(|members| !members.is_empty());
        let smallest = minimal_at(context.kind, &keys_of(path)).filter(is_struct);
        let is_missing = first_at(&base(context.kind), path).is_none();
        if let Some(value) = smallest.filter(|_| is_missing && path.last() != Some(&Step::Elements)) {
            let choices = self.choices.entry(path.clone()).or_default();
            if !choices.contains(&value) {
                choices.push(value.clone());
                self.literals.push(Edit::Set(path.clone(), value));
            }
        }
    }

    fn add_requests(&mut self, context: &Context<'_>) {
        let facts = context.facts;
        self.requests.extend([Stored::Same, Stored::Bare, Stored::Base].map(Edit::Update));
        self.requests.push(Edit::GenerateName("a-".into()));
        let names = self.choices.get(&keys(&["metadata", "name"])).into_iter().flatten();
        let names: Vec<Edit> = names.filter_map(Value::as_text).cloned().map(Edit::GenerateName).collect();
        self.requests.extend(names);
        self.requests.extend((1..facts.users.len()).map(Edit::User));
        let namespaces = facts.namespaces.iter().flat_map(|pattern| around(&Value::String(pattern.clone())));
        let namespaces = namespaces.filter_map(|value| value.as_text().cloned());
        for namespace in namespaces.filter(|text| is_namespace(text)).chain(usual_namespaces()) {
            self.requests.push(Edit::Namespace(namespace.clone()));
            if &*context.kind.kind == "Namespace" {
                self.requests.push(Edit::Set(keys(&["metadata", "name"]), Value::String(namespace)));
            }
        }
        if facts.deletes {
            self.requests.push(Edit::Delete);
        }
        if !facts.targets.is_empty() {
            self.requests.extend((1..CLUSTERS).map(Edit::Cluster));
            self.requests.extend(Self::answers());
        }
        for (key, values) in &facts.namespace_labels {
            let other = Text::from("other");
            for value in values.iter().chain([&other]) {
                self.requests.push(Edit::NamespaceLabel(key.clone(), Some(value.clone())));
            }
            self.requests.push(Edit::NamespaceLabel(key.clone(), None));
        }
    }

    /// Changes of what lookups return.
    pub(super) fn answers() -> Vec<Edit> {
        [Answers::Absent, Answers::Empty].map(Edit::Answers).to_vec()
    }

    /// The values that a policy wrote to an object, each alone.
    pub(super) fn written_in(&self, after: &Value, context: &Context<'_>) -> Vec<Edit> {
        let mut edits = Vec::new();
        for path in context.facts.written.iter().filter(|path| is_free(path)) {
            if let Some(value) = first_at(after, path) {
                edits.push(Edit::Set(path.clone(), value.clone()));
            }
        }
        edits
    }

    /// A request that fits the literals of a number of conditions: the one with this number at each path.
    pub(super) fn fitting(
        &self,
        base: &Case,
        number: usize,
        with_written: bool,
        context: &Context<'_>,
    ) -> Case {
        let mut case = base.clone();
        for (path, values) in &self.choices {
            if self.written.contains(path) && !with_written {
                continue;
            }
            if let Some(value) = values.get(number % values.len().max(1)) {
                let edit = Edit::Set(path.clone(), value.clone());
                case = edit
                    .apply(&case, context)
                    .filter(|one| context.schemas.admits(&one.object))
                    .unwrap_or(case);
            }
        }
        for (key, values) in &context.facts.namespace_labels {
            if let Some(value) = values.get(number % values.len().max(1)) {
                let edit = Edit::NamespaceLabel(key.clone(), Some(value.clone()));
                case = edit.apply(&case, context).unwrap_or(case);
            }
        }
        if let Some(namespace) = context.facts.namespaces.first() {
            let fits = around(&Value::String(namespace.clone()));
            if let Some(text) = fits.first().and_then(Value::as_text).filter(|text| is_namespace(text)) {
                case = Edit::Namespace(text.clone()).apply(&case, context).unwrap_or(case);
            }
        }
        case.origin = "generated: an object that fits the conditions".into();
        case
    }
}

fn usual_namespaces() -> impl Iterator<Item = Text> {
    ["kube-system", "team-a"].into_iter().map(Text::from)
}

fn is_namespace(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(is_part) && !text.starts_with('-') && !text.ends_with('-')
}

/// The keys of a path, elements left out.
fn keys_of(path: &[Step]) -> Vec<&str> {
    path.iter().filter_map(|step| if let Step::Key(key) = step { Some(&**key) } else { None }).collect()
}

/// The value at a path, in the first elements of lists.
fn first_at<'v>(value: &'v Value, path: &[Step]) -> Option<&'v Value> {
    path.iter().try_fold(value, |node, step| match step {
        Step::Key(key) => node.get(key),
        Step::Elements => node.at(0),
    })
}

/// Whether a path may be changed: not what identifies an object.
fn is_free(path: &[Step]) -> bool {
    let is = |index: usize, name: &str| matches!(path.get(index), Some(Step::Key(key)) if **key == *name);
    let is_identity = is(0, "kind") || is(0, "apiVersion");
    let is_metadata = is(0, "metadata")
        && (path.len() == 1
            || ![
                "name",
                "namespace",
                "labels",
                "annotations",
                "generateName",
                "ownerReferences",
                "finalizers",
            ]
            .iter()
            .any(|name| is(1, name)));
    !path.is_empty() && !is_identity && !is_metadata
}

/// A value as the field at a path takes it; `None` if it takes none of its kind.
fn adapted(value: &Value, path: &[Step], context: &Context<'_>) -> Option<Value> {
    let forms = context.schemas.forms(context.kind, path)?;
    let number = |text: &str| Number::parse(text).map(Value::Number);
    Some(match (forms.scalar, value) {
        (Some(ScalarType::Any), value) => value.clone(),
        (Some(ScalarType::String), Value::String(_)) => value.clone(),
        (Some(ScalarType::String), Value::Number(_) | Value::Bool(_)) => Value::string(value.to_json()),
        (Some(ScalarType::Number), Value::Number(_)) | (Some(ScalarType::Bool), Value::Bool(_)) => {
            value.clone()
        }
        (Some(ScalarType::Number), Value::String(text)) => number(text)?,
        (Some(ScalarType::Bool), Value::String(text)) => Value::Bool(text.parse().ok()?),
        (_, Value::Null) => Value::Null,
        // A literal that elements are compared with.
        (None, value) if forms.list.is_some() && value.as_str().is_some() => {
            let element = forms.list?.elements.forms();
            if element.scalar != Some(ScalarType::String) {
                return None;
            }
            Value::array(vec![value.clone()])
        }
        _ => return None,
    })
}
