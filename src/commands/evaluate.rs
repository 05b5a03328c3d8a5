//! One piece through the engine: an object, or all objects of a list.

use crate::engine::{Engine, MutatedTarget, World};
use crate::policy::Operation;
use crate::render::{Origin, shown_message};
use crate::report::{ObjectReport, Outcome};
use crate::secrets::Secrets;
use crate::source::cluster::{RecordingCluster, StoredObjects};
use crate::source::{Content, InputDocument, OldObjects};
use crate::value::{Change, GroupVersionKind, Pointer, Segment, Text, Value};
use crate::yaml::Document;

/// What evaluation needs besides the objects.
#[derive(Debug)]
pub(super) struct Evaluator<'a, W> {
    pub(super) engine: &'a Engine,
    pub(super) world: &'a W,
    pub(super) old: &'a OldObjects,
    /// What a cluster stores for manifests, if it is asked.
    pub(super) stored: Option<&'a StoredObjects>,
    /// Whether each changed object is evaluated a second time.
    pub(super) twice: bool,
    /// Whether objects without a text come from a cluster.
    pub(super) live: bool,
    /// Where the answers of the cluster are recorded, if they are.
    pub(super) recording: Option<&'a RecordingCluster>,
    /// Whether values of Secrets may be shown.
    pub(super) shows_secrets: bool,
    /// Whether all of a live object is kept, even what is not shown.
    pub(super) keeps_whole: bool,
}

/// A piece with what became of its objects.
#[derive(Debug)]
pub(super) struct Evaluated {
    pub(super) piece: InputDocument,
    /// Its objects, in order: one, or the items of a list.
    pub(super) objects: Vec<Evaluation>,
    /// What the piece says now; `None` if nothing changed.
    pub(super) after: Option<Value>,
    /// How many of them have no `apiVersion` or `kind`, and so were not evaluated.
    pub(super) unknown: usize,
}

/// One object with what became of it.
#[derive(Debug)]
pub(super) struct Evaluation {
    /// Where it stands in the piece.
    pub(super) pointer: Pointer,
    pub(super) report: ObjectReport,
    /// What a second run would change further, rule by rule.
    pub(super) again: Vec<Unsettled>,
    /// The object as it was and as it is, where a report does not show all of it.
    pub(super) whole: Option<Box<(Value, Value)>>,
    /// Whether the object exists already, and so is updated.
    pub(super) is_update: bool,
    /// What a cluster stores for it, kept for rules with targets.
    pub(super) stored: Option<Value>,
}

impl Evaluation {
    const fn new(pointer: Pointer, report: ObjectReport, again: Vec<Unsettled>) -> Self {
        Self { pointer, report, again, whole: None, is_update: false, stored: None }
    }

    /// The object as the cluster has it, if it has one.
    pub(super) fn of_cluster(&self) -> &Value {
        self.stored.as_ref().unwrap_or(self.states().0)
    }

    /// The object as it was and as it is, all of it.
    pub(super) fn states(&self) -> (&Value, &Value) {
        match &self.whole {
            Some(whole) => (&whole.0, &whole.1),
            None => (&self.report.before, &self.report.after),
        }
    }
}

/// A rule whose result is no end.
#[derive(Clone, Debug)]
pub(super) struct Unsettled {
    pub(super) policy: Text,
    pub(super) rule: Text,
    /// What the second run does.
    pub(super) changes: Result<Vec<Change>, String>,
}

impl Evaluated {
    /// Lets the values of Secrets be shown.
    pub(super) fn show_secrets(&mut self) {
        self.objects.iter_mut().for_each(|object| object.report.shows_secrets = true);
    }

    /// Lets something through that is no object.
    fn pass(&mut self, at: &Pointer, value: &Value) {
        self.unknown += 1;
        let report = ObjectReport::untouched(value.clone());
        self.objects.push(Evaluation::new(at.clone(), report, Vec::new()));
    }

    /// Gives an object what rules with targets made of it.
    pub(super) fn become_target(&mut self, number: usize, taken: MutatedTarget, live: bool) {
        let Some(object) = self.objects.get_mut(number) else { return };
        object.report.after = if live { without_bookkeeping(&taken.after) } else { taken.after };
        object.report.policies.extend(taken.policies);
        object.report.secrets.extend(&taken.secrets);
        let (pointer, mut changed) = (object.pointer.clone(), object.report.after.clone());
        let is_changed = object.report.is_changed();
        if !is_changed && self.after.is_none() {
            return;
        }
        let Some(original) = self.piece.value() else { return };
        // What is missing in an item of a typed list was added for the evaluation alone.
        if let Some(item) = original.pointed(&pointer).filter(|_| !pointer.is_root()) {
            for field in ["apiVersion", "kind"] {
                if item.get(field).is_none() {
                    changed.remove(field);
                }
            }
        }
        let mut whole = self.after.take().unwrap_or_else(|| original.clone());
        set(&mut whole, &pointer, changed);
        self.after = (whole != *original).then_some(whole);
    }

    /// Where an object of the piece comes from. Finding the line costs a second look at the text.
    pub(super) fn origin(&self, evaluation: &Evaluation) -> Origin {
        let line = self.document().map(|document| document.nearest_position(&evaluation.pointer).line);
        Origin { name: self.input_name().into(), line }
    }

    /// The document that the objects come from; `None` for an object without a text.
    pub(super) fn document(&self) -> Option<&Document> {
        match &self.piece.content {
            Content::Document(document) => Some(document),
            Content::Object(_) => None,
        }
    }

    /// Whether these are further objects for rules with targets, and no rule changed them.
    pub(super) const fn is_unchanged_target(&self) -> bool {
        self.piece.further && self.after.is_none()
    }

    /// The name of the text that the piece comes from.
    pub(super) fn input_name(&self) -> &str {
        self.document().map_or("cluster", |document| document.source().name())
    }
}

impl<'a, W: World> Evaluator<'a, W> {
    /// An evaluator of manifests, without a cluster.
    pub(super) const fn new(engine: &'a Engine, world: &'a W, old: &'a OldObjects) -> Self {
        Self {
            engine,
            world,
            old,
            stored: None,
            twice: false,
            live: false,
            recording: None,
            shows_secrets: false,
            keeps_whole: false,
        }
    }

    /// Evaluates a piece.
    pub(super) fn evaluate(&self, piece: InputDocument) -> Evaluated {
        let mut evaluated = Evaluated { objects: Vec::new(), after: None, unknown: 0, piece };
        if evaluated.piece.further {
            if let Some(value) = evaluated.piece.value().cloned() {
                self.further(&value, &mut evaluated);
            }
            return evaluated;
        }
        if let (true, Content::Object(object)) = (self.live, &evaluated.piece.content) {
            let object = object.clone();
            self.live(&object, &mut evaluated);
        } else if let Some(value) = evaluated.piece.value().cloned() {
            let after = self.value(&value, &mut Pointer::default(), None, &mut evaluated);
            evaluated.after = after;
        }
        evaluated
    }

    /// Takes in objects that only rules with targets may change.
    fn further(&self, value: &Value, into: &mut Evaluated) {
        let is_list =
            |value: &Value| GroupVersionKind::of(value).is_some_and(|kind| kind.kind.ends_with("List"));
        let untouched = |value: &Value, pointer: Pointer| {
            let report = ObjectReport::untouched(value.clone());
            Evaluation { is_update: true, ..Evaluation::new(pointer, report, Vec::new()) }
        };
        match value.get("items").and_then(Value::as_array).filter(|_| is_list(value)) {
            Some(items) => {
                let at = Pointer::ROOT.key("items");
                let items = items.iter().enumerate();
                into.objects.extend(items.map(|(index, item)| untouched(item, at.index(index))));
            }
            None => into.objects.push(untouched(value, Pointer::default())),
        }
    }

    /// Evaluates an object of a cluster, as an update that asks for what is there already. Policies see all
    /// of it; what the cluster keeps for itself is not shown.
    fn live(&self, object: &Value, into: &mut Evaluated) {
        let stored = self.old.find(object).unwrap_or(object);
        let mut report = self.engine.mutate(object, Some(stored), self.world);
        self.redact_recorded(object, &report.secrets);
        let again =
            if self.twice && report.is_changed() { self.again(Some(stored), &report) } else { Vec::new() };
        let whole = (self.engine.has_targets() || self.keeps_whole)
            .then(|| Box::new((report.before.clone(), report.after.clone())));
        report.before = without_bookkeeping(&report.before);
        report.after = without_bookkeeping(&report.after);
        into.after = report.is_changed().then(|| report.after.clone());
        into.piece.content = Content::Object(report.before.clone());
        let mut evaluation = Evaluation::new(Pointer::default(), report, again);
        evaluation.whole = whole;
        evaluation.is_update = true;
        into.objects.push(evaluation);
    }

    /// Evaluates an object or the items of a list; what it becomes, if it changes.
    fn value(
        &self,
        value: &Value,
        at: &mut Pointer,
        list: Option<&GroupVersionKind>,
        into: &mut Evaluated,
    ) -> Option<Value> {
        let Some(kind) = GroupVersionKind::of(value) else {
            return self.item_of_typed_list(value, at, list, into);
        };
        match value.get("items").and_then(Value::as_array) {
            Some(items) if kind.kind.ends_with("List") => {
                let mut after: Option<Vec<Value>> = None;
                at.push_key("items");
                for (index, item) in items.iter().enumerate() {
                    at.push_index(index);
                    if let Some(changed) = self.value(item, at, Some(&kind), into)
                        && let Some(slot) = after.get_or_insert_with(|| items.to_vec()).get_mut(index)
                    {
                        *slot = changed;
                    }
                    at.pop();
                }
                at.pop();
                let mut changed = value.clone();
                changed.insert("items", Value::array(after?));
                Some(changed)
            }
            _ => {
                let given = self.old.find(value);
                let asked = self.stored.filter(|_| given.is_none()).and_then(|stored| {
                    if !self.engine.concerns(&kind) {
                        stored.pass(value);
                        return None;
                    }
                    stored.find(value)
                });
                let stored = given.or(asked.as_ref());
                let is_update =
                    stored.is_some() || self.engine.settings().operation == Some(Operation::Update);
                let report = self.engine.mutate(value, stored, self.world);
                if let Some(asked) = &asked {
                    self.redact_recorded(asked, &report.secrets);
                }
                let after = report.is_changed().then(|| report.after.clone());
                let again =
                    if self.twice && after.is_some() { self.again(stored, &report) } else { Vec::new() };
                let mut evaluation = Evaluation::new(at.clone(), report, again);
                evaluation.is_update = is_update;
                evaluation.stored = asked.filter(|_| self.engine.has_targets());
                into.objects.push(evaluation);
                after
            }
        }
    }

    /// An item without a kind of its own: in a `PodList` it is a Pod. What the evaluation adds for that is
    /// taken away again.
    fn item_of_typed_list(
        &self,
        value: &Value,
        at: &mut Pointer,
        list: Option<&GroupVersionKind>,
        into: &mut Evaluated,
    ) -> Option<Value> {
        let kind = list.and_then(|list| list.kind.strip_suffix("List")).filter(|kind| !kind.is_empty());
        let (Some(list), Some(kind), Some(_)) = (list, kind, value.as_object()) else {
            into.pass(at, value);
            return None;
        };
        let mut typed = value.clone();
        let mut added = Vec::new();
        for (field, text) in [("apiVersion", list.api_version()), ("kind", kind.to_owned())] {
            if value.get(field).is_none() {
                typed.insert(field, text.into());
                added.push(field);
            }
        }
        if GroupVersionKind::of(&typed).is_none() {
            into.pass(at, value);
            return None;
        }
        let mut after = self.value(&typed, at, None, into)?;
        for field in added {
            after.remove(field);
        }
        Some(after)
    }

    /// Redacts an object of the cluster in the recording, if there is one.
    pub(super) fn redact_recorded(&self, object: &Value, secrets: &Secrets) {
        if let Some(recording) = self.recording {
            recording.redact(object, secrets);
        }
    }

    /// The stored object of an update: given, kept from the cluster, or the live object itself.
    pub(super) fn stored<'b>(&'b self, object: &'b Value, kept: Option<&'b Value>) -> Option<&'b Value> {
        self.old.find(object).or(kept).or_else(|| self.live.then_some(object))
    }

    /// What a second run would change.
    fn again(&self, stored: Option<&Value>, first: &ObjectReport) -> Vec<Unsettled> {
        let second = self.engine.mutate(&first.after, stored, self.world);
        if !second.is_changed() && (first.has_error() || !second.has_error()) {
            return Vec::new();
        }
        let mut unsettled = Vec::new();
        for (policy, rule) in second.rules() {
            let changes = match &rule.outcome {
                Outcome::Error(error) if !first.has_error() => {
                    let message = &error.message;
                    Err(if self.shows_secrets { message.clone() } else { shown_message(&second, message) })
                }
                _ => Ok(rule.changes()),
            };
            if changes.as_ref().is_ok_and(Vec::is_empty) {
                continue;
            }
            unsettled.push(Unsettled { policy: policy.policy.clone(), rule: rule.rule.clone(), changes });
        }
        unsettled
    }
}

/// Replaces the node at a place, if there is one.
pub(super) fn set(root: &mut Value, at: &Pointer, value: Value) {
    let mut node = root;
    for segment in at.segments() {
        let next = match segment {
            Segment::Key(key) => node.as_object_mut().and_then(|members| members.get_mut(key)),
            Segment::Index(index) => node.as_array_mut().and_then(|items| items.get_mut(*index)),
        };
        let Some(next) = next else { return };
        node = next;
    }
    *node = value;
}

/// A live object without `status` and `managedFields`, which an update does not touch.
pub(super) fn without_bookkeeping(object: &Value) -> Value {
    let mut shown = object.clone();
    shown.remove("status");
    if shown.path(&["metadata", "managedFields"]).is_some()
        && let Some(metadata) = shown.as_object_mut().and_then(|members| members.get_mut("metadata"))
    {
        metadata.remove("managedFields");
    }
    shown
}
