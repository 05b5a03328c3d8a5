//! One rule.

use indexmap::IndexSet;

use crate::admission::Schema;
use crate::policy::KindSelector;
use crate::resources::{Resources, is_built_into_kubernetes};
use crate::semantics::Semantics;
use crate::value::{GroupVersionKind, Pointer, Value};

use super::autogen;
use super::cel_text::{Cel, Entry};
use super::conditions::{self, Tests};
use super::context::{self, Variable};
use super::dependence;
use super::expression::Scope;
use super::joined_stages;
use super::json_patch;
use super::kinds::Kind;
use super::loops::Loops;
use super::overlay::Overlay;
use super::patches::{Location, Patch};
use super::path::{AT, Base, Path, TEMPLATE, Workload};
use super::place::Place;
use super::problem::{Difference, Problem, Refusal};
use super::selection::{Selection, Targets, selection};
use super::stages::{Change, Stage};
use super::ty::{Merging, Ty};
use super::{Options, Target};

/// A converted rule.
#[derive(Debug)]
pub(super) struct Converted {
    pub(super) name: String,
    pub(super) pointer: Pointer,
    pub(super) selection: Selection,
    pub(super) tests: Tests,
    pub(super) variables: Vec<Variable>,
    pub(super) stages: Vec<Stage>,
    /// Whether it changes the template of each controller of Pods, which `variables.template` is.
    pub(super) is_templated: bool,
    /// The controllers for which Kyverno can make rules of the CEL policy itself.
    pub(super) autogen: Option<Vec<String>>,
    /// The stored objects that it changes, if it has targets.
    pub(super) targets: Option<Targets>,
    /// The comments of its text.
    pub(super) comments: Vec<String>,
    /// Whether it leaves out requests of Kyverno's own background controller.
    pub(super) skips_background: bool,
    pub(super) accepted: Vec<Difference>,
}

/// What autogen makes of a rule for Pods.
#[derive(Clone, Debug, Default)]
pub(super) struct Generated {
    /// The kind selectors of the generated rules.
    pub(super) kinds: Vec<String>,
}

#[derive(Clone, Copy)]
pub(super) struct RuleInput<'r> {
    pub(super) rule: &'r Value,
    pub(super) pointer: &'r Pointer,
    pub(super) generated: &'r Generated,
    /// Whether other rules stand beside it in the policy.
    pub(super) is_alone: bool,
    /// Whether the policy is one of a namespace.
    pub(super) is_namespaced: bool,
    /// Whether no apply configurations are written.
    pub(super) only_patches: bool,
}

impl Converted {
    /// How many lines its mutations have.
    fn lines(&self) -> usize {
        // Two lines besides the expression.
        let writes_back = self.writes_back();
        let lines =
            |stage: &Stage| stage.expression(&Cel::bool(true), writes_back).pretty().lines().count() + 2;
        self.stages.iter().map(lines).sum()
    }

    /// Whether its steps may write again what is there: objects of built-in kinds hold no numbers beyond 2⁵³.
    pub(super) fn writes_back(&self) -> bool {
        self.selection.kinds.iter().all(|kind| is_built_into_kubernetes(&kind.kind.group) && !kind.is_any())
    }
}

type Result<T> = std::result::Result<T, Refusal>;

/// Converts a rule. One for templates of several kinds needs an apply configuration for each, and one that brings elements
/// to the front a further mutation: steps of a JSON patch are written where they are shorter.
pub(super) fn convert(
    input: &RuleInput<'_>,
    options: &Options,
    taken: &mut Vec<String>,
) -> Result<Converted> {
    let mut names = taken.clone();
    let converted = convert_as(input, options, &mut names)?;
    let is_repeated = |stage: &Stage| matches!(stage.change, Change::Apply(Cel::If { .. }));
    let is_repeated = converted.is_templated && converted.stages.iter().any(is_repeated);
    if is_repeated || converted.stages.len() > 1 {
        let mut other_names = taken.clone();
        let only_patches = RuleInput { only_patches: true, ..*input };
        if let Ok(other) = convert_as(&only_patches, options, &mut other_names)
            && other.lines() < converted.lines()
        {
            *taken = other_names;
            return Ok(other);
        }
    }
    *taken = names;
    Ok(converted)
}

fn convert_as(input: &RuleInput<'_>, options: &Options, taken: &mut Vec<String>) -> Result<Converted> {
    let RuleInput { rule, pointer, generated, .. } = *input;
    let is_native = options.target == Target::AdmissionPolicy;
    refuse_unsupported(rule, pointer)?;
    let selection =
        selection(rule, pointer, resources(options), (is_native, input.is_namespaced), &generated.kinds)?;
    let kinds: Vec<GroupVersionKind> = selection.kinds.iter().map(|kind| kind.kind.clone()).collect();
    let is_templated = !generated.kinds.is_empty();
    let schemas = schemas_of(&selection.kinds, options);
    let (mut root, mut scope) = if is_templated {
        templated(options, is_native)
    } else {
        plain(&selection.kinds, schemas, options, is_native)
    };
    scope.is_namespaced = input.is_namespaced;
    root.is_patched |= input.only_patches;
    let (scope, further) = context::variables(rule.get("context"), &scope, &pointer.key("context"), taken)?;
    let mut variables = super::roles::variables(&selection.tests);
    variables.extend(further);
    let mut tests = selection.tests.clone();
    if let Some(block) = rule.get("preconditions").filter(|block| !block.is_null()) {
        conditions::preconditions(block, &pointer.key("preconditions"), &scope, &mut tests)?;
    }
    let body_kinds: Vec<GroupVersionKind> =
        if is_templated { vec![GroupVersionKind::new("v1", "Pod")] } else { kinds };
    let body =
        Body { options, root: &root, scope: &scope, kinds: &body_kinds, variables: &variables, at: pointer };
    let start = scope.noted();
    let mut stages = joined_stages::joined(body.stages(rule, &mut tests)?, &variables);
    refuse_nothing(&stages, pointer)?;
    let values: Vec<Cel> = scope.values_since(start).into_iter().map(|(value, _)| value).collect();
    refuse_recomputed(input, &tests, &values, (&stages, &variables), is_native)?;
    // A test that may fail would be asked where one before it did not hold.
    if let ([only], true) = (stages.as_slice(), input.is_alone && !tests.tests.iter().any(|test| test.fails))
    {
        tests.tests.retain(|test| !only.asks_for(&test.cel));
    }
    let mut still_holds = input.is_alone;
    for stage in &mut stages {
        // Further mutations and rules see what earlier ones left.
        stage.leave_out_created(still_holds.then_some(&tests));
        still_holds &= stage.only_reorders();
    }
    let by_kyverno = match stages.as_slice() {
        [stage] if is_templated && input.is_alone => {
            autogen::by_kyverno(rule, options, stage, &tests, (&selection, &scope))
        }
        _ => None,
    };
    let mut autogen = None;
    match by_kyverno {
        Some(on_pods) => {
            stages = vec![Stage::apply(on_pods.configuration)];
            tests.tests = on_pods.tests;
            autogen = Some(on_pods.controllers);
        }
        None if is_templated => {
            for stage in &mut stages {
                if let Change::Apply(cel) = &stage.change {
                    stage.change = Change::Apply(for_templates(cel, &selection.kinds));
                }
            }
        }
        None => {}
    }
    let accepted = scope.accepted.borrow().clone();
    let name = rule.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Converted {
        name,
        pointer: pointer.clone(),
        selection,
        tests,
        variables,
        stages,
        is_templated: is_templated && autogen.is_none(),
        autogen,
        skips_background: rule.get("skipBackgroundRequests").and_then(Value::as_bool) != Some(false),
        targets: None,
        comments: Vec::new(),
        accepted,
    })
}

pub(super) fn resources(options: &Options) -> &Resources {
    options.resources.as_ref().unwrap_or_else(|| Resources::served())
}

pub(super) fn refuse_unsupported(rule: &Value, at: &Pointer) -> Result<()> {
    if rule.get("celPreconditions").is_some_and(|value| !value.is_null()) {
        let problem = Problem::new(
            "`celPreconditions`",
            "they are not evaluated here",
            "copy them to `matchConditions` of the new policy by hand",
        );
        return Err(problem.at(&at.key("celPreconditions")));
    }
    Ok(())
}

/// Refuses a rule that changes nothing: a policy must have mutations.
pub(super) fn refuse_nothing(stages: &[Stage], at: &Pointer) -> Result<()> {
    if !stages.is_empty() {
        return Ok(());
    }
    let problem =
        Problem::new("a rule that changes nothing", "a CEL policy must have mutations", "remove the rule");
    Err(problem.at(&at.key("mutate")))
}

/// Refuses what a later mutation would compute of the object as an earlier one left it.
fn refuse_recomputed(
    input: &RuleInput<'_>,
    tests: &Tests,
    values: &[Cel],
    (stages, variables): (&[Stage], &[Variable]),
    is_native: bool,
) -> Result<()> {
    let at = input.pointer.key("mutate");
    let is_loop = input.rule.path(&["mutate", "foreach"]).is_some_and(|entries| !entries.is_null());
    // Entries of loops see what the ones before did; each is checked by itself.
    if !is_loop && let Some(value) = dependence::changed_value(values, stages, variables, is_native) {
        return Err(dependence::changed(value).at(&at));
    }
    let conditions = tests.tests.iter().map(|test| &test.cel);
    if is_native && !input.is_alone && dependence::change_conditions(conditions, stages, variables) {
        let problem = Problem::new(
            "a condition of a rule that takes several mutations",
            "the API server evaluates it again for each mutation, and one changes what it reads",
            "write a policy of its own for the rule",
        );
        return Err(problem.at(&at));
    }
    Ok(())
}

pub(super) fn schemas_of<'a>(kinds: &[Kind], options: &'a Options) -> Option<Vec<Schema<'a>>> {
    if kinds.is_empty() {
        return None;
    }
    let schema = |kind: &Kind| options.kinds.of(&kind.kind).filter(|_| kind.is_of_its_kind());
    kinds.iter().map(schema).collect()
}

/// The type of objects of some kinds, and where they have the template of Pods.
pub(super) fn type_of_kinds<'a>(kinds: &[Kind], options: &'a Options) -> (Ty<'a>, Base) {
    let mut workloads = kinds.iter().map(|kind| Workload::of_kind(&kind.kind.group, &kind.kind.kind));
    let first = workloads.next().unwrap_or(Workload::None);
    let workload = if workloads.all(|other| other == first) { first } else { Workload::None };
    (schemas_of(kinds, options).map_or(Ty::Any, Ty::Object), Base::Object(workload))
}

/// The object of a rule without autogen.
pub(super) fn plain<'a>(
    kinds: &[Kind],
    schemas: Option<Vec<Schema<'a>>>,
    options: &'a Options,
    is_native: bool,
) -> (Place<'a>, Scope<'a>) {
    let (ty, base) = type_of_kinds(kinds, options);
    let path = Path::new(Cel::atom("object"), ty, base);
    let scope = Scope::new(path.clone(), is_native, &options.accepts);
    (Place::new(path, Location::root(None), "Object", schemas, &[]), scope)
}

/// The Pod, or the template of the Pods.
fn templated(options: &Options, is_native: bool) -> (Place<'_>, Scope<'_>) {
    let pod = options.kinds.of(&GroupVersionKind::new("v1", "Pod"));
    let schemas: Vec<Schema<'_>> = pod.into_iter().collect();
    let template = Cel::atom("variables").member(TEMPLATE);
    let path = Path::new(template, Ty::Object(schemas.clone()), Base::Template);
    let object = Path::new(Cel::atom("object"), Ty::Any, Base::Object(Workload::None));
    let mut scope = Scope::new(object, is_native, &options.accepts);
    scope.moved = vec![("spec", path.member("spec")), ("metadata", path.member("metadata"))];
    let at = Cel::atom("variables").member(AT);
    (Place::new(path, Location::root(Some(at)), "Object", Some(schemas), &[]), scope)
}

/// The `mutate` block of a rule.
pub(super) struct Body<'b, 'a> {
    pub(super) options: &'a Options,
    /// The object that is changed.
    pub(super) root: &'b Place<'a>,
    pub(super) scope: &'b Scope<'a>,
    pub(super) kinds: &'b [GroupVersionKind],
    pub(super) variables: &'b [Variable],
    /// The rule.
    pub(super) at: &'b Pointer,
}

impl<'a> Body<'_, 'a> {
    pub(super) fn stages(&self, rule: &Value, tests: &mut Tests) -> Result<Vec<Stage>> {
        let mutate = rule.get("mutate").unwrap_or(&Value::Null);
        let at = self.at.key("mutate");
        let given = |field: &str| mutate.get(field).filter(|value| !value.is_null());
        if given("overlay").is_some() || given("patches").is_some() {
            return self.legacy(given("overlay"), given("patches"), &at, tests);
        }
        if let Some(overlay) = given("patchStrategicMerge") {
            return self.overlay(overlay, &at.key("patchStrategicMerge"), tests, false);
        }
        if let Some(patch) = given("patchesJson6902") {
            return self.json_patch(patch.as_str().unwrap_or_default(), &at.key("patchesJson6902"));
        }
        let entries = given("foreach").and_then(Value::as_array).unwrap_or_default();
        let loops =
            Loops { root: self.root, kinds: self.kinds, options: self.options, variables: self.variables };
        loops.entries(entries, self.scope, &at.key("foreach"))
    }

    /// The fields of Kyverno before 1.2: the overlay first, then the patches.
    fn legacy(
        &self,
        overlay: Option<&Value>,
        patches: Option<&Value>,
        at: &Pointer,
        tests: &mut Tests,
    ) -> Result<Vec<Stage>> {
        let mut stages = Vec::new();
        if let Some(overlay) = overlay {
            let overlay = super::overlay::with_texts(overlay);
            stages.extend(self.overlay(&overlay, &at.key("overlay"), tests, true)?);
        }
        if let Some(patches) = patches {
            let at = at.key("patches");
            let operations = json_patch::legacy_operations(patches, self.root, self.scope, &at)?;
            stages.extend(self.of_operations(operations));
        }
        Ok(stages)
    }

    fn overlay(
        &self,
        overlay: &Value,
        at: &Pointer,
        tests: &mut Tests,
        is_legacy: bool,
    ) -> Result<Vec<Stage>> {
        if overlay.as_object().is_none() {
            let problem = Problem::new(
                "an overlay from a variable",
                "its keys and anchors are not known",
                "write its keys",
            );
            return Err(problem.at(at));
        }
        let translate = |keeps_order: bool| {
            Overlay {
                scope: self.scope,
                kinds: self.kinds,
                schemas: &self.options.schemas,
                loops: &[],
                depth: 0,
                used: Vec::new(),
                keeps_order,
                is_legacy,
                lists_others: true,
                around: None,
                follows_kyverno: self.options.semantics == Semantics::Kyverno,
            }
            .map(overlay, self.root, at)
        };
        let start = self.scope.noted();
        let accepts_order = self.scope.accepts(Difference::Order);
        let mut fragment = translate(true)?;
        if accepts_order {
            let shorter = translate(false)?;
            if !shorter.has_same_steps(&fragment) {
                fragment = shorter;
                self.scope.accepted.borrow_mut().push(Difference::Order);
            }
        }
        if super::overlay::has_anchors(overlay) {
            self.require_values(start, at, tests);
        }
        let anchors: Vec<Cel> = fragment.globals.drain(..).collect();
        let anchors: Vec<Cel> = anchors.into_iter().chain(fragment.tests.drain(..)).collect();
        for test in anchors {
            if test.is_false() {
                let problem = Problem::new("a condition", "it never holds", "remove the rule");
                return Err(problem.at(at));
            }
            tests.push(test, false, at);
        }
        Ok(Stage::of_overlay(fragment))
    }

    /// A variable without value is an error, also where no anchor holds: the values are read before the anchors.
    fn require_values(&self, start: usize, at: &Pointer, tests: &mut Tests) {
        let values = self.scope.values_since(start).into_iter();
        let missing = values.filter(|(value, fails)| *fails && !value.is_of_loop()).map(|(value, _)| value);
        let is_known = |value: &Cel| tests.tests.iter().any(|test| test.cel.proves(value));
        let mut distinct: Vec<Cel> = Vec::new();
        for value in missing.filter(|value| !is_known(value)) {
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        let missing = distinct;
        if !missing.is_empty() {
            let count = Cel::int(missing.len());
            let list = Cel::List(super::val::homogeneous(missing));
            tests.push(list.call("size", []).equals(count), true, at);
        }
    }

    fn json_patch(&self, text: &str, at: &Pointer) -> Result<Vec<Stage>> {
        Ok(self.of_operations(json_patch::operations(text, self.root, self.scope, at)?))
    }

    /// The mutations of a JSON patch.
    fn of_operations(&self, operations: Vec<json_patch::Operation>) -> Vec<Stage> {
        let mut stages = Vec::new();
        for group in json_patch::grouped(operations) {
            if let Some(configuration) = self.members(&group) {
                stages.push(Stage::apply(configuration));
                continue;
            }
            let mut patches: Vec<Patch> = Vec::new();
            for operation in group {
                patches.extend(operation.guards);
                patches.extend(operation.patches);
            }
            stages.push(Stage::patch(patches));
        }
        stages
    }

    /// Operations that only add labels and annotations, as an apply configuration.
    fn members(&self, group: &[json_patch::Operation]) -> Option<Cel> {
        let metadata = self.root.member("metadata");
        let mut fields: Vec<Entry<String>> = Vec::new();
        for operation in group {
            let (names, value) = operation.member.as_ref()?;
            let [metadata_name, map, key] = names.as_slice() else { return None };
            let map_place = metadata.member(map);
            let is_text = value.as_text().is_some() || matches!(value, Cel::Chain { .. });
            let fits = metadata_name == "metadata"
                && (map == "labels" || map == "annotations")
                && map_place.merging() == Merging::Map
                && is_text;
            if !fits {
                return None;
            }
            let entry = Entry { key: Cel::text(key), value: value.clone(), optional: false };
            match fields.iter_mut().find(|field| field.key == *map) {
                Some(Entry { value: Cel::Map(entries), .. }) => entries.push(entry),
                _ => fields.push(Entry { key: map.clone(), value: Cel::Map(vec![entry]), optional: false }),
            }
        }
        let inner = Cel::message("Object.metadata", fields);
        let field = Entry { key: "metadata".to_owned(), value: inner, optional: false };
        Some(Cel::message("Object", vec![field]))
    }
}

/// A configuration of a Pod as one of each controller, too.
fn for_templates(pod: &Cel, kinds: &[Kind]) -> Cel {
    let mut forms: Vec<(Vec<&str>, Cel)> = Vec::new();
    for (workload, path) in [
        (Workload::Pod, "Object"),
        (Workload::CronJob, "Object.spec.jobTemplate.spec.template"),
        (Workload::Controller, "Object.spec.template"),
    ] {
        let mut names: Vec<&str> = Vec::new();
        for kind in
            kinds.iter().filter(|kind| Workload::of_kind(&kind.kind.group, &kind.kind.kind) == workload)
        {
            if !names.contains(&&*kind.kind.kind) {
                names.push(&kind.kind.kind);
            }
        }
        if !names.is_empty() {
            forms.push((names, wrapped(pod, path)));
        }
    }
    let Some((_, last)) = forms.pop() else { return pod.clone() };
    forms.into_iter().rev().fold(last, |otherwise, (names, form)| {
        Cel::if_else(super::selection::kind_is(&names), form, otherwise)
    })
}

/// A configuration at a deeper place.
fn wrapped(pod: &Cel, path: &str) -> Cel {
    let renamed = renamed(pod, path);
    let mut names: Vec<&str> = path.split('.').collect();
    let mut value = renamed;
    while names.len() > 1 {
        let field = names.pop().unwrap_or_default().to_owned();
        value = Cel::message(names.join("."), vec![Entry { key: field, value, optional: false }]);
    }
    value
}

/// With other names of constructors.
fn renamed(cel: &Cel, path: &str) -> Cel {
    cel.mapped_messages(&|name| match name.strip_prefix("Object") {
        Some(rest) => format!("{path}{rest}"),
        None => name.to_owned(),
    })
}

/// The kind selectors of a rule that autogen generated.
pub(super) fn kind_selectors(rule: &Value) -> Vec<String> {
    let block = rule.get("match").unwrap_or(&Value::Null);
    let mut filters: Vec<&Value> = Vec::new();
    for list in ["any", "all"] {
        filters.extend(block.get(list).and_then(Value::as_array).unwrap_or_default());
    }
    filters.push(block);
    let kinds = filters.iter().filter_map(|filter| filter.path(&["resources", "kinds"])?.as_array());
    let named: IndexSet<&str> = kinds.flatten().filter_map(Value::as_str).collect();
    let is_known = |kind: &&str| KindSelector::parse(kind).only_kind().is_some();
    named.into_iter().filter(is_known).map(str::to_owned).collect()
}
