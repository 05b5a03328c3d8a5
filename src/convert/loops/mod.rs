//! `foreach`.

mod overlay;

use crate::convert::Options;
use crate::convert::cel_text::Cel;
use crate::convert::conditions::{self, Tests};
use crate::convert::context::{self, Variable};
use crate::convert::dependence;
use crate::convert::expression::{Scope, loop_variable};
use crate::convert::json_patch;
use crate::convert::patches::{Patch, index_name};
use crate::convert::path::{Base, Path};
use crate::convert::place::Place;
use crate::convert::problem::{Problem, Refusal};
use crate::convert::stages::Stage;
use crate::convert::ty::Ty;
use crate::convert::val::{Form, Val};
use crate::semantics::Semantics;
use crate::value::{GroupVersionKind, Pointer, Value};

use overlay::ElementOverlay;

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
            let at = &at.key("patchStrategicMerge");
            let (visited, scope) = (&visited, &inner);
            return self.overlay(&ElementOverlay { overlay, entry, visited, scope, condition, at });
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
        let value = crate::convert::expression::template(scope, text).map_err(problem)?;
        if let Some(base) = text.trim().strip_suffix("[]")
            && let Ok(Val { form: Form::Path(path), .. }) = crate::convert::expression::template(scope, base)
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
            let is_of_element =
                operation.location.cel().any_part(&|part| *part == Cel::atom(&*visited.index));
            if operation.may_create && !is_of_element {
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

fn of_trigger(text: &str) -> Problem {
    Problem::new(
        format!("the list `{text}`"),
        "it is one of the trigger, and the elements of the target are found by their names",
        "visit a list of `target`",
    )
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
    let is_path = rest.split('.').all(crate::convert::cel_text::is_identifier);
    if is_path { vec![rest.split('.').map(str::to_owned).collect()] } else { Vec::new() }
}
