//! One request of the proof, and how a set of policies answers it.

use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;

use crate::admission::minimal;
use crate::diagnostics::Code;
use crate::engine::{Engine, Lookup, LookupError, LookupSource, TargetLookup, World};
use crate::policy::{Policy, UserInfo};
use crate::report::{ObjectReport, Outcome, RuleError};
use crate::resources::{KindResource, Resources, builtin_resource};
use crate::secrets::Secrets;
use crate::semantics::DivergenceSet;
use crate::value::{GroupVersionKind, Text, Value};

use super::bindings::bindings;
use super::images;
use super::seen::Seen;
use super::stored::{self, ChangedTarget, Ran, TargetKind, UnchangedTarget};

/// The label with its name that every namespace of a cluster has.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// A request: an object with everything that policies see beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The object.
    pub object: Value,
    /// The stored object of an update; `None` for a creation.
    pub old: Option<Value>,
    /// Whether the object is deleted.
    pub is_deletion: bool,
    /// The number of the user.
    pub(super) user: usize,
    /// The name of the user, if it is not the ordinary one.
    pub user_name: Option<Text>,
    /// The labels of its namespace, beside that of the name.
    pub namespace_labels: Value,
    /// What lookups of the cluster return.
    pub answers: Answers,
    /// Which of several clusters it is sent to.
    pub(super) cluster: usize,
    /// Where the request comes from: `given`, or how it was generated.
    pub origin: Text,
}

/// What lookups of the cluster return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answers {
    /// Objects with the data that policies name.
    #[default]
    Present,
    /// Objects without data, and empty lists.
    Empty,
    /// No objects.
    Absent,
}

/// What all requests see.
pub(super) struct Surroundings<'a> {
    /// The time.
    pub(super) now: Timestamp,
    /// The keys of data that lookups are expected to have.
    pub(super) data_keys: Vec<Text>,
    /// Whether the policies read no more of the metadata of images than a reference tells.
    pub(super) knows_images: bool,
    /// What is looked up by given objects, or by all.
    pub(super) world: Option<&'a dyn World>,
    pub(super) is_world_of_all: bool,
    /// The users of requests.
    pub(super) users: Vec<UserInfo>,
    /// The objects that policies change beside that of the request.
    pub(super) targets: Vec<TargetKind>,
}

/// What a set of policies makes of a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The request is admitted with this object.
    Admitted(Value),
    /// The request is denied.
    Denied {
        /// The policy, with its rule if it has several.
        rule: String,
        /// The error.
        message: String,
        /// Its code.
        code: Code,
    },
    /// It cannot be said, for this reason.
    Unknown(String),
}

/// What came of an evaluation.
#[derive(Debug)]
pub(super) struct Evaluated {
    pub(super) answer: Answer,
    /// What happened, rule by rule; equal for requests that went the same way.
    pub(super) signature: String,
    /// Why rules do not apply, if none changes the object.
    pub(super) reasons: Vec<String>,
    /// The conditions that were evaluated, by rule and place, and whether they held.
    pub(super) conditions: Vec<(String, bool)>,
    /// Whether something was looked up.
    pub(super) looked_up: bool,
    /// Whether a rule was for the request.
    pub(super) is_matched: bool,
    /// Whether something failed and `failurePolicy: Ignore` admitted the request.
    pub(super) ignores_failure: bool,
    /// The divergences between documentation and Kyverno that were reached.
    pub(super) divergences: DivergenceSet,
    /// Whether something was looked up that is not generated.
    pub(super) reads_inputs: bool,
    /// The Secrets that were read.
    pub(super) secrets: Secrets,
    /// The objects that were changed beside that of the request, by what they are called.
    pub(super) targets: Vec<ChangedTarget>,
    /// The targets that were left as they are, and why.
    pub(super) unchanged: Vec<UnchangedTarget>,
    /// The work: steps of expressions and loops, and some for each rule and for the bytes of objects.
    pub(super) work: u64,
}

/// What a rule counts as work, beside the steps of its expressions and loops.
const WORK_OF_RULE: u64 = 20;

/// So many bytes of an object count as a step.
const BYTES_OF_WORK: usize = 16;

impl Evaluated {
    /// What cannot be evaluated.
    pub(super) fn unknown(why: &str) -> Self {
        Self {
            answer: Answer::Unknown(why.to_owned()),
            signature: String::new(),
            reasons: Vec::new(),
            conditions: Vec::new(),
            looked_up: false,
            is_matched: false,
            ignores_failure: false,
            divergences: DivergenceSet::NONE,
            reads_inputs: false,
            secrets: Secrets::default(),
            targets: Vec::new(),
            unchanged: Vec::new(),
            work: 0,
        }
    }
}

impl Case {
    /// The creation of an object by the ordinary user.
    pub(super) fn of(object: Value, origin: impl Into<Text>) -> Self {
        Self {
            object,
            old: None,
            is_deletion: false,
            user: 0,
            user_name: None,
            namespace_labels: Value::empty_object(),
            answers: Answers::default(),
            cluster: 0,
            origin: origin.into(),
        }
    }

    /// Whether it is given, or made from one that is.
    pub(super) fn is_given(&self) -> bool {
        self.origin.starts_with(super::GIVEN)
    }

    /// Whether it is a creation by the ordinary user.
    pub(super) fn is_plain_creation(&self) -> bool {
        self.old.is_none() && !self.is_deletion && self.user == 0 && self.answers == Answers::Present
    }

    /// What tells it from others; the origin does not.
    pub fn identity(&self) -> String {
        let old = self.old.as_ref().map(Value::to_json).unwrap_or_default();
        format!(
            "{}\n{old}\n{} {} {:?} {} {}",
            self.object.to_json(),
            self.user,
            self.namespace_labels.to_json(),
            self.answers,
            self.cluster,
            self.is_deletion
        )
    }

    /// Runs something with the world of the request; also returns whether generated objects were looked up.
    pub(super) fn in_world<T>(
        &self,
        surroundings: &Surroundings<'_>,
        run: impl FnOnce(&dyn World) -> T,
    ) -> (T, bool) {
        let (looked_up, reads_inputs) = <(AtomicBool, AtomicBool)>::default();
        let world = CaseWorld { case: self, surroundings, stored: &[], looked_up, reads_inputs };
        let result = run(&world);
        (result, world.looked_up.into_inner() && !world.reads_inputs.into_inner())
    }

    /// The work of making or reading it.
    pub(super) fn work(&self) -> u64 {
        let bytes = self.object.weight() + self.old.as_ref().map_or(0, Value::weight);
        (bytes / BYTES_OF_WORK) as u64
    }

    /// Evaluates the policies of an engine.
    pub(super) fn evaluate(&self, engine: &Engine, surroundings: &Surroundings<'_>) -> Evaluated {
        let stored = match self.answers {
            Answers::Absent => Vec::new(),
            _ => stored::objects(&surroundings.targets, &self.object, self.cluster),
        };
        let (looked_up, reads_inputs) = <(AtomicBool, AtomicBool)>::default();
        let world = CaseWorld { case: self, surroundings, stored: &stored, looked_up, reads_inputs };
        let report = engine.mutate_alone(&self.object, self.old.as_ref(), &world);
        let mut answer = answer(engine, &report);
        let mut seen = Seen::default();
        let mut ran = Ran::default();
        if let Answer::Admitted(after) = &answer
            && engine.has_targets()
        {
            let stored = stored::with_object(&stored, after);
            let (looked_up, reads_inputs) = <(AtomicBool, AtomicBool)>::default();
            let later = CaseWorld { case: self, surroundings, stored: &stored, looked_up, reads_inputs };
            ran = stored::run(engine, (&self.object, after), self.old.as_ref(), &stored, &later);
            world.looked_up.fetch_or(later.looked_up.into_inner(), Ordering::Relaxed);
            world.reads_inputs.fetch_or(later.reads_inputs.into_inner(), Ordering::Relaxed);
        }
        if let Some(why) = ran.unknown.take() {
            answer = Answer::Unknown(why);
        }
        ran.changed.iter().for_each(|target| seen.target(target));
        for policy in &ran.reports {
            policy.rules.iter().for_each(|rule| seen.rule(&policy.policy, rule));
        }
        for (policy, rule) in report.rules() {
            seen.rule(&policy.policy, rule);
        }
        let rules =
            report.rules().count() + ran.reports.iter().map(|policy| policy.rules.len()).sum::<usize>();
        let work = report.steps + ran.steps + rules as u64 * WORK_OF_RULE + self.work();
        Evaluated {
            answer,
            work,
            signature: seen.signature,
            reasons: seen.reasons,
            conditions: seen.conditions.into_iter().collect(),
            looked_up: world.looked_up.load(Ordering::Relaxed),
            is_matched: seen.is_matched,
            ignores_failure: seen.ignores_failure,
            divergences: report.divergences(),
            reads_inputs: world.reads_inputs.load(Ordering::Relaxed),
            secrets: report.secrets,
            targets: ran.changed,
            unchanged: ran.unchanged,
        }
    }
}

fn answer(engine: &Engine, report: &ObjectReport) -> Answer {
    // In a cluster, classic policies have no limits.
    let is_classic = |name: &Text| {
        let mut policies = engine.policies().policies().iter();
        policies.any(|policy| matches!(policy, Policy::Classic(_)) && policy.full_name() == *name)
    };
    let is_unknown = |policy: &Text, error: &RuleError| match error.code {
        Code::NoData => true,
        Code::EvaluationLimit => error.is_raisable_limit() || is_classic(policy),
        _ => false,
    };
    for (policy, rule) in report.rules() {
        match &rule.outcome {
            Outcome::Error(error) if is_unknown(&policy.policy, error) => {
                return Answer::Unknown(format!("{}: {}", rule.title(&policy.policy), error.message));
            }
            Outcome::Error(error) => {
                return Answer::Denied {
                    rule: rule.title(&policy.policy),
                    message: error.message.clone(),
                    code: error.code,
                };
            }
            _ => {}
        }
    }
    Answer::Admitted(report.after.clone())
}

fn text_at<'o>(object: &'o Value, field: &str) -> Option<&'o str> {
    object.path(&["metadata", field]).and_then(Value::as_str)
}

/// Whether an object has the labels of a query: `labelSelector=a%3Db%2Cc%3Dd`.
fn has_labels(object: &Value, query: &str) -> bool {
    let selectors = query.split('&').filter_map(|part| part.strip_prefix("labelSelector="));
    let selectors =
        selectors.map(|selector| selector.replace("%3D", "=").replace("%2C", ",").replace("%2F", "/"));
    selectors.into_iter().all(|selector| {
        selector.split(',').all(|term| match term.split_once('=') {
            Some((key, value)) => {
                object.path(&["metadata", "labels", key]).and_then(Value::as_str)
                    == Some(value.trim_start_matches('='))
            }
            None => object.path(&["metadata", "labels", term]).is_some(),
        })
    })
}

fn list(kind: &GroupVersionKind, items: Vec<Value>) -> Value {
    Value::from_iter([
        ("apiVersion", Value::string(kind.api_version())),
        ("kind", Value::string(format!("{}List", kind.kind))),
        ("metadata", Value::empty_object()),
        ("items", Value::array(items)),
    ])
}

/// A list without its items, or an object without its data.
fn emptied(mut value: Value) -> Value {
    if value.get("items").is_some() {
        value.insert("items", Value::array(Vec::new()));
        return value;
    }
    let Some(members) = value.as_object() else { return value };
    let head = members.iter().filter(|(key, _)| ["apiVersion", "kind", "metadata"].contains(&&***key));
    head.map(|(key, member)| (key.clone(), member.clone())).collect()
}

/// The cluster of a request.
struct CaseWorld<'a> {
    case: &'a Case,
    surroundings: &'a Surroundings<'a>,
    /// The objects that policies change beside that of the request.
    stored: &'a [Value],
    looked_up: AtomicBool,
    reads_inputs: AtomicBool,
}

impl World for CaseWorld<'_> {
    fn now(&self) -> Timestamp {
        self.surroundings.now
    }

    /// The same for both sides: the key, which names the policy, does not count.
    fn random(&self, _key: &str, call: u64) -> u64 {
        call.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn namespace_labels(&self, namespace: &str) -> Option<Value> {
        let known = self.world().and_then(|world| world.namespace_labels(namespace));
        let mut labels = known.unwrap_or_else(Value::empty_object);
        for (key, value) in self.case.namespace_labels.as_object().into_iter().flatten() {
            labels.insert(key.clone(), value.clone());
        }
        labels.insert(NAME_LABEL, Value::from(namespace));
        Some(labels)
    }

    fn targets(&self, _lookup: &TargetLookup<'_>) -> Result<Vec<Value>, LookupError> {
        // All of them are known.
        Err(LookupError::NotFound)
    }

    fn resource(&self, kind: &GroupVersionKind) -> KindResource<'_> {
        self.surroundings.world.map_or_else(|| builtin_resource(kind), |world| world.resource(kind))
    }

    fn lookup(&self, lookup: &Lookup<'_>) -> Result<Value, LookupError> {
        let bindings = self.bindings(lookup);
        // The roles of an ordinary user are those that inputs give it.
        let is_given = self.case.user == 0 || bindings.is_none();
        let given = self.world().filter(|_| is_given).map(|world| world.lookup(lookup));
        if let Some(found) = given.filter(|found| *found != Err(LookupError::NotGiven)) {
            self.looked_up.store(true, Ordering::Relaxed);
            self.reads_inputs.store(true, Ordering::Relaxed);
            return match self.case.answers {
                Answers::Present => found,
                // The metadata of an image is never empty.
                Answers::Empty if matches!(lookup.source, LookupSource::Image(_)) => found,
                Answers::Empty => found.map(emptied),
                Answers::Absent => Err(LookupError::NotFound),
            };
        }
        if let Some(bindings) = bindings {
            self.looked_up.store(true, Ordering::Relaxed);
            return Ok(bindings);
        }
        match lookup.source {
            LookupSource::ConfigMap { namespace, name } => {
                let kind = GroupVersionKind::new("v1", "ConfigMap");
                self.object(&kind, name, Some(namespace))
            }
            LookupSource::Api(path) => self.api(path),
            LookupSource::Image(reference) if self.surroundings.knows_images => {
                self.looked_up.store(true, Ordering::Relaxed);
                let found = images::metadata(reference).filter(|_| self.case.answers != Answers::Absent);
                found.ok_or(LookupError::NotFound)
            }
            _ => Err(LookupError::NotGiven),
        }
    }
}

impl CaseWorld<'_> {
    /// The inputs, if the request sees them.
    fn world(&self) -> Option<&dyn World> {
        let Surroundings { world, is_world_of_all, .. } = self.surroundings;
        world.filter(|_| *is_world_of_all || self.case.is_given())
    }

    /// An object of the cluster.
    fn object(
        &self,
        kind: &GroupVersionKind,
        name: &str,
        namespace: Option<&str>,
    ) -> Result<Value, LookupError> {
        self.looked_up.store(true, Ordering::Relaxed);
        if self.case.answers == Answers::Absent {
            return Err(LookupError::NotFound);
        }
        let mut object = minimal(kind, name).ok_or(LookupError::NotGiven)?;
        if let (Some(namespace), Some(metadata)) = (namespace, object.get("metadata")) {
            let mut metadata = metadata.clone();
            metadata.insert("namespace", Value::from(namespace));
            object.insert("metadata", metadata);
        }
        if self.case.answers == Answers::Present && ["ConfigMap", "Secret"].contains(&&*kind.kind) {
            // Other objects and keys have other values, which can be decoded.
            let value = |key: &Text| {
                let place = format!("{}/{name}/{key}", namespace.unwrap_or_default());
                Value::from(BASE64.encode(place))
            };
            let data = self.surroundings.data_keys.iter().map(|key| (key.clone(), value(key)));
            object.insert("data", data.collect());
        }
        Ok(object)
    }

    /// The list of role bindings, which give the user of the request its roles; `None` for other lookups.
    fn bindings(&self, lookup: &Lookup<'_>) -> Option<Value> {
        let LookupSource::Api(path) = lookup.source else { return None };
        let plural = path.strip_prefix("/apis/rbac.authorization.k8s.io/v1/")?;
        let users = &self.surroundings.users;
        let [of_roles, of_cluster_roles] = bindings(users.get(self.case.user)?, users);
        let (kind, items) = match plural {
            "rolebindings" => ("RoleBinding", of_roles),
            "clusterrolebindings" => ("ClusterRoleBinding", of_cluster_roles),
            _ => return None,
        };
        Some(list(&GroupVersionKind::new("rbac.authorization.k8s.io/v1", kind), items))
    }

    /// The response to a GET at the API server.
    fn api(&self, path: &str) -> Result<Value, LookupError> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group, version, rest) = match &*parts {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return Err(LookupError::NotGiven),
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            rest => (None, rest),
        };
        let (plural, name) = match rest {
            [plural] => (*plural, None),
            [plural, name] => (*plural, Some(*name)),
            _ => return Err(LookupError::NotGiven),
        };
        if (group, plural) == ("", "namespaces")
            && let Some(name) = name
        {
            return Ok(self.namespace(name));
        }
        let resource = Resources::built_in().get(group, version, plural).ok_or(LookupError::NotGiven)?;
        let is_stored = |stored: &&Value| {
            GroupVersionKind::of(stored).as_ref() == Some(&resource.kind)
                && namespace.is_none_or(|wanted| text_at(stored, "namespace") == Some(wanted))
                && has_labels(stored, query)
        };
        if self.surroundings.targets.iter().any(|kind| kind.facts.kind == resource.kind) {
            self.looked_up.store(true, Ordering::Relaxed);
            let mut found = self.stored.iter().filter(is_stored);
            return match name {
                Some(name) => {
                    let named = found.find(|stored| text_at(stored, "name") == Some(name));
                    named.cloned().ok_or(LookupError::NotFound)
                }
                None => Ok(list(&resource.kind, found.cloned().collect())),
            };
        }
        match name {
            Some(name) => self.object(&resource.kind, name, namespace),
            None => {
                let items = match self.object(&resource.kind, "first", namespace) {
                    Ok(object) if self.case.answers == Answers::Present => vec![object],
                    Ok(_) | Err(LookupError::NotFound) => Vec::new(),
                    Err(error) => return Err(error),
                };
                Ok(list(&resource.kind, items))
            }
        }
    }

    /// The namespace of the object always exists.
    fn namespace(&self, name: &str) -> Value {
        let mut labels = self.case.namespace_labels.clone();
        labels.insert(NAME_LABEL, Value::from(name));
        Value::from_iter([
            ("apiVersion", Value::from("v1")),
            ("kind", Value::from("Namespace")),
            ("metadata", Value::from_iter([("name", Value::from(name)), ("labels", labels)])),
        ])
    }
}
