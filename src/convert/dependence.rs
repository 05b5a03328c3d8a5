//! Values that a later mutation of a rule reads, and an earlier one changed.
//!
//! The variables of a classic rule are those of the object before the rule. A mutation of a CEL policy sees the object as
//! the mutations before left it.

use super::cel_text::{Cel, Entry, Operator, Step, bound_names};
use super::context::Variable;
use super::patches::{Name, is_reordered, names_of_place, starts_with};
use super::path::is_template;
use super::problem::Problem;
use super::stages::{Change, Stage};

/// A path that an expression reads: the name that it begins with, and the names below.
#[derive(Clone, Debug, PartialEq)]
struct Read {
    root: String,
    names: Vec<Name>,
}

/// What a mutation writes.
#[derive(Clone, Debug)]
struct Write {
    names: Vec<Name>,
    /// Whether it only changes the order of a list.
    reorders: bool,
}

/// The first of some values that is read in a mutation after one that changes it.
pub(super) fn changed_value<'v>(
    values: &'v [Cel],
    stages: &[Stage],
    variables: &[Variable],
    is_native: bool,
) -> Option<&'v Cel> {
    let read: Vec<(&Cel, Vec<Read>)> = values.iter().map(|value| (value, reads(value))).collect();
    for (index, stage) in stages.iter().enumerate().skip(1) {
        let before = stages.get(..index).unwrap_or_default();
        let written: Vec<Write> = before.iter().flat_map(writes).collect();
        let mut here = reads(stage.cel());
        here.extend(reads(&stage.condition));
        let frozen: Vec<Read> = if is_native || read.is_empty() {
            Vec::new()
        } else {
            before.iter().flat_map(|stage| reads(stage.cel())).collect()
        };
        for (value, paths) in &read {
            let is_changed = paths.iter().filter(|path| here.contains(path)).any(|path| {
                let is_frozen = frozen.contains(path);
                changes_read(path, &written, variables, is_frozen)
            });
            if is_changed {
                return Some(value);
            }
        }
    }
    None
}

/// Whether one of two lists of mutations changes what the other reads or writes. The order of lists is left out of account.
pub(super) fn interfere(one: &[Stage], other: &[Stage]) -> bool {
    let [first, second] = [one, other].map(|stages| stages.iter().flat_map(writes).collect());
    meet((one, first), (other, second), &[])
}

/// Whether one of two mutations changes what the other reads or writes, the order of a list included.
pub(super) fn depend(one: &Stage, other: &Stage, variables: &[Variable]) -> bool {
    let all = |stage: &Stage| {
        let writes = writes(stage).into_iter();
        writes.map(|write| Write { reorders: false, ..write }).collect::<Vec<_>>()
    };
    meet((std::slice::from_ref(one), all(one)), (std::slice::from_ref(other), all(other)), variables)
}

fn meet(
    (one, first): (&[Stage], Vec<Write>),
    (other, second): (&[Stage], Vec<Write>),
    variables: &[Variable],
) -> bool {
    let reads_of = |stages: &[Stage]| {
        let own = |stage: &Stage| [resolved_reads(stage.cel()), resolved_reads(&stage.condition)];
        stages.iter().flat_map(own).flatten().collect::<Vec<_>>()
    };
    first.iter().any(|write| second.iter().any(|other| meets(&write.names, other)))
        || reads_of(one).iter().any(|read| changes_read(read, &second, variables, false))
        || reads_of(other).iter().any(|read| changes_read(read, &first, variables, false))
}

/// Whether a mutation changes nothing where it was made before: it sets members to constants, or where they are missing.
pub(super) fn is_repeatable(stage: &Stage) -> bool {
    let Some(settings) = settings(stage) else { return false };
    // What is added at an index of a list comes again.
    let is_member = |names: &[Name]| matches!(names.last(), Some(Name::Key(key)) if !key.bytes().all(|byte| byte.is_ascii_digit()));
    settings.iter().all(|(names, value)| {
        let is_own = value_if_missing(names, value).is_some_and(|(_, value)| value.is_constant());
        is_member(names) && (value.is_constant() || is_own)
    })
}

/// A mutation that sets a single member, where it is missing: the path of the member, and the same mutation for objects
/// that do not have it.
pub(super) fn only_if_missing(stage: &Stage) -> Option<(Cel, Stage)> {
    let settings = settings(stage)?;
    let [(names, value)] = settings.as_slice() else { return None };
    let (path, default) = value_if_missing(names, value)?;
    let without = |cel: &Cel| cel.replaced(value, default);
    let change = match &stage.change {
        Change::Apply(cel) => Change::Apply(without(cel)),
        Change::Patch(cel) => Change::Patch(without(cel)),
    };
    Some((path.clone(), Stage { condition: stage.condition.clone(), change }))
}

/// The members that a mutation sets, and their values. `None` if it may do something else.
fn settings(stage: &Stage) -> Option<Vec<(Vec<Name>, &Cel)>> {
    let mut found = Vec::new();
    if stage.is_apply() {
        set_fields(stage.cel(), &mut Vec::new(), &mut found);
        return Some(found);
    }
    add_steps(stage.cel(), &mut found).then_some(found)
}

/// The path of a member, and the value that it gets where it is missing: `object.?a.orValue(value)`.
fn value_if_missing<'c>(names: &[Name], value: &'c Cel) -> Option<(&'c Cel, &'c Cel)> {
    let Cel::Call { of: Some(path), name: "orValue", arguments } = value else { return None };
    let [default] = arguments.as_slice() else { return None };
    (names_in_object(path).as_deref() == Some(names)).then_some((path, default))
}

/// What an apply configuration sets.
fn set_fields<'c>(cel: &'c Cel, at: &mut Vec<Name>, found: &mut Vec<(Vec<Name>, &'c Cel)>) {
    let members: Vec<(Name, &Cel)> = match cel {
        Cel::Message { fields, .. } => {
            fields.iter().map(|field| (Name::Key(field.key.clone()), &field.value)).collect()
        }
        Cel::Map(entries) => {
            let name = |key: &Cel| key.as_text().map_or(Name::Any, |text| Name::Key(text.to_owned()));
            entries.iter().map(|entry| (name(&entry.key), &entry.value)).collect()
        }
        _ => return found.push((at.clone(), cel)),
    };
    for (name, value) in members {
        at.push(name);
        set_fields(value, at, found);
        at.pop();
    }
}

/// What the steps of a JSON patch set; `false` if they may do something else.
fn add_steps<'c>(cel: &'c Cel, found: &mut Vec<(Vec<Name>, &'c Cel)>) -> bool {
    match cel {
        Cel::List(parts) | Cel::Chain { operator: Operator::Plus, operands: parts } => {
            parts.iter().all(|part| add_steps(part, found))
        }
        step @ Cel::Message { .. } => {
            let Some(Step { op, path, value: Some(value) }) = step.as_step() else { return false };
            found.push((names_of_place(path), value));
            op == "add"
        }
        // A map that is missing.
        Cel::If { condition, then, otherwise } => {
            let Cel::Not(test) = &**condition else { return false };
            let start = found.len();
            let is_step = add_steps(then, found) && **otherwise == Cel::List(Vec::new());
            let missing = test.tested_path().and_then(|path| names_in_object(&path));
            let sets = |(names, value): &(Vec<Name>, &Cel)| {
                Some(names) == missing.as_ref() && **value == Cel::Map(Vec::new())
            };
            is_step && found.drain(start..).all(|setting| sets(&setting))
        }
        _ => false,
    }
}

/// The names of a path in the object, or in its template.
fn names_in_object(path: &Cel) -> Option<Vec<Name>> {
    let read = path_of(path)?;
    match (&*read.root, read.names.split_first()) {
        ("object", _) => Some(read.names),
        ("variables", Some((Name::Key(name), below))) if is_template(name) => Some(below.to_vec()),
        _ => None,
    }
}

/// A value that is read after it was changed.
pub(super) fn changed(value: &Cel) -> Problem {
    Problem::new(
        format!("the value `{value}`"),
        "the rule takes several mutations, and one before changes what it reads",
        "write two rules",
    )
}

/// Whether mutations but the last change what conditions read.
pub(super) fn change_conditions<'c>(
    conditions: impl IntoIterator<Item = &'c Cel>,
    stages: &[Stage],
    variables: &[Variable],
) -> bool {
    let Some((_, before)) = stages.split_last() else { return false };
    let written: Vec<Write> = before.iter().flat_map(writes).collect();
    conditions.into_iter().flat_map(reads).any(|path| changes_read(&path, &written, variables, false))
}

/// Whether something written changes what is read. A variable that was computed before is frozen.
fn changes_read(read: &Read, written: &[Write], variables: &[Variable], is_frozen: bool) -> bool {
    if read.root == "variables" {
        let Some((Name::Key(name), below)) = read.names.split_first() else { return false };
        if is_template(name) {
            let inner = Read { root: "object".to_owned(), names: below.to_vec() };
            return changes_read(&inner, written, variables, is_frozen);
        }
        if is_frozen {
            return false;
        }
        let Some(index) = variables.iter().position(|variable| variable.name == *name) else { return false };
        let (earlier, own) = variables.split_at(index);
        let paths = own.first().map(|variable| reads(&variable.cel)).unwrap_or_default();
        return paths.iter().any(|path| changes_read(path, written, earlier, false));
    }
    if matches!(
        &*read.root,
        "request" | "namespaceObject" | "oldObject" | "resource" | "globalContext" | "image"
    ) {
        return false;
    }
    written.iter().any(|write| {
        if read.root == "object" {
            return meets(&read.names, write);
        }
        // The variable of a loop stands for the elements of some list.
        let after = |(index, name): (usize, &Name)| (*name == Name::Any).then_some(index + 1);
        write.names.iter().enumerate().filter_map(after).any(|start| {
            let names = write.names.get(start..).unwrap_or_default().to_vec();
            meets(&read.names, &Write { names, reorders: write.reorders })
        })
    })
}

/// Whether one path is the other, above or below it.
fn meets(read: &[Name], write: &Write) -> bool {
    if write.reorders {
        // The order of a list matters for what is read by an index.
        return starts_with(read, &write.names) && read.get(write.names.len()) == Some(&Name::Element);
    }
    starts_with(read, &write.names) || starts_with(&write.names, read)
}

/// The paths that an expression reads.
fn reads(cel: &Cel) -> Vec<Read> {
    let mut found = Vec::new();
    collect_reads(cel, &mut found);
    found
}

fn collect_reads(cel: &Cel, found: &mut Vec<Read>) {
    if let Some(read) = path_of(cel) {
        if !found.contains(&read) {
            found.push(read);
        }
        collect_keys(cel, found);
        return;
    }
    cel.children().into_iter().for_each(|child| collect_reads(child, found));
}

/// The same, with the lists of loops for their variables.
fn resolved_reads(cel: &Cel) -> Vec<Read> {
    let mut found = Vec::new();
    match (path_of(cel), looped(cel)) {
        (Some(read), _) => {
            found.push(read);
            collect_keys(cel, &mut found);
        }
        (None, Some((list, variable, body))) => {
            found.extend(resolved_reads(list));
            let elements = list_of(list);
            let resolved = |read: Read| match &elements {
                Some(Read { root, names }) if read.root == variable => {
                    let names = names.iter().cloned().chain([Name::Any]).chain(read.names).collect();
                    Read { root: root.clone(), names }
                }
                _ => read,
            };
            found.extend(body.iter().flat_map(resolved_reads).map(resolved));
        }
        (None, None) => found.extend(cel.children().into_iter().flat_map(resolved_reads)),
    }
    found
}

/// The list of a loop, the name of its elements, and what is evaluated for each.
fn looped(cel: &Cel) -> Option<(&Cel, &str, &[Cel])> {
    let Cel::Call { of: Some(list), name, arguments } = cel else { return None };
    let last = bound_names(name).checked_sub(1)?;
    let (variable, body) = arguments.get(last..)?.split_first()?;
    let Cel::Atom(variable) = variable else { return None };
    Some((list, variable, body))
}

/// The path of a list, or of the one that it is a part of.
fn list_of(cel: &Cel) -> Option<Read> {
    match cel {
        Cel::Call { of: Some(list), name: "orValue" | "filter", .. } => list_of(list),
        path => path_of(path),
    }
}

/// What the computed keys of a path read.
fn collect_keys(cel: &Cel, found: &mut Vec<Read>) {
    match cel {
        Cel::Member { of, .. } => collect_keys(of, found),
        Cel::Index { of, key, .. } => {
            collect_keys(of, found);
            collect_reads(key, found);
        }
        _ => {}
    }
}

fn path_of(cel: &Cel) -> Option<Read> {
    match cel {
        Cel::Member { of, name, .. } => {
            let mut read = path_of(of).or_else(|| root_of(of))?;
            read.names.push(Name::Key(name.clone()));
            Some(read)
        }
        Cel::Index { of, key, .. } => {
            let mut read = path_of(of).or_else(|| root_of(of))?;
            read.names.push(match &**key {
                Cel::Text(text) => Name::Key(text.clone()),
                Cel::Atom(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => Name::Element,
                _ => Name::Any,
            });
            Some(read)
        }
        _ => None,
    }
}

fn root_of(cel: &Cel) -> Option<Read> {
    let Cel::Atom(name) = cel else { return None };
    Some(Read { root: name.clone(), names: Vec::new() })
}

/// What a mutation writes.
fn writes(stage: &Stage) -> Vec<Write> {
    let mut found = Vec::new();
    if stage.is_apply() {
        configured(stage.cel(), &mut Vec::new(), &mut found);
    } else {
        patched(stage.cel(), &mut found);
    }
    found
}

/// What a part of an apply configuration writes.
fn configured(cel: &Cel, at: &mut Vec<Name>, found: &mut Vec<Write>) {
    let mut below = |name: Name, value: &Cel| {
        at.push(name);
        configured(value, at, found);
        at.pop();
    };
    match cel {
        Cel::Message { fields, .. } if !fields.is_empty() => {
            for Entry { key, value, .. } in fields {
                // An element is found by its own key.
                let is_own_key = matches!(value, Cel::Member { of, name, .. } if name == key && matches!(&**of, Cel::Atom(_)));
                if !is_own_key {
                    below(Name::Key(key.clone()), value);
                }
            }
        }
        Cel::Map(entries) if !entries.is_empty() => {
            for Entry { key, value, .. } in entries {
                below(key.as_text().map_or(Name::Any, |text| Name::Key(text.to_owned())), value);
            }
        }
        Cel::If { then, otherwise, .. } => {
            configured(then, at, found);
            configured(otherwise, at, found);
        }
        Cel::Call { of: None, name: "optional.of", arguments } => {
            arguments.iter().for_each(|argument| configured(argument, at, found));
        }
        Cel::Call { of: None, name: "optional.none", .. } => {}
        Cel::Call { of: Some(_), name: "map", arguments } => {
            arguments.last().into_iter().for_each(|element| below(Name::Any, element));
        }
        Cel::List(elements) => elements.iter().for_each(|element| below(Name::Any, element)),
        Cel::Chain { operator: Operator::Plus, operands }
            if operands.iter().any(|one| matches!(one, Cel::List(_) | Cel::Call { name: "map", .. })) =>
        {
            operands.iter().for_each(|operand| configured(operand, at, found));
        }
        _ => found.push(Write { names: at.clone(), reorders: false }),
    }
}

/// What the steps of a JSON patch write.
fn patched(cel: &Cel, found: &mut Vec<Write>) {
    if let Some(step) = cel.as_step() {
        let reorders = step.value.is_some_and(is_reordered);
        found.push(Write { names: names_of_place(step.path), reorders });
        return;
    }
    cel.children().into_iter().for_each(|child| patched(child, found));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::patches::Patch;

    fn path(names: &[&str]) -> Cel {
        names.iter().fold(Cel::atom("object"), |of, name| of.member(name))
    }

    fn patch(path: Cel, value: Cel) -> Stage {
        Stage::patch(vec![Patch::step(Cel::patch("add", path, Some(value)))])
    }

    #[test]
    fn a_value_that_an_earlier_mutation_changes_is_found() {
        let first = patch(Cel::text("/metadata/labels/a"), Cel::text("x"));
        let changed = path(&["metadata", "labels", "a"]);
        let other = path(&["metadata", "labels", "b"]);
        let found = |value: &Cel| {
            let second = patch(Cel::text("/spec/x"), value.clone());
            changed_value(std::slice::from_ref(value), &[first.clone(), second], &[], false).is_some()
        };
        assert!(found(&changed));
        assert!(found(&path(&["metadata", "labels"])));
        assert!(!found(&other));
        // Both are of the same mutation.
        let both = [patch(Cel::text("/metadata/labels/a"), changed.clone())];
        assert!(changed_value(&[changed], &both, &[], false).is_none());
    }

    #[test]
    fn another_order_matters_for_an_index() {
        let list = path(&["spec", "containers"]);
        let filtered = || list.clone().call("filter", [Cel::atom("c"), Cel::atom("c").member("tty")]);
        let first = patch(Cel::text("/spec/containers"), filtered().plus(filtered()));
        let second = |value: &Cel| patch(Cel::text("/spec/x"), value.clone());
        let found = |value: &Cel| {
            changed_value(std::slice::from_ref(value), &[first.clone(), second(value)], &[], false).is_some()
        };
        assert!(found(&list.clone().index(Cel::int(0)).member("image")));
        assert!(!found(&list.clone().call("size", [])));
    }
}
