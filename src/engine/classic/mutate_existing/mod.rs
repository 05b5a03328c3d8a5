//! Rules with targets: one object triggers them, others are changed.

mod refusals;

use crate::patch::MergeContext;
use crate::policy::{ClassicPolicy, Edit, MutateExisting, Operation, Rule, Target, TargetSelector};
use crate::report::{Outcome, PolicyReport, RuleError, RuleReport, SkipReason};
use crate::semantics::{Divergence, DivergenceSet, DivergenceTracker, Semantics};
use crate::value::{ChangeKind, Segment, Text, Value, changes};
use crate::variables::Inline;
use crate::yaml;

use crate::engine::evaluation::Evaluation;
use crate::engine::targets::{Found, Targets};
use crate::engine::{LookupError, TargetAccess};

use super::context::{Context, WorldClock, WorldRandom};
use super::hints::hint;
use super::rule::{self, Run};
use super::shared::{not_run, not_selected, unreached};
use super::{conditions, foreach};
use crate::engine::classic::patch::patch;

use refusals::{failing, no_object, no_subresource, not_found, refused, with_request};

/// The annotation that tells what was changed last.
pub const LAST_APPLIED: &str = "policies.kyverno.io/last-applied-patches";

/// Runs the rules with targets of a policy that an object triggers; `None` where it has none.
pub(in crate::engine) fn run(
    evaluation: &Evaluation<'_>,
    policy: &ClassicPolicy,
    rules: &[usize],
    targets: &mut Targets,
) -> Option<PolicyReport> {
    let has_targets = |index: &usize| rule_at(policy, *index).is_some_and(|rule| rule.existing().is_some());
    if !rules.iter().any(has_targets) {
        return None;
    }
    Requests { evaluation, policy, rules }.run(targets)
}

fn rule_at(policy: &ClassicPolicy, index: usize) -> Option<&Rule> {
    policy.rules.get(index)
}

/// One policy for one trigger.
struct Requests<'a> {
    evaluation: &'a Evaluation<'a>,
    policy: &'a ClassicPolicy,
    /// The rules that may take objects of the trigger's kind.
    rules: &'a [usize],
}

/// What a run of requests came to.
#[derive(Default)]
struct UpdateRequestRun {
    reports: Vec<RuleReport>,
    /// The targets that were patched.
    patched: Vec<Found>,
    failed: bool,
}

impl Requests<'_> {
    fn run(&self, targets: &mut Targets) -> Option<PolicyReport> {
        let settings = &self.evaluation.engine.settings;
        let tracker = DivergenceTracker::new(settings.semantics);
        let name = self.policy.meta.full_name();
        let mut report = PolicyReport { policy: name, rules: Vec::new(), divergences: DivergenceSet::NONE };
        let requested = self.within(&tracker, |context| self.requested(context, &mut report.rules))?;
        if !requested.is_empty() {
            for rule in requested.iter().filter_map(|index| rule_at(self.policy, *index)) {
                report.divergences.extend(rule.divergences);
            }
            let course = self.within(&tracker, |context| self.course(&requested, context, targets, true))?;
            if course.failed {
                tracker.reach(Divergence::VanishedRequest);
            }
            self.note_repeats(&requested, &course, &tracker, targets);
            report.rules.extend(course.reports);
        }
        report.divergences.extend(tracker.reached());
        Some(report)
    }

    /// Runs something in the context that the trigger's request gives.
    fn within<T>(&self, tracker: &DivergenceTracker, run: impl FnOnce(&mut Context<'_>) -> T) -> Option<T> {
        let Evaluation { engine, world, taint, identity, placed, .. } = *self.evaluation;
        let settings = &engine.settings;
        let (clock, random) = (WorldClock(world), WorldRandom::new(world, identity));
        let mut context = Context::new(
            (self.evaluation.base(self.operation()), placed.object.clone()),
            (&self.policy.meta.name, self.policy.meta.namespace.as_ref()),
            settings,
            (&clock, &random),
            (tracker, taint),
        );
        context.assign(settings.values.of(&self.policy.meta.name, self.evaluation.name()));
        Some(run(&mut context))
    }

    /// The operation of the request; `None` where the policy changes and nobody sends one.
    fn operation(&self) -> Option<Operation> {
        let is_request = !self.evaluation.engine.settings.on_policy_update;
        is_request.then(|| self.evaluation.operation(&self.policy.meta.name))
    }

    /// The rules with targets that the trigger asks for. Of the others that have something to say `reports` tells.
    fn requested(&self, context: &mut Context<'_>, reports: &mut Vec<RuleReport>) -> Vec<usize> {
        let settings = &self.evaluation.engine.settings;
        let operation = self.operation();
        let object = context.object().clone();
        let candidate = self.evaluation.candidate(&object, operation);
        let mut requested = Vec::new();
        let mut passed_over = false;
        let rules = self.rules.iter().filter_map(|index| Some((*index, rule_at(self.policy, *index)?)));
        for (index, rule) in rules {
            let Some(existing) = rule.existing() else { continue };
            if !requested.is_empty() && self.policy.applies_one() {
                reports.extend(self.evaluation.if_traced(|| not_run(rule, SkipReason::ApplyOne)));
                continue;
            }
            self.evaluation.note_what_is_missing(rule);
            self.evaluation.note_matched(&self.policy.meta.full_name(), rule, &object);
            if let Some(error) = self.evaluation.not_replayable() {
                let outcome = Outcome::Error(error);
                reports.push(RuleReport { rule: rule.name.clone(), outcome, trigger: None, trace: None });
                continue;
            }
            if !self.policy.meta.admits(&candidate) || !rule.selects(&candidate) {
                reports.extend(self.evaluation.if_traced(|| not_selected(rule, &candidate)));
                continue;
            }
            if operation.is_some()
                && !self.evaluation.reaches(self.policy, rule, &candidate)
                && !context.tracker().documented(Divergence::EmptyExclude)
            {
                reports.push(not_run(rule, unreached()));
                continue;
            }
            let waits =
                operation.is_none() && !existing.on_policy_update.unwrap_or(self.policy.on_policy_update);
            if waits || operation == Some(Operation::Delete) && !rule.names_operation(Operation::Delete) {
                passed_over = true;
                let reason = if waits { SkipReason::NotOnPolicyUpdate } else { SkipReason::NotOnDelete };
                reports.push(not_run(rule, reason));
                continue;
            }
            let saved = context.enter(rule, &settings.values, settings.trace);
            let outcome = self.kept(rule, &object, context);
            let trace = context.leave(saved);
            let outcome = self.evaluation.not_replayable().map(Outcome::Error).or(outcome);
            match outcome {
                None => requested.push(index),
                Some(outcome) => {
                    reports.push(RuleReport { rule: rule.name.clone(), outcome, trigger: None, trace });
                }
            }
        }
        if !requested.is_empty()
            && let Some(filter) = self.evaluation.excluding_filter(&object, operation)
            && !context.tracker().documented(Divergence::HiddenObject)
        {
            for rule in requested.drain(..).filter_map(|index| rule_at(self.policy, index)) {
                reports.push(not_run(rule, SkipReason::Filtered(filter.clone())));
            }
        }
        if passed_over && !requested.is_empty() {
            context.tracker().reach(Divergence::WholePolicyRequest);
        }
        requested
    }

    /// Runs requests. Kyverno runs the whole policy for each; what that does besides is reproduced once.
    fn course(
        &self,
        requested: &[usize],
        context: &mut Context<'_>,
        targets: &mut Targets,
        keep: bool,
    ) -> UpdateRequestRun {
        context.hold_objects();
        let settings = &self.evaluation.engine.settings;
        let is_kyverno = settings.semantics == Semantics::Kyverno;
        let mut course = UpdateRequestRun::default();
        let object = context.object().clone();
        let mut memory = object.clone();
        for (index, rule) in
            self.rules.iter().filter_map(|index| Some((*index, rule_at(self.policy, *index)?)))
        {
            let selects = || rule.selects(&self.evaluation.candidate(&memory, self.operation()));
            let Some(existing) = rule.existing() else {
                if !(keep || is_kyverno) || rule.not_evaluated().is_some() || !selects() {
                    continue;
                }
                match self.standard(rule, &memory, context) {
                    Run { outcome: Outcome::Patched { after, .. }, .. } if is_kyverno => {
                        memory = after;
                        context.set_object(&memory);
                        let error = RuleError::new("empty resource to patch");
                        let words = error.message.clone();
                        course.report(rule, failing(error, &words));
                        if self.policy.applies_one() {
                            break;
                        }
                    }
                    Run { outcome: Outcome::Error(error), emptied } if is_kyverno => {
                        course.fail(rule, error);
                        if emptied {
                            break;
                        }
                    }
                    _ => {}
                }
                continue;
            };
            if if is_kyverno { !selects() } else { !requested.contains(&index) } {
                continue;
            }
            let saved = context.enter(rule, &settings.values, settings.trace && keep);
            let patched = course.patched.len();
            let failed = std::mem::take(&mut course.failed);
            if self.kept(rule, &object, context).is_none() {
                Work { requests: self, rule, existing, keep }.run(context, targets, &mut course);
            }
            let applied = course.patched.len() > patched || course.failed;
            course.failed |= failed;
            if let (Some(report), Some(trace)) = (course.reports.last_mut(), context.leave(saved)) {
                report.trace = Some(trace);
            }
            if applied && self.policy.applies_one() {
                break;
            }
        }
        course
    }

    /// What keeps a rule that selects the trigger from doing anything: preconditions, then exceptions.
    fn kept(&self, rule: &Rule, object: &Value, context: &mut Context<'_>) -> Option<Outcome> {
        let name = self.policy.meta.full_name();
        self.evaluation.note_what_exceptions_miss(&name, rule);
        let exemption = self.evaluation.exemption(&name, object, self.operation());
        rule::admit(rule, context, &exemption).err().map(|run| run.outcome)
    }

    /// Runs a rule without targets on the trigger once more, as Kyverno does for each request.
    fn standard(&self, rule: &Rule, memory: &Value, context: &mut Context<'_>) -> Run {
        let settings = &self.evaluation.engine.settings;
        let name = self.policy.meta.full_name();
        let exemption = self.evaluation.exemption(&name, memory, self.operation());
        let run = |context: &mut Context<'_>| {
            let saved = context.enter(rule, &settings.values, false);
            let run = rule::run(rule, memory, context, &self.evaluation.merge_context, &exemption);
            context.leave(saved);
            run
        };
        let run = match settings.semantics {
            Semantics::Kyverno => run(context),
            Semantics::Documented => {
                // Nothing comes of it here; only whether it would matter there is of interest.
                let scratch = DivergenceTracker::new(settings.semantics);
                let ran = self.within(&scratch, run);
                ran.unwrap_or_else(|| Run { outcome: Outcome::NoChange, emptied: false })
            }
        };
        let run = Run { outcome: self.evaluation.replayable(run.outcome), ..run };
        if matches!(run.outcome, Outcome::Patched { .. } | Outcome::Error(_)) {
            context.tracker().reach(Divergence::WholePolicyRequest);
        }
        run
    }

    /// Marks what Kyverno does several times, where that gives another result: requests beside one another run
    /// each other's rules, and a request that fails is tried five times.
    fn note_repeats(
        &self,
        requested: &[usize],
        course: &UpdateRequestRun,
        tracker: &DivergenceTracker,
        targets: &mut Targets,
    ) {
        if course.patched.is_empty() || requested.len() < 2 && !course.failed {
            return;
        }
        let scratch = DivergenceTracker::new(tracker.semantics());
        let again = self.within(&scratch, |context| self.course(requested, context, targets, false));
        let changes =
            again.is_some_and(|again| again.patched.iter().any(|found| course.patched.contains(found)));
        if changes && requested.len() > 1 {
            tracker.reach(Divergence::WholePolicyRequest);
        }
        if changes && course.failed {
            tracker.reach(Divergence::RetriedRequest);
        }
    }
}

impl UpdateRequestRun {
    /// Kyverno's message has an empty text before the reason.
    fn fail_to_find(&mut self, rule: &Rule, error: RuleError) {
        let told = RuleError { message: format!(": {}", error.message), ..error.clone() };
        let RuleError { hint, .. } = with_request(told, rule);
        self.report(rule, RuleError { hint, ..error });
    }

    fn fail(&mut self, rule: &Rule, error: RuleError) {
        self.report(rule, with_request(error, rule));
    }

    fn report(&mut self, rule: &Rule, error: RuleError) {
        self.failed = true;
        self.reports.push(RuleReport {
            rule: rule.name.clone(),
            outcome: Outcome::Error(error),
            trigger: None,
            trace: None,
        });
    }
}

/// One rule with the targets that one trigger gives it.
struct Work<'a> {
    requests: &'a Requests<'a>,
    rule: &'a Rule,
    existing: &'a MutateExisting,
    /// Whether what is done to targets is kept and told.
    keep: bool,
}

impl Work<'_> {
    fn run(&self, context: &mut Context<'_>, targets: &mut Targets, course: &mut UpdateRequestRun) {
        let settings = &self.requests.evaluation.engine.settings;
        let mut found = Vec::new();
        let mut missing = Vec::new();
        let mut selectors = Vec::new();
        for (index, target) in self.existing.targets.iter().enumerate() {
            let selected = self.find(index, target, context, targets);
            match self.requests.evaluation.not_replayable().map_or(selected, Err) {
                Ok(Selected { selector, entries, missing: text }) => {
                    missing.extend(text);
                    found.extend(entries.into_iter().map(|entry| (target, selectors.len(), entry)));
                    selectors.push(selector);
                }
                Err(error) => course.fail_to_find(self.rule, error),
            }
        }
        if self.keep && !targets.count(found.len(), settings.limits.targets) {
            let maximum = settings.limits.targets;
            let message = format!("too many targets in this run (limit targets={maximum})");
            let error = RuleError { message, hint: context.settings().input_names.more_of("targets") };
            return course.fail(self.rule, error);
        }
        let trace = context.take_trace();
        let identities = found.iter().filter_map(|(_, _, entry)| targets.identity(*entry)).collect();
        for (target, selector, entry) in &found {
            if let Some(selector) = selectors.get(*selector) {
                self.target((target, selector), *entry, context, targets, course);
            }
        }
        course.reports.push(RuleReport {
            rule: self.rule.name.clone(),
            outcome: Outcome::Triggered { targets: identities, missing },
            trigger: None,
            trace,
        });
    }

    /// The objects that a target stands for.
    fn find(
        &self,
        index: usize,
        target: &Target,
        context: &mut Context<'_>,
        targets: &mut Targets,
    ) -> Result<Selected, RuleError> {
        let Evaluation { engine, world, .. } = *self.requests.evaluation;
        let settings = context.substitution(Inline::Path);
        let fields = target.selector.substitute(context, settings).map_err(|error| RuleError {
            message: format!("failed to substitute variables in target[{index}]: {error}"),
            hint: hint(&error, context),
        })?;
        let selector = TargetSelector::read(&fields.value, self.requests.policy.meta.namespace.as_ref())
            .map_err(|error| RuleError::new(format!("target[{index}]: {error}")))?;
        let has_version = fields.value.get("apiVersion").is_some_and(|version| version.as_str() != Some(""));
        if !has_version && !context.tracker().documented(Divergence::TargetWithoutVersion) {
            return Err(RuleError::new("not found"));
        }
        if let Some(refusal) = world.refusal(&TargetAccess::Find(&selector)) {
            return Err(refused(refusal));
        }
        match targets.find(&selector, engine, (world, self.requests.evaluation.taint)) {
            Ok(entries) if entries.is_empty() => {
                if targets.has_parent(&selector) {
                    return Err(no_subresource(&selector));
                }
                Ok(Selected { missing: Some(selector.to_string().into()), entries, selector })
            }
            Ok(entries) => {
                let is_pattern = selector.name.is_empty() || selector.name.contains(['*', '?']);
                if !selector.kind.subresource.is_empty()
                    && is_pattern
                    && !context.tracker().documented(Divergence::SubresourceByPattern)
                {
                    return Err(not_found(&selector));
                }
                Ok(Selected { selector, entries, missing: None })
            }
            Err(LookupError::NotFound | LookupError::NotGiven) if targets.has_parent(&selector) => {
                Err(no_subresource(&selector))
            }
            Err(LookupError::NotFound | LookupError::NotGiven) if selector.kind.kind.is_empty() => {
                Err(not_found(&selector))
            }
            Err(LookupError::NotFound | LookupError::NotGiven) => {
                Err(not_found(&selector)
                    .with_hint("`--targets FILE` gives objects that are no input themselves"))
            }
            Err(error) => Err(RuleError::new(error.to_string())),
        }
    }

    /// Runs the rule on one target.
    fn target(
        &self,
        (target, selector): (&Target, &TargetSelector),
        entry: Found,
        context: &mut Context<'_>,
        targets: &mut Targets,
        course: &mut UpdateRequestRun,
    ) {
        let Some(object) = targets.object(entry).cloned() else { return };
        let Evaluation { engine, world, .. } = *self.requests.evaluation;
        let settings = &engine.settings;
        let saved = context.checkpoint();
        context.enter_target(&object, settings.trace && self.keep);
        context.register(&target.context);
        let outcome = self
            .patch(target, &object, context, &self.requests.evaluation.merge_context)
            .unwrap_or_else(|error| Outcome::Error(with_request(error, self.rule)));
        let outcome = self.requests.evaluation.replayable(outcome);
        let mut trace = context.leave_target(&saved);
        if let Some(trace) = &mut trace {
            trace.target = self.existing.targets.iter().position(|other| std::ptr::eq(other, target));
        }
        let outcome = match outcome {
            // What an update fails with, the request repeats as it is.
            Outcome::Patched { after, .. } if !targets.is_same(entry, &after) => {
                let message = "the patch changes what the object is called, which an update cannot";
                Outcome::Error(failing(RuleError::new(message), &no_object(&after)))
            }
            Outcome::Patched { before, after } => {
                if let Some(refusal) = world.refusal(&TargetAccess::Update(selector, &before)) {
                    let error = refused(refusal);
                    let words = error.message.clone();
                    Outcome::Error(failing(error, &words))
                } else {
                    course.patched.push(entry);
                    let after = if context.tracker().documented(Divergence::TargetAnnotation) {
                        self.annotated(&before, after)
                    } else {
                        after
                    };
                    Outcome::Patched { before, after }
                }
            }
            other => other,
        };
        course.failed |= matches!(outcome, Outcome::Error(_));
        if !self.keep {
            return;
        }
        if let Outcome::Patched { after, .. } = &outcome {
            context.taint().see(after);
            targets.set(entry, after.clone());
        }
        let trigger = self.requests.evaluation.identity.cloned();
        targets.tell(
            entry,
            PolicyReport {
                policy: self.requests.policy.meta.full_name(),
                rules: vec![RuleReport { rule: self.rule.name.clone(), outcome, trigger, trace }],
                divergences: DivergenceSet::NONE,
            },
        );
    }

    fn patch(
        &self,
        target: &Target,
        object: &Value,
        context: &mut Context<'_>,
        survey: &MergeContext<'_>,
    ) -> Result<Outcome, RuleError> {
        if let Some(conditions) = &target.preconditions
            && let Some(message) = conditions::preconditions(conditions, context)?
        {
            return Ok(Outcome::Skipped(SkipReason::Preconditions { message }));
        }
        let one = match &self.existing.body {
            Edit::Patch(one) => one,
            Edit::Foreach(entries) => return foreach::run(entries, object, context, survey),
        };
        let outcome = patch(one, object, context, survey)?;
        rule::whole(self.rule, self.existing, context)?;
        Ok(outcome)
    }

    /// A changed target with the annotation that tells of the change.
    fn annotated(&self, before: &Value, mut after: Value) -> Value {
        let changed = changes(before, &after);
        let Some(last) = changed.last() else { return after };
        let verb = match last.kind {
            ChangeKind::Add(_) => "added",
            ChangeKind::Remove(_) => "removed",
            ChangeKind::Replace { .. } => "replaced",
        };
        let key = format!("{}.{}.kyverno.io", self.rule.name, self.requests.policy.meta.full_name());
        let line =
            Value::from_iter([(key, Value::from(format!("{verb} {}", last.pointer.to_json_pointer())))]);
        let mut text = String::new();
        yaml::print(&line, &mut text);
        let taint = self.requests.evaluation.taint;
        let is_secret = |segment: &Segment| matches!(segment, Segment::Key(key) if taint.hides_key(key));
        if last.pointer.segments().iter().any(is_secret) {
            taint.note_text(&text);
        }
        if let Some(metadata) = after.as_object_mut().and_then(|members| members.get_mut("metadata")) {
            let mut annotations = metadata
                .get("annotations")
                .filter(|annotations| annotations.as_object().is_some())
                .cloned()
                .unwrap_or_else(Value::empty_object);
            annotations.insert(LAST_APPLIED, Value::from(text));
            metadata.insert("annotations", annotations);
        }
        after
    }
}

/// What a target stands for.
struct Selected {
    selector: TargetSelector,
    entries: Vec<Found>,
    /// The target in words, if it stands for nothing.
    missing: Option<Text>,
}
