//! Fields of the object that no kind of a policy has, in its expressions.
//!
//! Checked are policies for objects of built-in kinds alone.

use std::collections::BTreeSet;
use std::mem::take;

use crate::admission::{KindSchemas, Schema};
use crate::cel::{Access, Dialect};
use crate::pattern::nearest;
use crate::policy::fields::any_of;
use crate::policy::warning::{Warning, WarningCause};
use crate::resources::Resources;
use crate::value::{GroupVersionKind, PathSet, Pointer, Step, Text};

use super::constraints::ResourceRule;
use super::{CelPatch, CelVariant, Expression};

/// More kinds than this are not listed.
const LISTED_KINDS: usize = 3;

/// Adds the warnings of a policy as written. Each field is told once, at the first expression that names it.
pub(super) fn find(variant: &CelVariant, dialect: Dialect, found: &mut Vec<Warning>) {
    // The expressions of targets are about other objects.
    if variant.targets.is_some() {
        return;
    }
    let known = KindSchemas::default();
    let Some(kinds) = kinds(&variant.constraints.rules) else { return };
    let schemas: Option<Vec<Schema<'_>>> = kinds.iter().map(|kind| known.of(kind)).collect();
    let Some(schemas) = schemas.filter(|schemas| !schemas.is_empty()) else { return };
    let mut names: Vec<&Text> = kinds.iter().map(|kind| &kind.kind).collect();
    names.dedup();
    let kinds = if names.len() > LISTED_KINDS { "the kinds of the policy".into() } else { any_of(&names) };
    let mut checker = Checker { schemas, kinds, told: BTreeSet::new(), found };
    let mut access = Access::new(dialect, false);
    let variables = &variant.variables;
    let variables = variables.names.iter().zip(&variables.programs).zip(&variables.pointers);
    for ((name, program), pointer) in variables {
        // What decides on the value, then the value itself, which may cover that.
        access.define(name, program.source());
        checker.check(pointer, &take(&mut access.reads));
        access.read(program.source());
        checker.check(pointer, &take(&mut access.reads));
    }
    for Expression { pointer, program, .. } in &variant.conditions {
        access.read(program.source());
        checker.check(pointer, &take(&mut access.reads));
    }
    for mutation in &variant.mutations {
        if let CelPatch::ApplyConfiguration(program) | CelPatch::JsonPatch(program) = &mutation.patch {
            access.write(program.source());
            checker.check(&mutation.pointer, &take(&mut access.reads));
            checker.check(&mutation.pointer, &take(&mut access.writes));
        }
    }
}

/// The kinds of the resources; `None` if they are not all known.
fn kinds(rules: &[ResourceRule]) -> Option<Vec<GroupVersionKind>> {
    let mut found = Vec::new();
    for rule in rules {
        for resource in &rule.resources {
            let before = found.len();
            let has = |list: &[Text], name: &Text| list.iter().any(|known| known == "*" || known == name);
            let matching = Resources::built_in().iter().filter(|known| {
                known.plural == *resource
                    && has(&rule.groups, &known.kind.group)
                    && has(&rule.versions, &known.kind.version)
            });
            found.extend(matching.map(|known| known.kind.clone()));
            if found.len() == before || rule.groups.iter().any(|group| group == "*") {
                return None;
            }
        }
    }
    Some(found)
}

struct Checker<'a> {
    schemas: Vec<Schema<'a>>,
    /// The kinds in words.
    kinds: String,
    told: BTreeSet<String>,
    found: &'a mut Vec<Warning>,
}

impl Checker<'_> {
    fn check(&mut self, pointer: &Pointer, paths: &PathSet) {
        for path in paths.paths() {
            let Some((path, meant)) = self.unknown(&path) else { continue };
            if self.told.insert(path.clone()) {
                let cause = WarningCause::NoSuchField { path, kinds: self.kinds.clone(), meant };
                self.found.push(Warning { pointer: pointer.clone(), rule: None, cause });
            }
        }
    }

    /// The first field of a path that no kind has, and the name that was probably meant.
    fn unknown(&self, path: &[Step]) -> Option<(String, Option<String>)> {
        let mut schemas = self.schemas.clone();
        let mut shown = String::new();
        for (depth, step) in path.iter().enumerate() {
            schemas = match step {
                Step::Elements => {
                    shown.push_str("[]");
                    schemas.iter().filter_map(|schema| Some(schema.forms().list?.elements)).collect()
                }
                Step::Key(name) => {
                    if depth == 0 && matches!(&**name, "apiVersion" | "kind") {
                        return None;
                    }
                    if depth > 0 {
                        shown.push('.');
                    }
                    shown.push_str(name);
                    let maps = || schemas.iter().filter_map(|schema| schema.forms().map);
                    let below: Vec<Schema<'_>> =
                        maps().filter_map(|map| map.field(name).or(map.values)).collect();
                    if below.is_empty() && maps().next().is_some() {
                        let meant = nearest(name, maps().flat_map(|map| map.names()));
                        return Some((shown, meant.map(str::to_owned)));
                    }
                    below
                }
            };
            if schemas.is_empty() {
                return None;
            }
        }
        None
    }
}
