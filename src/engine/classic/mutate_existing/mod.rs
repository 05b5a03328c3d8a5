//! Mutate-existing rules: one object triggers them, others are changed.

mod errors;

use crate::diagnostics::Code;
use crate::engine::evaluation::Evaluation;
use crate::engine::targets::{TargetId, Targets};
use crate::engine::{LookupError, TargetAccess};
use crate::policy::{ClassicPolicy, Edit, MutateExisting, Operation, Rule, Target, TargetSelector};
use crate::report::{Outcome, PolicyReport, RuleError, RuleReport, SkipReason};
use crate::secrets::is_secret;
use crate::semantics::{Divergence, DivergenceSet, DivergenceTracker, Semantics};
use crate::value::{ChangeKind, Pointer, Segment, Value, changes};
use crate::variables::Inline;
use crate::yaml;

use super::context::Context;
use super::hints::failed_substitution;
use super::rule::{self, RuleRun};
use super::shared::{not_reached, not_selected, skipped};
use super::{conditions, foreach};
use crate::engine::classic::patch::patch;

use errors::{no_object, no_subresource, not_found, refused, with_failed_request, with_rule_error};

/// The bytes of a Secret whose values become known in one step.
const BYTES_OF_STEP: u64 = 4;

/// The annotation with the last change of a target.
pub const LAST_APPLIED: &str = "policies.kyverno.io/last-applied-patches";

/// Runs the mutate-existing rules of a policy that an object triggers; `None` if there are none.
pub(in crate::engine) fn run(
    evaluation: &Evaluation<'_>,
    policy: &ClassicPolicy,
    parts: &[usize],
    targets: &mut Targets,
) -> Option<PolicyReport> {
    let trigger = Trigger { evaluation, policy, parts };
    trigger.rules().any(|(_, rule)| rule.existing().is_some()).then(|| trigger.run(targets))
}

/// One policy and the object that triggers it.
struct Trigger<'a> {
    evaluation: &'a Evaluation<'a>,
    policy: &'a ClassicPolicy,
    /// The rules that may match objects of the trigger's kind.
    parts: &'a [usize],
}

/// The result of update requests.
#[derive(Default)]
struct UpdateRequestRun {
    reports: Vec<RuleReport>,
    /// The targets that were patched.
    patched: Vec<TargetId>,
    has_failed: bool,
}

impl Trigger<'_> {
    /// The rules with their numbers in the policy.
    fn rules(&self) -> impl Iterator<Item = (usize, &Rule)> {
        self.parts.iter().filter_map(|part| Some((*part, self.policy.rules.get(*part)?)))
    }

    fn run(&self, targets: &mut Targets) -> PolicyReport {
        let tracker = DivergenceTracker::new(self.evaluation.engine.settings.semantics);
        let policy = self.policy.meta.full_name();
        let mut report = PolicyReport { policy, rules: Vec::new(), divergences: DivergenceSet::NONE };
        let triggered = self.with_context(&tracker, |context| {
            if let Some(reports) = self.not_called(context.object(), &tracker) {
                report.rules = reports;
                return Vec::new();
            }
            self.triggered(context, &mut report.rules)
        });
        if !triggered.is_empty() {
            for rule in triggered.iter().filter_map(|index| self.policy.rules.get(*index)) {
                report.divergences.extend(rule.divergences);
            }
            let run = self
                .with_context(&tracker, |context| self.update_requests(&triggered, context, targets, true));
            if run.has_failed {
                tracker.reach(Divergence::VanishedRequest);
            }
            self.note_repetition(&triggered, &run, &tracker, targets);
            report.rules.extend(run.reports);
        }
        report.divergences.extend(tracker.reached());
        report
    }

    /// The reports on the rules with targets if the conditions of the policy's webhooks stop it.
    fn not_called(&self, object: &Value, tracker: &DivergenceTracker) -> Option<Vec<RuleReport>> {
        let Self { evaluation, policy, .. } = *self;
        let candidate = evaluation.candidate(object, self.operation());
        let rules = || self.rules().map(|(_, rule)| rule).filter(|rule| rule.existing().is_some());
        let called = evaluation.called_for(policy, rules(), &candidate, tracker);
        evaluation.not_called(&called, policy, rules(), &candidate)
    }

    /// Runs something with the context of the trigger's request.
    fn with_context<T>(&self, tracker: &DivergenceTracker, run: impl FnOnce(&mut Context<'_>) -> T) -> T {
        let object = self.evaluation.placed.object.clone();
        self.evaluation.with_context(&self.policy.meta, self.operation(), object, tracker, run)
    }

    /// The operation of the request; `None` if there is none, because the policy was created or updated.
    fn operation(&self) -> Option<Operation> {
        let is_request = !self.evaluation.engine.settings.on_policy_update;
        is_request.then(|| self.evaluation.operation(&self.policy.meta.name))
    }

    /// The numbers of the rules that the object triggers. Adds reports of those that match and are skipped.
    fn triggered(&self, context: &mut Context<'_>, reports: &mut Vec<RuleReport>) -> Vec<usize> {
        let evaluation = self.evaluation;
        let settings = &evaluation.engine.settings;
        let operation = self.operation();
        let object = context.object().clone();
        let candidate = evaluation.candidate(&object, operation);
        let mut triggered = Vec::new();
        let mut are_some_skipped = false;
        for (index, rule) in self.rules() {
            let Some(existing) = rule.existing() else { continue };
            if !triggered.is_empty() && self.policy.applies_one() {
                reports.extend(evaluation.if_traced(|| skipped(rule, SkipReason::ApplyOne)));
                continue;
            }
            if let Some(error) = evaluation.note_matching(&self.policy.meta.full_name(), rule, &object) {
                reports.push(error);
                continue;
            }
            if !self.policy.meta.admits(&candidate) || !rule.selects(&candidate) {
                reports.extend(evaluation.if_traced(|| not_selected(rule, &candidate)));
                continue;
            }
            if operation.is_some()
                && !evaluation.reaches(self.policy, rule, &candidate)
                && !context.tracker().documented(Divergence::EmptyExclude)
            {
                reports.push(not_reached(rule));
                continue;
            }
            let on_policy_update = existing.on_policy_update.unwrap_or(self.policy.on_policy_update);
            let reason = match operation {
                None if !on_policy_update => Some(SkipReason::NotOnPolicyUpdate),
                Some(Operation::Delete) if !rule.names_operation(Operation::Delete) => {
                    Some(SkipReason::NotOnDelete)
                }
                _ => None,
            };
            if let Some(reason) = reason {
                are_some_skipped = true;
                reports.push(skipped(rule, reason));
                continue;
            }
            if let Some(error) = evaluation.out_of_steps(context.steps()) {
                reports.push(RuleReport::new(rule.name.clone(), Outcome::Error(error)));
                break;
            }
            let checkpoint = context.enter_rule(rule, &settings.values, settings.trace);
            let checked = self.check(rule, &object, context);
            let trace = context.leave_rule(checkpoint);
            match evaluation.not_replayable().map(Outcome::Error).or(checked) {
                None => triggered.push(index),
                Some(outcome) => {
                    reports.push(RuleReport { trace, ..RuleReport::new(rule.name.clone(), outcome) });
                }
            }
        }
        if !triggered.is_empty()
            && let Some(filter) = evaluation.excluding_filter(&object, operation)
            && !context.tracker().documented(Divergence::HiddenObject)
        {
            for rule in triggered.drain(..).filter_map(|index| self.policy.rules.get(index)) {
                reports.push(skipped(rule, SkipReason::Filtered(filter.clone())));
            }
        }
        if are_some_skipped && !triggered.is_empty() {
            context.tracker().reach(Divergence::WholePolicyRequest);
        }
        triggered
    }

    /// Runs the update requests of rules. Kyverno runs the whole policy for each request; here other rules run once.
    /// `keeps_changes` is whether targets are changed and reported.
    fn update_requests(
        &self,
        triggered: &[usize],
        context: &mut Context<'_>,
        targets: &mut Targets,
        keeps_changes: bool,
    ) -> UpdateRequestRun {
        context.type_objects(true);
        let settings = &self.evaluation.engine.settings;
        let is_kyverno = settings.semantics == Semantics::Kyverno;
        let mut run = UpdateRequestRun::default();
        let object = context.object().clone();
        let mut current = object.clone();
        for (index, rule) in self.rules() {
            let selects = || rule.selects(&self.evaluation.candidate(&current, self.operation()));
            let Some(existing) = rule.existing() else {
                if !(keeps_changes || is_kyverno) || rule.not_evaluated().is_some() || !selects() {
                    continue;
                }
                match self.run_standard(rule, &current, context) {
                    RuleRun { outcome: Outcome::Patched { after, .. }, .. } if is_kyverno => {
                        current = after;
                        context.set_object(&current);
                        run.fail(
                            rule,
                            with_failed_request(
                                RuleError::new(Code::NoResult, "there is no object to patch")
                                    .in_words_of_kyverno("empty resource to patch"),
                            ),
                        );
                        if self.policy.applies_one() {
                            break;
                        }
                    }
                    RuleRun { outcome: Outcome::Error(error), is_object_lost } if is_kyverno => {
                        run.fail(rule, with_rule_error(error, rule));
                        if is_object_lost {
                            break;
                        }
                    }
                    _ => {}
                }
                continue;
            };
            if if is_kyverno { !selects() } else { !triggered.contains(&index) } {
                continue;
            }
            if let Some(error) = self.evaluation.out_of_steps(context.steps()) {
                run.fail(rule, error);
                break;
            }
            let checkpoint = context.enter_rule(rule, &settings.values, settings.trace && keeps_changes);
            let patched = run.patched.len();
            let has_failed = std::mem::take(&mut run.has_failed);
            let tracker = context.tracker();
            let ((), mut divergences) = tracker.during(|| {
                if self.check(rule, &object, context).is_none() {
                    TargetsRun { trigger: self, rule, existing, keeps_changes }
                        .run(context, targets, &mut run);
                }
            });
            divergences.extend(rule.divergences);
            let reports = run.reports.iter_mut();
            reports
                .filter(|report| report.rule == rule.name)
                .for_each(|report| report.divergences = divergences);
            let has_applied = run.patched.len() > patched || run.has_failed;
            run.has_failed |= has_failed;
            if let (Some(report), Some(trace)) = (run.reports.last_mut(), context.leave_rule(checkpoint)) {
                report.trace = Some(trace);
            }
            // Further rules would fail, too, each after its work.
            if has_applied && self.policy.applies_one() || self.evaluation.exceeds_memory() {
                break;
            }
        }
        run
    }

    /// Checks preconditions and exceptions; returns the outcome if the rule does not apply.
    fn check(&self, rule: &Rule, object: &Value, context: &mut Context<'_>) -> Option<Outcome> {
        let name = self.policy.meta.full_name();
        self.evaluation.note_exceptions(&name, rule);
        let exemption = self.evaluation.exemption(&name, object, self.operation());
        rule::check(rule, context, &exemption).err().map(|outcome| *outcome)
    }

    /// Runs a standard rule on the trigger again, as Kyverno does for each request.
    fn run_standard(&self, rule: &Rule, object: &Value, context: &mut Context<'_>) -> RuleRun {
        let settings = &self.evaluation.engine.settings;
        let name = self.policy.meta.full_name();
        let exemption = self.evaluation.exemption(&name, object, self.operation());
        let run = |context: &mut Context<'_>| {
            let checkpoint = context.enter_rule(rule, &settings.values, false);
            let run = rule::run(rule, object, context, &self.evaluation.merge_context, &exemption);
            context.leave_rule(checkpoint);
            run
        };
        let run = match settings.semantics {
            Semantics::Kyverno => run(context),
            // Only for the divergence: the result is not used.
            Semantics::Documented => self.with_context(&DivergenceTracker::new(settings.semantics), run),
        };
        let run = RuleRun { outcome: self.evaluation.replayable(run.outcome), ..run };
        if matches!(run.outcome, Outcome::Patched { .. } | Outcome::Error(_)) {
            context.tracker().reach(Divergence::WholePolicyRequest);
        }
        run
    }

    /// Records divergences where Kyverno repeats work with another result: several requests run each other's rules, and a
    /// failed request is tried five times.
    fn note_repetition(
        &self,
        triggered: &[usize],
        run: &UpdateRequestRun,
        tracker: &DivergenceTracker,
        targets: &mut Targets,
    ) {
        if run.patched.is_empty() || triggered.len() < 2 && !run.has_failed {
            return;
        }
        // A run that exceeds a limit fails, and needs no other one to compare with.
        if self.evaluation.exceeds_memory() || self.evaluation.exceeded_steps(0).is_some() {
            return;
        }
        let scratch = DivergenceTracker::new(tracker.semantics());
        let repeated = self.evaluation.aside(|| {
            self.with_context(&scratch, |context| self.update_requests(triggered, context, targets, false))
        });
        let is_changed = repeated.patched.iter().any(|target| run.patched.contains(target));
        if is_changed && triggered.len() > 1 {
            tracker.reach(Divergence::WholePolicyRequest);
        }
        if is_changed && run.has_failed {
            tracker.reach(Divergence::RetriedRequest);
        }
    }
}

impl UpdateRequestRun {
    /// Adds the error of a target that is not found. Kyverno's message in the request has an empty text before the reason.
    fn fail_to_find(&mut self, rule: &Rule, error: RuleError) {
        let words = format!(": {}", error.words_of_kyverno());
        let of_request = RuleError { original: Some(words), ..error.clone() };
        self.fail(rule, RuleError { hint: with_rule_error(of_request, rule).hint, ..error });
    }

    fn fail(&mut self, rule: &Rule, error: RuleError) {
        self.has_failed = true;
        self.reports.push(RuleReport::new(rule.name.clone(), Outcome::Error(error)));
    }
}

/// One mutate-existing rule with the targets for one trigger.
struct TargetsRun<'a> {
    trigger: &'a Trigger<'a>,
    rule: &'a Rule,
    existing: &'a MutateExisting,
    keeps_changes: bool,
}

impl TargetsRun<'_> {
    fn run(&self, context: &mut Context<'_>, targets: &mut Targets, run: &mut UpdateRequestRun) {
        let evaluation = self.trigger.evaluation;
        // Further searches would find too many, too.
        if self.keeps_changes && !targets.add_uses(0, self.max_targets()) {
            return run.fail(self.rule, self.too_many_targets(context));
        }
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for (index, target) in self.existing.targets.iter().enumerate() {
            let selected = self.find(index, target, context, targets);
            match evaluation.not_replayable().map_or(selected, Err) {
                Ok(selected) => {
                    if self.keeps_changes && !targets.add_uses(selected.ids.len(), self.max_targets()) {
                        return run.fail(self.rule, self.too_many_targets(context));
                    }
                    if selected.ids.is_empty() {
                        missing.push(selected.selector.to_string().into());
                    }
                    found.push((target, selected));
                }
                Err(error) => run.fail_to_find(self.rule, error),
            }
            if let Some(error) = evaluation.out_of_steps(context.steps()) {
                return run.fail(self.rule, error);
            }
        }
        let ids = || found.iter().flat_map(|(_, selected)| &selected.ids);
        let trace = context.take_trace();
        let identities = ids().filter_map(|id| targets.identity(*id)).collect();
        for (target, Selected { selector, ids }) in &found {
            for id in ids {
                if let Some(error) = evaluation.out_of_steps(context.steps()) {
                    return run.fail(self.rule, error);
                }
                if evaluation.exceeds_memory() {
                    break;
                }
                self.run_target((target, selector), *id, context, targets, run);
            }
        }
        let outcome = Outcome::Triggered { targets: identities, missing };
        run.reports.push(RuleReport { trace, ..RuleReport::new(self.rule.name.clone(), outcome) });
    }

    const fn max_targets(&self) -> usize {
        self.trigger.evaluation.engine.settings.limits.targets
    }

    fn too_many_targets(&self, context: &Context<'_>) -> RuleError {
        let message = format!("too many targets in this run (limit targets={})", self.max_targets());
        let hint = Some(context.settings().input_names.limit_hint("targets"));
        with_rule_error(RuleError { hint, ..RuleError::new(Code::EvaluationLimit, message) }, self.rule)
    }

    /// Finds the objects that a target selects.
    fn find(
        &self,
        index: usize,
        target: &Target,
        context: &mut Context<'_>,
        targets: &mut Targets,
    ) -> Result<Selected, RuleError> {
        let Evaluation { engine, world, taint, .. } = *self.trigger.evaluation;
        let settings = context.substitution(Inline::Path);
        let at = Pointer::ROOT.key("mutate").key("targets").index(index);
        let fields = target.selector.substitute(context, settings).map_err(|error| {
            let what = format!("failed to substitute variables in target[{index}]");
            failed_substitution(&error, &what, context).below(&at)
        })?;
        let selector = TargetSelector::read(&fields.value, self.trigger.policy.meta.namespace.as_ref())
            .map_err(|reason| RuleError::new(Code::InvalidTarget, format!("target[{index}]: {reason}")))?;
        let has_version = fields.value.get("apiVersion").is_some_and(|version| version.as_str() != Some(""));
        if !has_version && !context.tracker().documented(Divergence::TargetWithoutVersion) {
            return Err(RuleError::new(Code::InvalidTarget, "not found"));
        }
        if let Some(refusal) = world.refusal(&TargetAccess::Find(&selector)) {
            return Err(refused(refusal));
        }
        let found = targets.find(&selector, engine, (world, taint));
        self.trigger.evaluation.add_steps(targets.take_compared());
        match found {
            Ok(ids) if ids.is_empty() && targets.has_parent(&selector) => Err(no_subresource(&selector)),
            Ok(ids) => {
                let is_pattern = selector.name.is_empty() || selector.name.contains(['*', '?']);
                if !ids.is_empty()
                    && !selector.kind.subresource.is_empty()
                    && is_pattern
                    && !context.tracker().documented(Divergence::SubresourceByPattern)
                {
                    return Err(not_found(&selector));
                }
                Ok(Selected { selector, ids })
            }
            Err(LookupError::NotFound | LookupError::NotGiven) => Err(if targets.has_parent(&selector) {
                no_subresource(&selector)
            } else if selector.kind.kind.is_empty() {
                not_found(&selector)
            } else {
                not_found(&selector)
                    .with_hint("pass objects that are no input themselves with `--targets FILE`")
            }),
            Err(error) => Err(RuleError::new(Code::TargetNotFound, error.to_string())),
        }
    }

    /// Runs the rule on one target.
    fn run_target(
        &self,
        (target, selector): (&Target, &TargetSelector),
        id: TargetId,
        context: &mut Context<'_>,
        targets: &mut Targets,
        run: &mut UpdateRequestRun,
    ) {
        let Some(object) = targets.object(id).cloned() else { return };
        let evaluation = self.trigger.evaluation;
        let checkpoint = context.checkpoint();
        context.enter_target(&object, evaluation.engine.settings.trace && self.keeps_changes);
        context.register(&target.context);
        let outcome = self
            .patch(target, &object, context)
            .unwrap_or_else(|error| Outcome::Error(with_rule_error(error, self.rule)));
        let outcome = evaluation.replayable(outcome);
        let mut trace = context.leave_target(&checkpoint);
        if let Some(trace) = &mut trace {
            trace.target = self.existing.targets.iter().position(|other| std::ptr::eq(other, target));
        }
        let outcome = match outcome {
            Outcome::Patched { before, after } => {
                let is_same_object = targets.is_same(id, &after);
                self.update((before, after), selector, is_same_object, context.tracker())
                    .inspect(|_| run.patched.push(id))
                    .unwrap_or_else(Outcome::Error)
            }
            other => other,
        };
        let outcome = evaluation.within_memory(outcome);
        run.has_failed |= matches!(outcome, Outcome::Error(_));
        if !self.keeps_changes {
            return;
        }
        if let Outcome::Patched { after, .. } = &outcome {
            if is_secret(after) {
                // All its values are searched for.
                evaluation.add_steps(after.weight() as u64 / BYTES_OF_STEP);
            }
            context.taint().track(after);
            targets.set(id, after.clone());
        }
        let trigger = evaluation.identity.cloned();
        targets.add_report(
            id,
            PolicyReport {
                policy: self.trigger.policy.meta.full_name(),
                rules: vec![RuleReport {
                    trigger,
                    trace,
                    ..RuleReport::new(self.rule.name.clone(), outcome)
                }],
                divergences: DivergenceSet::NONE,
            },
        );
    }

    /// Updates a patched target, as the request does it in a cluster.
    fn update(
        &self,
        (before, after): (Value, Value),
        selector: &TargetSelector,
        is_same_object: bool,
        tracker: &DivergenceTracker,
    ) -> Result<Outcome, RuleError> {
        if !is_same_object {
            let message = "the patch changes what the object is called, which an update cannot";
            return Err(errors::failing(RuleError::new(Code::InvalidTarget, message), &no_object(&after)));
        }
        if let Some(refusal) = self.trigger.evaluation.world.refusal(&TargetAccess::Update(selector, &before))
        {
            return Err(with_failed_request(refused(refusal)));
        }
        let is_annotated = tracker.documented(Divergence::TargetAnnotation);
        let after = if is_annotated { self.annotate(&before, after) } else { after };
        Ok(Outcome::Patched { before, after })
    }

    fn patch(
        &self,
        target: &Target,
        object: &Value,
        context: &mut Context<'_>,
    ) -> Result<Outcome, RuleError> {
        let merge_context = &self.trigger.evaluation.merge_context;
        if let Some(conditions) = &target.preconditions
            && let Some(message) = conditions::preconditions(conditions, context)?
        {
            return Ok(Outcome::Skipped(SkipReason::Preconditions { message }));
        }
        let one = match &self.existing.body {
            Edit::Patch(one) => one,
            Edit::Foreach(entries) => return foreach::run(entries, object, context, merge_context),
        };
        let outcome = patch(one, object, context, merge_context)?;
        rule::substitute_rest(self.rule, self.existing, context)?;
        Ok(outcome)
    }

    /// Adds the annotation with the last change to a changed target.
    fn annotate(&self, before: &Value, mut after: Value) -> Value {
        let changed = changes(before, &after);
        let Some(last) = changed.last() else { return after };
        let verb = match last.kind {
            ChangeKind::Add(_) => "added",
            ChangeKind::Remove(_) => "removed",
            ChangeKind::Replace { .. } => "replaced",
        };
        let key = format!("{}.{}.kyverno.io", self.rule.name, self.trigger.policy.meta.full_name());
        let change = format!("{verb} {}", last.pointer.to_json_pointer());
        let mut text = String::new();
        yaml::print(&Value::from_iter([(key, Value::from(change))]), &mut text);
        let taint = self.trigger.evaluation.taint;
        let is_secret = |segment: &Segment| matches!(segment, Segment::Key(key) if taint.is_tainted_key(key));
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

/// The objects that a target selects.
struct Selected {
    selector: TargetSelector,
    ids: Vec<TargetId>,
}
