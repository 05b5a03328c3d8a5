//! `foreach`.

use crate::patch::split_anchor;
use crate::semantics::Semantics;
use crate::value::{GroupVersionKind, Pointer, Value};

use super::Options;
use super::cel_text::{Cel, Operator};
use super::conditions::{self, Tests};
use super::context::{self, Variable};
use super::dependence;
use super::expression::{Scope, loop_variable};
use super::json_patch;
use super::overlay::{Fragment, Loop, Overlay};
use super::patches::{Patch, index_name};
use super::path::{Base, Path};
use super::place::Place;
use super::problem::{Difference, Problem, Refusal};
use super::stages::Stage;
use super::ty::Ty;
use super::val::{Form, Val};

/// What the entries of a rule need.
pub(super) struct Loops<'l, 'a> {
    pub(super) root: &'l Place<'a>,
    pub(super) kinds: &'l [GroupVersionKind],
    pub(super) options: &'l Options,
    /// The variables of the policy so far.
    pub(super) variables: &'l [Variable],
}

/// A list that is visited.
struct Visited<'a> {
    list: Cel,
    variable: String,
    index: String,
    element: Path<'a>,
    /// The paths of the lists, if they are lists of the object.
    names: Vec<Vec<String>>,
    /// Whether the list is several lists in one, whose elements have other indexes.
    is_joined: bool,
    /// Whether each object has elements in it.
    is_filled: bool,
}

impl Visited<'_> {
    /// A copy without the lists of the object.
    fn without_names(&self) -> Self {
        Self {
            list: self.list.clone(),
            variable: self.variable.clone(),
            index: self.index.clone(),
            element: self.element.clone(),
            names: Vec::new(),
            is_joined: self.is_joined,
            is_filled: self.is_filled,
        }
    }
}

impl<'a> Loops<'_, 'a> {
    /// Translates the entries: each sees what the ones before did.
    pub(super) fn entries(
        &self,
        entries: &[Value],
        scope: &Scope<'a>,
        at: &Pointer,
    ) -> Result<Vec<Stage>, Refusal> {
        let mut stages = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let at = at.index(index);
            let start = scope.noted();
            let own = self.entry(entry, scope, &at)?;
            let values: Vec<Cel> = scope.values_since(start).into_iter().map(|(value, _)| value).collect();
            if let Some(value) = dependence::changed_value(&values, &own, self.variables, scope.is_native) {
                return Err(dependence::changed(value).at(&at));
            }
            stages.extend(own);
        }
        Ok(stages)
    }

    fn entry(&self, entry: &Value, scope: &Scope<'a>, at: &Pointer) -> Result<Vec<Stage>, Refusal> {
        let visited = self.visited(entry, scope, at, 0)?;
        let inner = self.scope_of(&visited, scope, 0);
        let inner = context::bound(entry.get("context"), &inner, &at.key("context"))?;
        let mut tests = Tests::default();
        if let Some(block) = entry.get("preconditions").filter(|block| !block.is_null()) {
            conditions::preconditions(block, &at.key("preconditions"), &inner, &mut tests)?;
        }
        if tests.operations.is_some() {
            return Err(Problem::new(
                "a condition on the operation in `foreach`",
                "it is no condition of the element",
                "write it as a precondition of the rule",
            )
            .at(at));
        }
        let condition = tests.joined();
        if let Some(overlay) = entry.get("patchStrategicMerge").filter(|value| !value.is_null()) {
            return self.overlay(overlay, entry, &visited, &inner, condition, &at.key("patchStrategicMerge"));
        }
        let body = self.body(entry, &visited, &inner, at, 0)?;
        Ok(vec![patch_stage(visited, condition, body)])
    }

    fn scope_of(&self, visited: &Visited<'a>, scope: &Scope<'a>, depth: usize) -> Scope<'a> {
        let element = Val::path(visited.element.clone());
        let index = Val::sure(Cel::atom(&*visited.index), Ty::Number);
        let mut inner = scope.in_loop(&visited.variable);
        for name in ["element".to_owned(), format!("element{depth}")] {
            inner = inner.with(name, element.clone());
        }
        if !visited.is_joined {
            for name in ["elementIndex".to_owned(), format!("elementIndex{depth}")] {
                inner = inner.with(name, index.clone());
            }
            inner = inner.visiting(&visited.index, visited.element.clone());
        } else {
            inner = inner.without_index();
        }
        inner
    }

    /// The list of an entry.
    fn visited(
        &self,
        entry: &Value,
        scope: &Scope<'a>,
        at: &Pointer,
        depth: usize,
    ) -> Result<Visited<'a>, Refusal> {
        let at = at.key("list");
        let text = entry.get("list").and_then(Value::as_str).unwrap_or_default();
        let problem = |problem: Problem| problem.at(&at);
        let value = super::expression::template(scope, text).map_err(problem)?;
        if let Some(base) = text.trim().strip_suffix("[]")
            && let Ok(Val { form: Form::Path(path), .. }) = super::expression::template(scope, base)
            && !path.ty.element().is_list()
            && path.ty.is_list()
        {
            let last = path.names().iter().rfind(|name| *name != "*").cloned().unwrap_or_default();
            let variable = loop_variable(&last, &scope.loop_variables());
            if scope.is_targeted && path.strict().contains(&Cel::atom("request")) {
                return Err(of_trigger(text).at(&at));
            }
            return Ok(Visited {
                list: path.or(Cel::List(Vec::new())),
                element: path.element(&variable),
                variable,
                index: index_name(depth),
                names: vec![path.names().to_vec()],
                is_joined: false,
                is_filled: last == "containers",
            });
        }
        let names = list_names(text, &value, scope.is_targeted);
        let last = names.first().and_then(|names| names.last()).cloned().unwrap_or_default();
        let variable = loop_variable(&last, &scope.loop_variables());
        if matches!(value.ty, Ty::Any) {
            return Err(Problem::new(
                format!("the list `{text}`"),
                "the schema does not say that it is a list, and another value counts as a list with one element",
                "give the definition of the kind with `--crds`",
            )
            .at(&at));
        }
        if !value.ty.is_list() {
            return Err(Problem::new(
                format!("the list `{text}`"),
                "its value is no list, which counts as a list with one element",
                "write a rule without `foreach`",
            )
            .at(&at));
        }
        let (list, is_joined) = match &value.form {
            Form::Nullable { empty: Some(empty), value: strict, .. } => {
                (empty.clone(), *strict == Cel::atom("null"))
            }
            Form::Nullable { .. } => (value.or(Cel::List(Vec::new())), true),
            // A missing list has no elements, but for Kyverno.
            Form::Path(path) if self.options.semantics == Semantics::Documented => {
                (path.or(Cel::List(Vec::new())), false)
            }
            _ => (value.strict(), false),
        };
        if scope.is_targeted && list.contains(&Cel::atom("request")) {
            return Err(of_trigger(text).at(&at));
        }
        let is_path = matches!(&value.form, Form::Path(_));
        let is_plain_path =
            is_path || (names.len() == 1 && text.trim_end().ends_with("[]") && !text.contains('?'));
        let element = match (&value.form, names.as_slice()) {
            (Form::Path(path), _) => path.element(&variable),
            (_, [first, ..]) if first.first().is_some_and(|name| name == "spec") || is_plain_path => {
                let root = first.iter().fold(self.root.path.clone(), |path, name| path.member(name));
                root.element(&variable)
            }
            _ => Path::new(Cel::atom(&*variable), value.ty.element(), Base::Other),
        };
        let is_filled = names.iter().any(|names| names.last().is_some_and(|name| name == "containers"));
        Ok(Visited {
            list,
            variable,
            index: index_name(depth),
            element,
            is_joined: is_joined || names.len() > 1 || !is_plain_path,
            names,
            is_filled,
        })
    }

    /// The steps for an element: of a JSON patch, or of inner entries.
    fn body(
        &self,
        entry: &Value,
        visited: &Visited<'a>,
        scope: &Scope<'a>,
        at: &Pointer,
        depth: usize,
    ) -> Result<Body, Refusal> {
        if let Some(entries) = entry.get("foreach").and_then(Value::as_array) {
            let mut body = Body::default();
            let at = at.key("foreach");
            if entries.len() > 1 {
                return Err(Problem::new(
                    "several entries of an inner `foreach`",
                    "each sees what the ones before did to the element",
                    "write them as entries of their own",
                )
                .at(&at));
            }
            for (index, inner) in entries.iter().enumerate() {
                let at = at.index(index);
                let list = self.visited(inner, scope, &at, depth + 1)?;
                let scope = self.scope_of(&list, scope, depth + 1);
                let scope = context::bound(inner.get("context"), &scope, &at.key("context"))?;
                let mut tests = Tests::default();
                if let Some(block) = inner.get("preconditions").filter(|block| !block.is_null()) {
                    conditions::preconditions(block, &at.key("preconditions"), &scope, &mut tests)?;
                }
                let below = self.body(inner, &list, &scope, &at, depth + 1)?;
                body.guards.extend(below.guards);
                body.patches.push(Patch::Each {
                    list: list.list,
                    index: list.index,
                    variable: list.variable,
                    condition: tests.joined(),
                    body: below.patches,
                    reversed: below.reversed,
                });
            }
            return Ok(body);
        }
        if let Some(text) = entry.get("patchesJson6902").and_then(Value::as_str) {
            return self.json_patch(text, entry, visited, scope, &at.key("patchesJson6902"));
        }
        Err(Problem::new(
            "an overlay in an inner `foreach`",
            "it is merged for each element after the other",
            "write it as an entry of its own, or as a JSON patch",
        )
        .at(at))
    }

    fn json_patch(
        &self,
        text: &str,
        entry: &Value,
        visited: &Visited<'a>,
        scope: &Scope<'a>,
        at: &Pointer,
    ) -> Result<Body, Refusal> {
        let operations = json_patch::operations(text, self.root, scope, at)?;
        let mut body = Body::default();
        let groups = json_patch::grouped(operations);
        if groups.len() > 1 {
            return Err(Problem::new(
                "operations of which one reads what another changes",
                "they would be steps of one patch of CEL",
                "write two entries",
            )
            .at(at));
        }
        for operation in groups.into_iter().flatten() {
            if operation.shifts.as_ref().is_some_and(|index| index.to_string() == visited.index) {
                if entry.get("order").and_then(Value::as_str) != Some("Descending") {
                    return Err(Problem::new(
                        "the removal of elements in ascending order",
                        "each removal moves the elements after it, so that others than those meant are removed",
                        "write `order: Descending`",
                    )
                    .at(at));
                }
                body.reversed = true;
            }
            let depends = |patch: &Patch| match patch {
                Patch::Step { guards: Some(location), .. } => {
                    location.cel().any_part(&|part| *part == Cel::atom(&*visited.index))
                        || location.cel().any_part(&|part| *part == Cel::atom(&*visited.variable))
                }
                _ => true,
            };
            let (own, shared): (Vec<Patch>, Vec<Patch>) = operation.guards.into_iter().partition(depends);
            body.guards.extend(shared);
            let is_shared_list = operation.patches.iter().any(|patch| matches!(patch, Patch::List(cel)
                if matches!(cel, Cel::If { .. }) && !operation.location.cel().any_part(&|part| *part == Cel::atom(&*visited.index))));
            if is_shared_list {
                return Err(Problem::new(
                    "the addition to a list for each element of another one",
                    "the first element may have to create the list, and the others not",
                    "write two rules: one that creates the list, one that adds to it",
                )
                .at(at));
            }
            body.patches.extend(own);
            body.patches.extend(operation.patches);
        }
        Ok(body)
    }

    fn overlay(
        &self,
        overlay: &Value,
        entry: &Value,
        visited: &Visited<'a>,
        scope: &Scope<'a>,
        condition: Cel,
        at: &Pointer,
    ) -> Result<Vec<Stage>, Refusal> {
        let ordered =
            |keeps_order| self.ordered(overlay, entry, visited, scope, condition.clone(), keeps_order, at);
        let exact = ordered(true);
        if !self.options.accepts.contains(&Difference::Order) {
            return exact;
        }
        let shorter = ordered(false)?;
        let texts = |stages: &[Stage]| stages.iter().map(|stage| stage.cel().to_string()).collect::<Vec<_>>();
        match exact {
            // Init containers run one after the other.
            Ok(exact)
                if texts(&exact) == texts(&shorter)
                    || visited.names.iter().flatten().any(|name| name == "initContainers") =>
            {
                Ok(exact)
            }
            _ => {
                scope
                    .accept(Difference::Order, "an overlay for each element", "it moves the elements")
                    .map_err(|problem| problem.at(at))?;
                Ok(shorter)
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "those of one call, and the order")]
    fn ordered(
        &self,
        overlay: &Value,
        entry: &Value,
        visited: &Visited<'a>,
        scope: &Scope<'a>,
        condition: Cel,
        keeps_order: bool,
        at: &Pointer,
    ) -> Result<Vec<Stage>, Refusal> {
        let start = scope.noted();
        let stages = self.stages_of_overlay(overlay, entry, visited, scope, condition, keeps_order, at)?;
        let missing = scope.values_since(start).into_iter().find(|(_, fails)| *fails);
        if let Some((value, _)) = missing.filter(|_| has_other_anchors(overlay)) {
            return Err(Problem::new(
                format!("the variable `{value}` beside an anchor in `foreach`"),
                "where it has no value the classic rule fails, also if the anchor does not hold",
                "give it a default with `||`, or write the anchor as a precondition",
            )
            .at(at));
        }
        Ok(stages)
    }

    #[expect(clippy::too_many_arguments, reason = "those of one call, and the order")]
    fn stages_of_overlay(
        &self,
        overlay: &Value,
        entry: &Value,
        visited: &Visited<'a>,
        scope: &Scope<'a>,
        condition: Cel,
        keeps_order: bool,
        at: &Pointer,
    ) -> Result<Vec<Stage>, Refusal> {
        if entry.get("order").and_then(Value::as_str) == Some("Ascending") && keeps_order {
            return Err(Problem::new(
                "an overlay for each element in ascending order",
                "it reverses the elements that it changes",
                "leave `order` out",
            )
            .at(at));
        }
        let loops: Vec<Loop> = visited
            .names
            .iter()
            .map(|names| Loop {
                names: names.clone(),
                variable: visited.variable.clone(),
                condition: condition.clone(),
            })
            .collect();
        let (lists, rest) = (split(overlay, true), split(overlay, false));
        let translate = |value: &Value, is_patched: bool, scope: &Scope<'a>, used: Vec<String>| {
            let overlay = Overlay {
                scope,
                kinds: self.kinds,
                schemas: &self.options.schemas,
                loops: &loops,
                depth: usize::from(is_patched),
                used,
                keeps_order,
                is_legacy: false,
            };
            let mut root = self.root.clone();
            root.is_patched |= is_patched;
            overlay.map(value, &root, at)
        };
        let mut stages = Vec::new();
        if let Some(lists) = lists.filter(|_| !loops.is_empty()) {
            // The loop of the configuration binds the variable again.
            let fragment = translate(&lists, false, scope, Vec::new())?;
            if fragment_uses(&fragment, &visited.variable) {
                return Err(Problem::new(
                    "an overlay for elements of another list",
                    "its list is not the one that `foreach` visits",
                    "visit the list that it changes",
                )
                .at(at));
            }
            stages.extend(Stage::of_fragment(fragment, at)?);
        } else if split(overlay, true).is_some() {
            return Err(Problem::new(
                "an overlay for elements of a computed list",
                "elements are found again by their key, which other elements may have",
                "visit the list of the object, and test its elements in `preconditions`",
            )
            .at(at));
        }
        let Some(rest) = rest else { return Ok(stages) };
        let fragment = translate(&rest, false, scope, scope.loop_variables())?;
        if !fragment_uses(&fragment, &visited.variable) && !fragment_uses(&fragment, &visited.index) {
            stages.extend(same_for_each(fragment, visited, condition, at)?);
            return Ok(stages);
        }
        let fragment = translate(&rest, true, scope, scope.loop_variables())?;
        if !fragment.tests.is_empty() || !fragment.globals.is_empty() || fragment.apply.is_some() {
            return Err(Problem::new(
                "a condition in an overlay for each element",
                "it is tested again after each change",
                "write it as a precondition of the entry",
            )
            .at(at));
        }
        let (guards, patches) = fragment
            .patches
            .into_iter()
            .partition(|patch| matches!(patch, Patch::Step { guards: Some(_), .. }));
        let body = Body { guards, patches, reversed: false };
        stages.push(patch_stage(visited.without_names(), condition, body));
        Ok(stages)
    }
}

/// What is the same for each element: once, if there is one.
fn same_for_each<'a>(
    fragment: Fragment,
    visited: &Visited<'a>,
    condition: Cel,
    at: &Pointer,
) -> Result<Vec<Stage>, Refusal> {
    let name = Cel::atom(&*visited.variable);
    let exists = if !condition.is_true() {
        visited.list.clone().call("exists", [name, condition])
    } else if visited.is_filled {
        Cel::bool(true)
    } else {
        visited.list.clone().call("size", []).compare(Operator::Greater, Cel::int(0))
    };
    let mut once = Stage::of_fragment(fragment, at)?;
    if once.len() > 1 && !exists.is_true() {
        return Err(Problem::new(
            "a part of the overlay that is the same for each element",
            "it takes several mutations, and its condition is that of the object before",
            "write a rule of its own for it",
        )
        .at(at));
    }
    for stage in &mut once {
        stage.condition = Cel::all(vec![exists.clone(), stage.condition.clone()]);
    }
    Ok(once)
}

/// The steps for each element.
#[derive(Default)]
struct Body {
    /// Steps before all elements.
    guards: Vec<Patch>,
    patches: Vec<Patch>,
    reversed: bool,
}

fn patch_stage(visited: Visited<'_>, condition: Cel, body: Body) -> Stage {
    let mut patches = body.guards;
    patches.push(Patch::Each {
        list: visited.list,
        index: visited.index,
        variable: visited.variable,
        condition,
        body: body.patches,
        reversed: body.reversed,
    });
    Stage::patch(patches)
}

/// Whether expressions of a fragment use a variable of a loop outside of it.
fn fragment_uses(fragment: &Fragment, variable: &str) -> bool {
    let patches = super::patches::steps(&fragment.patches);
    fragment.apply.iter().chain([&patches]).chain(&fragment.tests).any(|cel| cel.is_free(variable))
}

/// The part of an overlay with the lists that name the visited element, or the part without them.
fn split(value: &Value, lists: bool) -> Option<Value> {
    match value {
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .filter_map(|(key, member)| Some((key.clone(), split(member, lists)?)))
                .collect();
            (!members.is_empty()).then(|| members.into_iter().collect())
        }
        Value::Array(items) if items.iter().any(names_element) => lists.then(|| value.clone()),
        other => (!lists).then(|| other.clone()),
    }
}

fn names_element(item: &Value) -> bool {
    let Some(members) = item.as_object() else { return false };
    members.iter().any(|(key, value)| {
        let name = split_anchor(key).map_or(&**key, |(name, _)| name);
        let text = value.as_str().unwrap_or_default().replace(' ', "");
        text == format!("{{{{element.{name}}}}}") || text == format!("{{{{element0.{name}}}}}")
    })
}

fn of_trigger(text: &str) -> Problem {
    Problem::new(
        format!("the list `{text}`"),
        "it is one of the trigger, and the elements of the target are found by their names",
        "visit a list of `target`",
    )
}

/// Whether there is an anchor beside those that name the visited element.
fn has_other_anchors(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(key, member)| {
            let own: Value = [(&**key, member.clone())].into_iter().collect();
            (split_anchor(key).is_some() && !names_element(&own)) || has_other_anchors(member)
        }),
        Value::Array(items) => items.iter().any(has_other_anchors),
        _ => false,
    }
}

/// The paths of the lists of the object that an expression visits.
fn list_names(text: &str, value: &Val<'_>, is_targeted: bool) -> Vec<Vec<String>> {
    if let Form::Path(path) = &value.form {
        if is_targeted && path.strict().contains(&Cel::atom("request")) {
            return Vec::new();
        }
        return vec![path.names().to_vec()];
    }
    let text = text.replace(' ', "");
    let text = text.split("||").next().unwrap_or_default();
    let object = if is_targeted { "target." } else { "request.object." };
    let Some(rest) = text.strip_prefix(object) else { return Vec::new() };
    let rest = rest.trim_end_matches("[]");
    if let Some((before, lists)) = rest.split_once('[')
        && let Some(lists) = lists.strip_suffix(']')
        && lists.bytes().all(|byte| byte == b',' || byte.is_ascii_alphanumeric())
        && lists.bytes().any(|byte| byte.is_ascii_alphabetic())
    {
        let before: Vec<String> = before.trim_end_matches('.').split('.').map(str::to_owned).collect();
        return lists
            .split(',')
            .map(|name| before.iter().cloned().chain([name.to_owned()]).collect())
            .collect();
    }
    let is_path = rest.split('.').all(super::cel_text::is_identifier);
    if is_path { vec![rest.split('.').map(str::to_owned).collect()] } else { Vec::new() }
}
