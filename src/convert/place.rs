//! Places of objects that a rule writes.

use crate::admission::Schema;
use crate::patch::{ListStrategy, Schemas};
use crate::value::GroupVersionKind;

use super::cel_text::Cel;
use super::patches::{Location, Patch};
use super::path::Path;
use super::ty::{self, Merging, Ty};

/// A place of the objects that a rule changes.
#[derive(Clone, Debug)]
pub(super) struct Place<'a> {
    /// How it is read.
    pub(super) path: Path<'a>,
    /// How it is written in a JSON patch.
    pub(super) location: Location,
    /// The name of its constructor: `Object.spec`.
    pub(super) constructor: String,
    /// What server-side apply knows of it; `None` if nothing.
    pub(super) schemas: Option<Vec<Schema<'a>>>,
    /// Names from the root of the object; elements of lists have none.
    pub(super) steps: Vec<Option<String>>,
    /// The places above that may be missing, the outermost first.
    parents: Vec<(Path<'a>, Location)>,
    /// Whether it is below something that an apply configuration may not hold.
    pub(super) is_patched: bool,
}

impl<'a> Place<'a> {
    /// The root of objects.
    pub(super) fn new(
        path: Path<'a>,
        location: Location,
        constructor: &str,
        schemas: Option<Vec<Schema<'a>>>,
        steps: &[&str],
    ) -> Self {
        let is_patched = schemas.is_none();
        Self {
            path,
            location,
            constructor: constructor.to_owned(),
            schemas,
            steps: steps.iter().map(|name| Some((*name).to_owned())).collect(),
            parents: Vec::new(),
            is_patched,
        }
    }

    pub(super) fn member(&self, name: &str) -> Self {
        let schemas = self.schemas.as_ref().and_then(|schemas| ty::fields(schemas, name));
        let mut place = Self {
            path: self.path.member(name),
            location: self.location.key(name),
            constructor: format!("{}.{name}", self.constructor),
            steps: self.steps.iter().cloned().chain([Some(name.to_owned())]).collect(),
            parents: self.parents.clone(),
            is_patched: self.is_patched || schemas.is_none(),
            schemas,
        };
        if !self.path.is_sure() {
            place.parents.push((self.path.clone(), self.location.clone()));
        }
        place
    }

    /// The element of this list that a loop visits.
    pub(super) fn element(&self, variable: &str, index: &str) -> Self {
        let mut path = self.path.element(variable);
        let schemas = self.schemas.as_ref().and_then(|schemas| ty::elements(schemas));
        if let Some(schemas) = &schemas {
            path.ty = Ty::of(schemas.clone());
        }
        Self {
            path,
            location: self.location.index(Cel::atom(index)),
            constructor: self.constructor.clone(),
            steps: self.steps.iter().cloned().chain([None]).collect(),
            parents: Vec::new(),
            is_patched: self.is_patched || schemas.is_none(),
            schemas,
        }
    }

    /// Whether the API server reads no null here: only fields of custom resources may keep one.
    pub(super) fn is_never_null(&self) -> bool {
        self.schemas.as_ref().is_some_and(|schemas| schemas.iter().all(|schema| schema.is_built_in()))
    }

    /// How server-side apply treats it.
    pub(super) fn merging(&self) -> Merging {
        if self.is_patched {
            return Merging::Unknown;
        }
        self.schemas.as_ref().map_or(Merging::Unknown, |schemas| ty::merging(schemas))
    }

    /// Steps that create what is missing above it.
    pub(super) fn guards(&self) -> Vec<Patch> {
        let guard = |(path, location): &(Path<'a>, Location)| Patch::guard(path.has().negated(), location);
        self.parents.iter().map(guard).collect()
    }

    /// Steps that create what is missing above what is inside of it.
    pub(super) fn guards_below(&self) -> Vec<Patch> {
        let mut guards = self.guards();
        if !self.path.is_sure() {
            guards.push(Patch::guard(self.path.has().negated(), &self.location));
        }
        guards
    }
}

/// What a classic patch does to a list of objects of these kinds; `None` if the kinds differ.
pub(super) fn list_strategy(
    kinds: &[GroupVersionKind],
    schemas: &Schemas,
    steps: &[Option<String>],
) -> Option<Strategy> {
    let path: Vec<Option<&str>> = steps.iter().map(Option::as_deref).collect();
    let of_kind = |kind: &GroupVersionKind| match schemas.list_strategy(kind, &path) {
        ListStrategy::Replace => Strategy::Replace,
        ListStrategy::Set => Strategy::Set,
        ListStrategy::Keys(keys) => Strategy::Keys(keys.iter().map(|key| (*key).to_owned()).collect()),
    };
    let mut all = kinds.iter().map(of_kind);
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// What a classic patch does to a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    Replace,
    Set,
    Keys(Vec<String>),
}
