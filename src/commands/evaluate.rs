//! One document through the engine: an object, or all objects of a list.

use std::sync::Arc;

use crate::check;
use crate::drift;
use crate::engine::{Engine, MutatedTarget, World};
use crate::policy::Operation;
use crate::render::Origin;
use crate::report::{CheckFinding, Drift, GitOpsTool, ObjectReport, Outcome};
use crate::secrets::Secrets;
use crate::source::cluster::{RecordingCluster, StoredObjects};
use crate::source::{Content, InputDocument, OldObjects, Place, helm_marker};
use crate::value::{Change, GroupVersionKind, Pointer, Segment, Text, Value};
use crate::yaml::Document;

use super::options::PolicyCheck;

/// What evaluation needs besides the documents.
#[derive(Debug)]
pub(super) struct Evaluator<'a, W> {
    pub(super) engine: &'a Engine,
    pub(super) world: &'a W,
    pub(super) old: &'a OldObjects,
    /// Where the stored objects of manifests come from, if from a cluster.
    pub(super) stored: Option<&'a StoredObjects>,
    /// Whether each changed object is evaluated a second time.
    pub(super) check_idempotent: bool,
    /// What is found out about the policies on each object.
    pub(super) check: PolicyCheck,
    /// Whether the other inputs are evaluated where one cannot be read.
    pub(super) keep_going: bool,
    /// Whether objects without a text come from a cluster.
    pub(super) live: bool,
    pub(super) recording: Option<&'a RecordingCluster>,
    pub(super) shows_secrets: bool,
    /// Whether all of a live object is kept, even what is not shown.
    pub(super) keeps_whole: bool,
}

/// A document with the outcomes of its objects.
#[derive(Debug)]
pub(super) struct Evaluated {
    pub(super) source: InputDocument,
    /// The origin of an object without a text, if it is not a cluster.
    pub(super) origin: Option<Origin>,
    /// Its objects, in order: one, or the items of a list.
    pub(super) objects: Vec<Evaluation>,
    /// The new value of the document; `None` if nothing changed.
    pub(super) after: Option<Value>,
    /// How many objects have no `apiVersion` or `kind`, and so were not evaluated.
    pub(super) without_kind: usize,
    /// The first marker of a Helm template.
    pub(super) helm_marker: Option<Place>,
}

/// An object with its outcome.
#[derive(Debug)]
pub(super) struct Evaluation {
    /// The place in the document.
    pub(super) pointer: Pointer,
    pub(super) report: ObjectReport,
    /// What a second run would change, rule by rule.
    pub(super) second_run: Vec<NotIdempotent>,
    /// How the policies get along on the object, if that is checked.
    pub(super) findings: Vec<CheckFinding>,
    /// What a GitOps tool shows of its changes, if that is asked.
    pub(super) drift: Option<Arc<Drift>>,
    /// All of the object before and after, where the report does not have it.
    pub(super) whole: Option<Box<(Value, Value)>>,
    /// Whether the object exists already, and so is updated.
    pub(super) is_update: bool,
    /// The stored object of a cluster, kept for rules with targets.
    pub(super) stored: Option<Value>,
}

impl Evaluation {
    pub(super) const fn new(pointer: Pointer, report: ObjectReport) -> Self {
        Self {
            pointer,
            report,
            second_run: Vec::new(),
            findings: Vec::new(),
            drift: None,
            whole: None,
            is_update: false,
            stored: None,
        }
    }

    /// The object as it is stored, or else as it was read.
    pub(super) fn of_cluster(&self) -> &Value {
        self.stored.as_ref().unwrap_or(self.states().0)
    }

    /// All of the object before and after.
    pub(super) fn states(&self) -> (&Value, &Value) {
        match &self.whole {
            Some(whole) => (&whole.0, &whole.1),
            None => (&self.report.before, &self.report.after),
        }
    }
}

/// A rule that changes its own result, or fails on it.
#[derive(Clone, Debug)]
pub(super) struct NotIdempotent {
    pub(super) policy: Text,
    pub(super) rule: Text,
    /// The changes of the second run, or its error.
    pub(super) changes: Result<Vec<Change>, String>,
}

impl Evaluated {
    pub(super) const fn new(source: InputDocument) -> Self {
        Self { source, origin: None, objects: Vec::new(), after: None, without_kind: 0, helm_marker: None }
    }

    pub(super) fn show_secrets(&mut self) {
        self.objects.iter_mut().for_each(|object| object.report.shows_secrets = true);
    }

    /// Keeps a value that is no object as it is.
    fn keep(&mut self, at: &Pointer, value: &Value) {
        self.without_kind += 1;
        self.objects.push(Evaluation::new(at.clone(), ObjectReport::untouched(value.clone())));
    }

    /// Takes over what rules with targets changed in an object.
    pub(super) fn update_target(&mut self, number: usize, taken: MutatedTarget, live: bool) {
        let Some(object) = self.objects.get_mut(number) else { return };
        object.report.after = if live { without_bookkeeping(&taken.after) } else { taken.after };
        object.report.policies.extend(taken.policies);
        object.report.secrets.extend(&taken.secrets);
        let (pointer, mut changed) = (object.pointer.clone(), object.report.after.clone());
        let is_changed = object.report.is_changed();
        if !is_changed && self.after.is_none() {
            return;
        }
        let Some(original) = self.source.value() else { return };
        // Items of typed lists got them for the evaluation alone.
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

    /// The place of an object, as messages have it. Finding the line costs a second look at the text.
    pub(super) fn origin(&self, evaluation: &Evaluation) -> Origin {
        if let Some(origin) = &self.origin {
            return origin.clone();
        }
        let line = self.document().map(|document| document.nearest_position(&evaluation.pointer).line);
        Origin { name: self.input_name().into(), line }
    }

    /// The text of the document; `None` for a live object.
    pub(super) fn document(&self) -> Option<&Document> {
        match &self.source.content {
            Content::Document(document) => Some(document),
            Content::Object(_) => None,
        }
    }

    /// Whether the objects are targets only, and no rule changed them.
    pub(super) const fn is_unchanged_target(&self) -> bool {
        self.source.further && self.after.is_none()
    }

    /// The name of the file or cluster that the document comes from.
    pub(super) fn input_name(&self) -> &str {
        match (self.document(), &self.origin) {
            (Some(document), _) => document.source().name(),
            (None, Some(origin)) => &origin.name,
            (None, None) => "cluster",
        }
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
            check_idempotent: false,
            check: PolicyCheck::None,
            keep_going: false,
            live: false,
            recording: None,
            shows_secrets: false,
            keeps_whole: false,
        }
    }

    pub(super) fn evaluate(&self, source: InputDocument) -> Evaluated {
        let mut evaluated = Evaluated::new(source);
        let Some(value) = evaluated.source.value().cloned() else { return evaluated };
        if evaluated.source.further {
            add_targets(&value, &mut evaluated);
        } else if self.live && matches!(evaluated.source.content, Content::Object(_)) {
            self.evaluate_live(&value, &mut evaluated);
        } else {
            evaluated.helm_marker = evaluated.document().and_then(helm_marker);
            evaluated.after = self.evaluate_value(&value, &mut Pointer::default(), None, &mut evaluated);
        }
        evaluated
    }

    /// Evaluates an object of a cluster, as an update that changes nothing. Policies see all of it; what the cluster
    /// keeps for itself is not shown.
    fn evaluate_live(&self, object: &Value, evaluated: &mut Evaluated) {
        let stored = self.old.find(object).unwrap_or(object);
        let mut report = self.engine.mutate(object, Some(stored), self.world);
        self.redact_recorded(object, &report.secrets);
        let second_run = self.second_run(Some(stored), &report);
        let mut findings = self.findings(&mut report, Some(stored), true);
        for states in findings.iter_mut().filter_map(|finding| finding.results.as_mut()) {
            states.iter_mut().for_each(|state| *state = without_bookkeeping(state));
        }
        let whole = (self.engine.has_targets() || self.keeps_whole)
            .then(|| Box::new((report.before.clone(), report.after.clone())));
        report.before = without_bookkeeping(&report.before);
        report.after = without_bookkeeping(&report.after);
        evaluated.after = report.is_changed().then(|| report.after.clone());
        evaluated.source.content = Content::Object(report.before.clone());
        let evaluation = Evaluation::new(Pointer::default(), report);
        evaluated.objects.push(Evaluation { second_run, findings, whole, is_update: true, ..evaluation });
    }

    /// How the policies get along on an object, if that is checked.
    fn findings(
        &self,
        report: &mut ObjectReport,
        stored: Option<&Value>,
        is_update: bool,
    ) -> Vec<CheckFinding> {
        match self.check {
            PolicyCheck::Together => {
                let mut order = std::mem::take(&mut report.order);
                order.retain(|one| check::is_kept_in_cluster(self.engine, report, one));
                report.order = order;
                check::findings(self.engine, report, (stored, is_update), self.world)
            }
            PolicyCheck::None | PolicyCheck::Drift(_) => Vec::new(),
        }
    }

    /// Evaluates an object or the items of a list; the new value, if it changes.
    fn evaluate_value(
        &self,
        value: &Value,
        at: &mut Pointer,
        list: Option<&GroupVersionKind>,
        evaluated: &mut Evaluated,
    ) -> Option<Value> {
        let Some(kind) = GroupVersionKind::of(value) else {
            return self.evaluate_typed_item(value, at, list, evaluated);
        };
        let Some(items) = items_of_list(value, &kind) else {
            return self.evaluate_object(value, at, &kind, evaluated);
        };
        let mut after: Option<Vec<Value>> = None;
        at.push_key("items");
        for (index, item) in items.iter().enumerate() {
            at.push_index(index);
            if let Some(changed) = self.evaluate_value(item, at, Some(&kind), evaluated)
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

    fn evaluate_object(
        &self,
        value: &Value,
        at: &Pointer,
        kind: &GroupVersionKind,
        evaluated: &mut Evaluated,
    ) -> Option<Value> {
        let old = self.old.find(value);
        let of_cluster = self.stored.filter(|_| old.is_none()).and_then(|stored| {
            if self.engine.concerns(kind) || matches!(self.check, PolicyCheck::Drift(_)) {
                return stored.find(value);
            }
            stored.pass(value);
            None
        });
        let stored = old.or(of_cluster.as_ref());
        let is_update = stored.is_some() || self.engine.settings().operation == Some(Operation::Update);
        let mut report = self.engine.mutate(value, stored, self.world);
        if let Some(of_cluster) = &of_cluster {
            self.redact_recorded(of_cluster, &report.secrets);
        }
        let after = report.is_changed().then(|| report.after.clone());
        let second_run = self.second_run(stored, &report);
        let findings = self.findings(&mut report, stored, is_update);
        let drift = match self.check {
            PolicyCheck::Drift(tool) => self.drift(tool, &mut report, of_cluster.as_ref()),
            PolicyCheck::None | PolicyCheck::Together => None,
        };
        let stored = of_cluster.filter(|_| self.engine.has_targets());
        let evaluation = Evaluation::new(at.clone(), report);
        evaluated.objects.push(Evaluation { second_run, findings, drift, is_update, stored, ..evaluation });
        after
    }

    /// What a GitOps tool shows of an object, compared with the one in the cluster if there is one. That one may have been
    /// created with the policies, or updated.
    fn drift(
        &self,
        tool: GitOpsTool,
        report: &mut ObjectReport,
        of_cluster: Option<&Value>,
    ) -> Option<Arc<Drift>> {
        let drift = match of_cluster {
            _ if tool == GitOpsTool::Flux => drift::flux_drift(self.engine, report, of_cluster, self.world),
            Some(live) => {
                let created = self.engine.mutate_alone(&report.before, None, self.world);
                drift::live_drift(self.engine, &[report, &created], live)
            }
            None => report.is_changed().then(|| drift::drift(self.engine, report)).flatten(),
        };
        drift.map(Arc::new)
    }

    /// Evaluates an item without a kind of its own: in a `PodList` it is a Pod. The result has no kind either.
    fn evaluate_typed_item(
        &self,
        value: &Value,
        at: &mut Pointer,
        list: Option<&GroupVersionKind>,
        evaluated: &mut Evaluated,
    ) -> Option<Value> {
        let mut typed = value.clone();
        let mut added = Vec::new();
        if let Some(list) = list.filter(|_| value.as_object().is_some())
            && let Some(kind) = list.kind.strip_suffix("List").filter(|kind| !kind.is_empty())
        {
            for (field, text) in [("apiVersion", list.api_version()), ("kind", kind.to_owned())] {
                if value.get(field).is_none() {
                    typed.insert(field, text.into());
                    added.push(field);
                }
            }
        }
        if GroupVersionKind::of(&typed).is_none() {
            evaluated.keep(at, value);
            return None;
        }
        let mut after = self.evaluate_value(&typed, at, None, evaluated)?;
        for field in added {
            after.remove(field);
        }
        Some(after)
    }

    /// Redacts an object of the cluster in the recording.
    pub(super) fn redact_recorded(&self, object: &Value, secrets: &Secrets) {
        if let Some(recording) = self.recording {
            recording.redact(object, secrets);
        }
    }

    /// The stored object of an update: that of `--old`, of the cluster, or the live object itself.
    pub(super) fn stored<'b>(&'b self, object: &'b Value, kept: Option<&'b Value>) -> Option<&'b Value> {
        self.old.find(object).or(kept).or_else(|| self.live.then_some(object))
    }

    /// What a second run would change, if that is checked.
    fn second_run(&self, stored: Option<&Value>, first: &ObjectReport) -> Vec<NotIdempotent> {
        if !self.check_idempotent || !first.is_changed() {
            return Vec::new();
        }
        let second = self.engine.mutate_alone(&first.after, stored, self.world);
        if !second.is_changed() && (first.has_error() || !second.has_error()) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (policy, rule) in second.rules() {
            let changes = match &rule.outcome {
                Outcome::Error(error) if !first.has_error() => {
                    let message = &error.message;
                    Err(if self.shows_secrets { message.clone() } else { second.shown_text(message) })
                }
                _ => Ok(rule.changes()),
            };
            if !changes.as_ref().is_ok_and(Vec::is_empty) {
                let (policy, rule) = (policy.policy.clone(), rule.rule.clone());
                found.push(NotIdempotent { policy, rule, changes });
            }
        }
        found
    }
}

/// Adds objects that only rules with targets may change.
fn add_targets(value: &Value, evaluated: &mut Evaluated) {
    let mut add = |value: &Value, pointer: Pointer| {
        let evaluation = Evaluation::new(pointer, ObjectReport::untouched(value.clone()));
        evaluated.objects.push(Evaluation { is_update: true, ..evaluation });
    };
    match GroupVersionKind::of(value).and_then(|kind| items_of_list(value, &kind)) {
        Some(items) => {
            let at = Pointer::ROOT.key("items");
            items.iter().enumerate().for_each(|(index, item)| add(item, at.index(index)));
        }
        None => add(value, Pointer::default()),
    }
}

/// The items of a list, whose kind ends so.
pub(super) fn items_of_list<'v>(value: &'v Value, kind: &GroupVersionKind) -> Option<&'v [Value]> {
    value.get("items").and_then(Value::as_array).filter(|_| kind.kind.ends_with("List"))
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
