//! JSON patches of classic rules as steps of CEL.

use std::collections::BTreeSet;

use crate::value::{Pointer, Value, unescaped_token};

use super::cel_text::{Cel, Operator};
use super::expression::{Mixed, Scope};
use super::overlay::json;
use super::patch_text::{Parsed, legacy_item};
use super::patches::{Location, Patch, holds_large, large_number};
use super::path::Path;
use super::place::Place;
use super::problem::{self, Difference, Problem, Refusal};
use super::ty::Ty;
use super::val::{Form, Val};

/// The steps of one operation.
#[derive(Debug)]
pub(super) struct Operation {
    /// What creates missing parents.
    pub(super) guards: Vec<Patch>,
    pub(super) patches: Vec<Patch>,
    /// The path as written in CEL, for what later operations read.
    pub(super) location: Location,
    /// What the operation reads to decide: places that earlier ones may have changed.
    reads: Vec<Location>,
    /// A member of labels or annotations with a constant name, and its value.
    pub(super) member: Option<(Vec<String>, Cel)>,
    /// Whether elements after it have another index then.
    pub(super) shifts: Option<Cel>,
    /// Whether it adds to a list that may be missing.
    pub(super) may_create: bool,
}

/// Translates the operations of a patch.
pub(super) fn operations<'a>(
    text: &str,
    root: &Place<'a>,
    scope: &Scope<'a>,
    at: &Pointer,
) -> Result<Vec<Operation>, Refusal> {
    let parsed = Parsed::read(text).map_err(|problem| problem.at(at))?;
    let items = problem::parts(Some(&parsed.value), "operations").map_err(|problem| problem.at(at))?;
    let translate = |(index, item): (usize, &Value)| {
        let pointer = Pointer::ROOT.index(index);
        Translation { parsed: &parsed, root, scope, at, is_legacy: false }.operation(item, &pointer)
    };
    items.iter().enumerate().map(translate).collect()
}

/// Translates the `patches` of Kyverno before 1.2: `replace` sets a member as `add` does, and values have their types.
pub(super) fn legacy_operations<'a>(
    patches: &Value,
    root: &Place<'a>,
    scope: &Scope<'a>,
    at: &Pointer,
) -> Result<Vec<Operation>, Refusal> {
    let items = problem::parts(Some(patches), "operations").map_err(|problem| problem.at(at))?;
    let translate = |(index, item): (usize, &Value)| {
        let item = legacy_item(item);
        let parsed = Parsed { value: Value::Null, variables: Vec::new(), bare: Vec::new() };
        let at = at.index(index);
        let translation = Translation { parsed: &parsed, root, scope, at: &at, is_legacy: true };
        translation.operation(&item, &Pointer::ROOT.index(index))
    };
    items.iter().enumerate().map(translate).collect()
}

/// Groups operations of which none reads what an earlier one of the group changes.
pub(super) fn grouped(operations: Vec<Operation>) -> Vec<Vec<Operation>> {
    let mut groups: Vec<Vec<Operation>> = Vec::new();
    // The texts of the places that the last group changes.
    let mut changed: BTreeSet<String> = BTreeSet::new();
    for operation in operations {
        let conflicts = operation.reads.iter().any(|read| overlaps(&text_of(read), &changed));
        if groups.is_empty() || conflicts {
            groups.push(Vec::new());
            changed.clear();
        }
        changed.insert(text_of(&operation.location));
        if let Some(group) = groups.last_mut() {
            group.push(operation);
        }
    }
    groups
}

/// The text of a place, without the quote at its end.
fn text_of(location: &Location) -> String {
    location.cel().to_string().trim_end_matches('"').to_owned()
}

/// Whether a place is one of others, above or below one of them.
fn overlaps(place: &str, others: &BTreeSet<String>) -> bool {
    const AFTER_PART: [char; 3] = ['/', '"', ' '];
    let mut ends = place.match_indices(AFTER_PART).map(|(end, _)| end).chain([place.len()]);
    ends.any(|end| others.contains(&place[..end]))
        || AFTER_PART.into_iter().any(|next| {
            let above = format!("{place}{next}");
            others.range(above.clone()..).next().is_some_and(|other| other.starts_with(&above))
        })
}

struct Translation<'t, 'a> {
    parsed: &'t Parsed,
    root: &'t Place<'a>,
    scope: &'t Scope<'a>,
    at: &'t Pointer,
    /// Whether it is of `patches`, before Kyverno 1.2.
    is_legacy: bool,
}

/// The place of an operation.
struct Target<'a> {
    path: Path<'a>,
    parent: Path<'a>,
    location: Location,
    parent_location: Location,
    last: Last,
    guards: Vec<Patch>,
    names: Vec<Option<String>>,
    /// Whether every part of the path is sure to be there.
    is_visited: bool,
}

#[derive(PartialEq)]
enum Last {
    Key,
    Index(i64),
    /// The index of a loop.
    Visited(Cel),
    End,
}

impl<'a> Translation<'_, 'a> {
    fn refuse<T>(&self, construct: impl Into<String>, reason: &str, advice: &str) -> Result<T, Refusal> {
        Err(Problem::new(construct, reason, advice).at(self.at))
    }

    fn operation(&self, item: &Value, pointer: &Pointer) -> Result<Operation, Refusal> {
        let op = item.get("op").and_then(Value::as_str).unwrap_or_default();
        let path = item.get("path").and_then(Value::as_str).unwrap_or_default();
        let path = self.parsed.restored_text(path);
        let names_element = path.rsplit('/').next().is_some_and(|last| last.parse::<i64>().is_ok());
        let sets = op == "add" || (self.is_legacy && op == "replace" && !names_element);
        let target = self.target(&path, sets)?;
        let is_spliced = self.is_legacy
            && op != "remove"
            && !matches!(target.last, Last::Key)
            && item.get("value").is_some_and(|value| value.as_array().is_some());
        if is_spliced && op == "add" && self.may_splice(item, &target) {
            let value = self.value(item, pointer)?;
            return Ok(spliced(target, value));
        }
        if is_spliced {
            return self.refuse(
                "a list that becomes a part of a list",
                "its elements are added where the list lacks them, and an index counts in the result",
                "add them at index 0 or at the end",
            );
        }
        match if sets { "add" } else { op } {
            "add" => {
                let value = self.value(item, pointer)?;
                self.add(target, value)
            }
            "replace" if path.ends_with('/') => {
                self.refuse("the path of a `replace`", "it ends with an empty key", "correct it")
            }
            "replace" if target.last == Last::End => {
                self.refuse("the path of a `replace`", "`-` names no element", "correct it")
            }
            "replace" => {
                let value = self.value(item, pointer)?;
                let step = Cel::patch("replace", target.location.cel(), Some(value));
                let patch = if target.is_visited || target.path.is_sure() {
                    Patch::step(step)
                } else {
                    // Reading the old value keeps the error where there is none.
                    Patch::List(Cel::List(vec![target.path.strict()]).call("map", [Cel::atom("old"), step]))
                };
                let reads = vec![target.location.clone()];
                Ok(Operation { reads, ..Operation::new(target.location, vec![patch]) })
            }
            "remove" => self.remove(target),
            "copy" | "move" => {
                let from = item.get("from").and_then(Value::as_str).unwrap_or_default();
                let source = self.target(&self.parsed.restored_text(from), false)?;
                let name = if op == "copy" { "copied" } else { "moved" };
                let step = Cel::patch("add", target.location.cel(), Some(Cel::atom(name)));
                let mut patches = Vec::new();
                patches.push(Patch::List(
                    Cel::List(vec![source.path.strict()]).call("map", [Cel::atom(name), step]),
                ));
                if op == "move" {
                    patches.insert(0, Patch::step(Cel::patch("remove", source.location.cel(), None)));
                }
                let reads = vec![source.location, target.location.clone()];
                Ok(Operation { reads, ..Operation::new(target.location, patches) })
            }
            "test" => self.refuse(
                "the operation `test`",
                "a test that fails is an error of a classic rule, and drops a CEL patch without a word",
                "write a precondition",
            ),
            other => self.refuse(format!("the operation `{other}`"), "it is not known", "correct it"),
        }
    }

    /// Whether the elements of a list are added at an end of a list of other values, and differ.
    fn may_splice(&self, item: &Value, target: &Target<'a>) -> bool {
        let new = item.get("value").and_then(Value::as_array).unwrap_or_default();
        let is_same = |(index, one): (usize, &Value)| new.iter().skip(index + 1).any(|other| one == other);
        let is_computed = new.iter().any(super::expression::holds_variables);
        matches!(target.last, Last::End | Last::Index(0))
            && !matches!(target.parent.ty.element(), Ty::Any | Ty::List(_))
            && (new.len() == 1 || !(is_computed || new.iter().enumerate().any(is_same)))
    }

    /// The value of an operation.
    fn value(&self, item: &Value, pointer: &Pointer) -> Result<Cel, Refusal> {
        let value = item.get("value").cloned().unwrap_or_default();
        let below = pointer.key("value");
        let restored = self.parsed.restored(&value);
        if holds_large(&restored) {
            return Err(large_number().at(self.at));
        }
        if !super::expression::holds_variables(&restored) {
            return Ok(super::val::literal(&restored));
        }
        if self.is_legacy {
            return json(&restored, self.scope, None, &self.at.key("value"));
        }
        for bare in self.parsed.bare.iter().filter(|bare| below.contains(bare)) {
            self.check_bare(bare)?;
        }
        if self.parsed.bare.contains(&below) {
            let text = restored.as_str().unwrap_or_default();
            let value =
                Mixed::of(text, self.scope).and_then(Mixed::value).map_err(|problem| problem.at(self.at))?;
            return match value.present() {
                None => Ok(value.strict()),
                Some(_) => self.refuse(format!("the value `{text}`"), "it may be null", "give it a default"),
            };
        }
        text_values(&restored, self.scope, self.at)
    }

    /// A text that is not quoted has the type that YAML reads.
    fn check_bare(&self, pointer: &Pointer) -> Result<(), Refusal> {
        let text = self.parsed.value.pointed(pointer).and_then(Value::as_str).unwrap_or_default();
        let text = self.parsed.restored_text(text);
        let problem = |problem: Problem| problem.at(self.at);
        let mixed = Mixed::of(&text, self.scope).map_err(problem)?;
        let is_fine = match &mixed {
            Mixed::Whole(value) => match &value.ty {
                Ty::Number | Ty::Bool | Ty::List(_) => true,
                Ty::Text(_) => is_image(value),
                _ => false,
            },
            Mixed::Parts(_) => {
                let first = text.chars().next().unwrap_or_default();
                let value = mixed.value().map_err(problem)?;
                matches!(value.ty, Ty::Text(true)) && (first.is_ascii_alphabetic() || first == '/')
            }
        };
        if is_fine {
            return Ok(());
        }
        self.scope
            .accept(
                Difference::YamlTypes,
                &format!("the value `{text}` without quotes"),
                "YAML reads its type after the variable is replaced: `true`, `5` and `null` are no texts then",
            )
            .map_err(problem)
    }

    /// Follows a path.
    fn target(&self, path: &str, creates: bool) -> Result<Target<'a>, Refusal> {
        let Some(rest) = path.strip_prefix('/') else {
            return self.refuse(format!("the path `{path}`"), "it does not begin with `/`", "correct it");
        };
        let pieces: Vec<&str> = rest.split('/').collect();
        let count = pieces.len();
        let mut at = self.root.clone();
        let mut parent = at.clone();
        let mut guards: Vec<Patch> = Vec::new();
        let mut names = Vec::new();
        let mut last = Last::Key;
        let mut is_visited = true;
        for (index, piece) in pieces.into_iter().enumerate() {
            let is_last = index + 1 == count;
            parent = at.clone();
            let step = self.step(&at, piece, is_last, creates)?;
            if matches!(&step.1, Last::Visited(index) if visited(&at.path, index, self.scope).is_some()) {
                // A list that is visited is there.
                guards.clear();
            } else if creates && index > 0 && !at.path.is_sure() && !matches!(at_kind(&last), Some(())) {
                // The parent may be missing.
                let empty = match step.1 {
                    Last::Key => Cel::Map(Vec::new()),
                    _ => Cel::List(Vec::new()),
                };
                let step = Cel::patch("add", at.location.cel(), Some(empty));
                guards.push(Patch::Step {
                    condition: at.path.has().negated(),
                    step,
                    guards: Some(at.location.clone()),
                });
            }
            names.push(match step.1 {
                Last::Key if !piece.contains("{{") => Some(unescaped_token(piece)),
                _ => None,
            });
            is_visited = matches!(step.1, Last::Visited(_));
            at = step.0;
            last = step.1;
        }
        Ok(Target {
            path: at.path,
            parent: parent.path,
            location: at.location,
            parent_location: parent.location,
            last,
            guards,
            names,
            is_visited,
        })
    }

    /// One step of a path.
    fn step(
        &self,
        at: &Place<'a>,
        piece: &str,
        is_last: bool,
        creates: bool,
    ) -> Result<(Place<'a>, Last), Refusal> {
        let problem = |problem: Problem| problem.at(self.at);
        if piece.contains("{{") {
            let value = Mixed::of(piece, self.scope).and_then(Mixed::value).map_err(problem)?;
            let mut place = at.clone();
            if matches!(value.ty, Ty::Number) {
                let index = value.strict();
                place.path = element_path(&at.path, &index, self.scope);
                place.location = at.location.index(index.clone());
                return Ok((place, Last::Visited(index)));
            }
            let key = super::expression::as_text(&value).map_err(problem)?;
            place.path = at.path.at(key.clone(), at.path.ty.member("*"));
            place.location = at.location.with(vec![Cel::text("/"), key]);
            return Ok((place, Last::Key));
        }
        let is_list = at.path.ty.is_list();
        let number = piece.parse::<i64>().ok();
        if piece == "-" || (number == Some(-1) && is_last && creates) {
            let mut place = at.clone();
            place.location = at.location.key("-");
            return Ok((place, Last::End));
        }
        if let Some(number) = number
            && (is_list || matches!(at.path.ty, Ty::Any))
        {
            if !is_list {
                return self.refuse(
                    format!("the index `{piece}` in a path"),
                    "the schema does not say whether it is an index or a key",
                    "give the definition of the kind with `--crds`",
                );
            }
            if number < 0 {
                return self.refuse(
                    format!("the index `{piece}` in a path"),
                    "it counts from the end",
                    "use `foreach`",
                );
            }
            // Classic patches fill a list up to an index.
            let is_first_container = number == 0 && at.path.is_sure();
            if !is_last && creates && !is_first_container {
                return self.refuse(
                    format!("the index `{piece}` in a path"),
                    "the classic patch fills the list with nulls up to it",
                    "use `foreach`",
                );
            }
            let index = Cel::int(number);
            let mut place = at.clone();
            place.path = at.path.at(index, at.path.ty.element());
            place.location = at.location.key(piece);
            return Ok((place, Last::Index(number)));
        }
        Ok((at.member(&unescaped_token(piece)), Last::Key))
    }

    fn add(&self, target: Target<'a>, value: Cel) -> Result<Operation, Refusal> {
        let step = |location: &Location, value: Cel| Cel::patch("add", location.cel(), Some(value));
        let Target { parent, location, parent_location, last, mut guards, names, .. } = target;
        match last {
            Last::Key => {
                let names: Option<Vec<String>> = names.into_iter().collect();
                let member = names.map(|names| (names, value.clone()));
                let patches = vec![Patch::step(step(&location, value))];
                Ok(Operation { guards, member, ..Operation::new(location, patches) })
            }
            Last::End | Last::Index(0) => {
                if parent.is_sure() {
                    let shifts = (last == Last::Index(0)).then(|| Cel::int(0));
                    let patches = vec![Patch::step(step(&location, value))];
                    return Ok(Operation { guards, shifts, ..Operation::new(location, patches) });
                }
                // The list itself is not created empty first.
                guards.pop();
                let added = Cel::List(vec![value.clone()]);
                let patch = if parent.ty.is_list() {
                    let known = parent.or(Cel::List(Vec::new()));
                    let all = if last == Last::End { known.plus(added) } else { added.plus(known) };
                    Patch::add(&parent_location, all)
                } else {
                    // It may be something else: `has(list) ? [add to it] : [add it]`.
                    let to_it = Cel::List(vec![step(&location, value)]);
                    Patch::List(Cel::if_else(
                        parent.has(),
                        to_it,
                        Cel::List(vec![step(&parent_location, added)]),
                    ))
                };
                let reads = vec![parent_location.clone()];
                let operation = Operation::new(parent_location, vec![patch]);
                Ok(Operation { guards, reads, may_create: true, ..operation })
            }
            Last::Index(_) if parent.is_sure() => {
                let patches = vec![Patch::step(step(&location, value))];
                Ok(Operation { guards, ..Operation::new(location, patches) })
            }
            Last::Index(_) => self.refuse(
                "an index in a list that may be missing",
                "the classic patch fills the list with nulls up to it",
                "add to the end with `/-`",
            ),
            Last::Visited(_) => self.refuse(
                "the addition of an element at the index of a loop",
                "it moves the elements that the loop visits next",
                "replace the element",
            ),
        }
    }

    fn remove(&self, target: Target<'a>) -> Result<Operation, Refusal> {
        let step = Cel::patch("remove", target.location.cel(), None);
        let reads = vec![target.location.clone()];
        match target.last {
            Last::Key => {
                let patches = vec![Patch::when(target.path.has(), step)];
                Ok(Operation { reads, ..Operation::new(target.location, patches) })
            }
            Last::Index(index) => {
                let size = target.parent.or(Cel::List(Vec::new())).call("size", []);
                let exists = size.compare(Operator::Greater, Cel::int(index));
                let patches = vec![Patch::when(exists, step)];
                let reads = vec![target.parent_location.clone()];
                Ok(Operation { reads, ..Operation::new(target.parent_location, patches) })
            }
            Last::Visited(index) => {
                let patches = vec![Patch::step(step)];
                Ok(Operation { shifts: Some(index), ..Operation::new(target.location, patches) })
            }
            Last::End => self.refuse("the path of a `remove`", "`-` names no element", "correct it"),
        }
    }
}

/// The elements that a list lacks, at one of its ends.
fn spliced(target: Target<'_>, new: Cel) -> Operation {
    let Target { parent, parent_location, last, mut guards, .. } = target;
    if !parent.is_sure() {
        // The list itself is written as a whole.
        guards.pop();
    }
    let name = Cel::atom("e");
    let known = parent.or(Cel::List(Vec::new()));
    let is_missing = name.clone().compare(Operator::In, known.clone()).negated();
    let missing = new.call("filter", [name, is_missing]);
    let all = if last == Last::End { known.plus(missing) } else { missing.plus(known) };
    let patches = vec![Patch::add(&parent_location, all)];
    let reads = vec![parent_location.clone()];
    Operation { guards, reads, ..Operation::new(parent_location, patches) }
}

const fn at_kind(last: &Last) -> Option<()> {
    // An element that a loop visits is there.
    if matches!(last, Last::Visited(_)) { Some(()) } else { None }
}

impl Operation {
    const fn new(location: Location, patches: Vec<Patch>) -> Self {
        Self {
            guards: Vec::new(),
            patches,
            location,
            reads: Vec::new(),
            member: None,
            shifts: None,
            may_create: false,
        }
    }
}

/// The element of a list that a loop visits, by the variable of the loop; else by its index.
fn element_path<'a>(list: &Path<'a>, index: &Cel, scope: &Scope<'a>) -> Path<'a> {
    visited(list, index, scope).unwrap_or_else(|| list.at(index.clone(), list.ty.element()))
}

/// The element with an index, if a loop visits it in this list.
fn visited<'a>(list: &Path<'a>, index: &Cel, scope: &Scope<'a>) -> Option<Path<'a>> {
    scope.visited(index).filter(|element| element.names() == list.names())
}

/// Whether a value is an image, which reads as no other type of YAML.
fn is_image(value: &Val<'_>) -> bool {
    matches!(&value.form, Form::Path(path) if path.names().last().is_some_and(|name| name == "image"))
}

/// A value whose quoted variables are texts.
fn text_values(value: &Value, scope: &Scope<'_>, at: &Pointer) -> Result<Cel, Refusal> {
    let mut failed = None;
    let cel = super::val::literal_with(value, &mut |node| {
        let text = node.as_str()?;
        if !super::expression::holds_variables(node) {
            return None;
        }
        let mixed = Mixed::of(text, scope).and_then(Mixed::value);
        let translated = mixed.and_then(|value| super::expression::as_text(&value));
        match translated {
            Ok(cel) => Some(cel),
            Err(problem) => {
                failed.get_or_insert(problem);
                None
            }
        }
    });
    let has_keys = has_dynamic_key(value);
    match failed {
        Some(problem) => Err(problem.at(at)),
        None if has_keys => json(value, scope, None, at),
        None => Ok(cel),
    }
}

fn has_dynamic_key(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.iter().any(|(key, member)| key.contains("{{") || has_dynamic_key(member))
        }
        Value::Array(items) => items.iter().any(has_dynamic_key),
        _ => false,
    }
}
