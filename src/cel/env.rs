//! What an expression may name: variables, types, the dialect.

use crate::value::Text;

use super::Program;
use super::types::Type;

/// Whose environment expressions are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// The API server's for `MutatingAdmissionPolicy`.
    Kubernetes,
    /// Kyverno's for `MutatingPolicy`.
    Kyverno,
}

impl Dialect {
    pub(super) fn has_escaped_names(self) -> bool {
        self == Self::Kyverno
    }

    pub(super) fn has_math(self) -> bool {
        self == Self::Kyverno
    }

    pub(super) fn has_bind(self) -> bool {
        self == Self::Kyverno
    }

    /// `orValue` takes any value and yields dyn.
    pub(super) fn has_lenient_or_value(self) -> bool {
        self == Self::Kyverno
    }
}

/// A variable of a policy.
#[derive(Clone, Debug)]
struct Definition {
    name: Text,
    t: Type,
    /// How deep its expression is nested.
    depth: usize,
}

/// The variables and types of expressions.
#[derive(Clone, Debug)]
pub struct Env {
    dialect: Dialect,
    variables: Vec<(Text, Type)>,
    definitions: Vec<Definition>,
    messages: bool,
    namespaced: bool,
}

const REQUEST: &str = "kubernetes.AdmissionRequest";
const NAMESPACE: &str = "kubernetes.Namespace";
const VARIABLES: &str = "variables";

impl Env {
    /// An environment without variables.
    pub const fn new(dialect: Dialect) -> Self {
        Self { dialect, variables: Vec::new(), definitions: Vec::new(), messages: false, namespaced: false }
    }

    /// The environment of a policy: `object`, `oldObject`, `request`, `namespaceObject`, `variables`, in Kyverno also
    /// `exceptions`.
    pub fn policy(dialect: Dialect) -> Self {
        let env = Self::new(dialect)
            .with_variable("object", Type::Dyn)
            .with_variable("oldObject", Type::Dyn)
            .with_variable("request", Type::named(REQUEST))
            .with_variable("namespaceObject", Type::named(NAMESPACE))
            .with_variable(VARIABLES, Type::named(VARIABLES));
        match dialect {
            Dialect::Kubernetes => env,
            Dialect::Kyverno => env.with_variable("exceptions", Type::named("libs.Exception")),
        }
    }

    /// With one more variable.
    #[must_use]
    pub fn with_variable(mut self, name: &str, t: Type) -> Self {
        self.variables.push((name.into(), t));
        self
    }

    /// With `Object{…}` and `JSONPatch{…}`.
    #[must_use]
    pub fn with_messages(mut self) -> Self {
        self.messages = true;
        self
    }

    /// Whether `jsonpatch.escapeKey` is there: in the API server only where there is `JSONPatch{…}`.
    pub(super) fn has_escape_key(&self) -> bool {
        self.messages || self.dialect == Dialect::Kyverno
    }

    /// Of a policy that looks up objects only in its namespace: functions have no parameter for it.
    #[must_use]
    pub const fn namespaced(mut self) -> Self {
        self.namespaced = true;
        self
    }

    pub(super) const fn is_namespaced(&self) -> bool {
        self.namespaced
    }

    /// Declares `variables.NAME` with its expression; `None` for one that has faults.
    pub fn define(&mut self, name: &str, program: Option<&Program>) {
        let t = program.map_or(&Type::Error, Program::output);
        let t = match self.dialect {
            Dialect::Kubernetes => declared(t),
            Dialect::Kyverno => t.clone(),
        };
        self.definitions.push(Definition {
            name: name.into(),
            t,
            depth: program.map_or(0, |program| program.depth),
        });
    }

    /// How deep the expression of a variable of the policy is nested, or that of the deepest.
    pub(super) fn depth_of(&self, name: Option<&str>) -> usize {
        let named = self.definitions.iter().rev().filter(|one| name.is_none_or(|name| *one.name == *name));
        let mut depths = named.map(|one| one.depth);
        if name.is_some() { depths.next() } else { depths.max() }.unwrap_or(0)
    }

    /// Whose dialect it is.
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The names of the variables, by number.
    pub fn variables(&self) -> impl Iterator<Item = &Text> {
        self.variables.iter().map(|(name, _)| name)
    }

    pub(super) fn variable(&self, name: &str) -> Option<(usize, &Type)> {
        let found = self.variables.iter().rposition(|(known, _)| **known == *name)?;
        Some((found, &self.variables[found].1))
    }

    pub(super) fn definition(&self, name: &str) -> Option<(usize, &Type)> {
        let found = self.definitions.iter().rposition(|known| *known.name == *name)?;
        Some((found, &self.definitions[found].t))
    }

    pub(super) fn is_variables(t: &Type) -> bool {
        matches!(t, Type::Named(name) if &**name == VARIABLES)
    }

    /// The type that a name means, if it means one.
    pub(super) fn type_named(&self, name: &str) -> Option<Type> {
        Some(match name.trim_start_matches('.') {
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "list" => Type::list(Type::Dyn),
            "map" => Type::map(Type::Dyn, Type::Dyn),
            "null_type" => Type::Null,
            "type" => Type::Type(None),
            "optional_type" => Type::optional(Type::Dyn),
            "google.protobuf.Duration" => Type::Duration,
            "google.protobuf.Timestamp" => Type::Timestamp,
            name if self.messages && is_message(name) => Type::named(name),
            _ => return None,
        })
    }

    /// The type of a field: `None` if there is no such field.
    pub(super) fn field(&self, name: &str, field: &str) -> Option<Type> {
        if name == "Object" || name.starts_with("Object.") {
            return Some(Type::Dyn);
        }
        if name == VARIABLES {
            return self.definition(field).map(|(_, t)| t.clone());
        }
        if name == REQUEST && matches!(field, "object" | "oldObject") {
            return (self.dialect == Dialect::Kyverno).then_some(Type::Dyn);
        }
        let (_, fields) = FIELDS.iter().find(|(known, _)| *known == name)?;
        fields.iter().find(|(known, _)| *known == field).map(|(_, t)| field_type(t))
    }
}

fn is_message(name: &str) -> bool {
    name == "JSONPatch" || name == "Object" || name.starts_with("Object.")
}

/// The type of a variable as the API server declares it: what it has no declaration for is dyn.
fn declared(t: &Type) -> Type {
    match t {
        Type::List(element) => Type::list(declared(element)),
        Type::Map(entry) => Type::map(declared(&entry.0), declared(&entry.1)),
        Type::Error
        | Type::Null
        | Type::Bool
        | Type::Int
        | Type::Uint
        | Type::Double
        | Type::String
        | Type::Bytes
        | Type::Duration
        | Type::Timestamp => t.clone(),
        _ => Type::Dyn,
    }
}

type Fields = &'static [(&'static str, &'static str)];

/// The fields of the messages that are not open.
const FIELDS: &[(&str, Fields)] = &[
    ("JSONPatch", &[("op", "string"), ("path", "string"), ("from", "string"), ("value", "dyn")]),
    ("libs.Exception", &[("allowedImages", "strings"), ("allowedValues", "strings")]),
    ("user.ServiceAccount", &[("Name", "string"), ("Namespace", "string")]),
    (
        REQUEST,
        &[
            ("kind", "kubernetes.GroupVersionKind"),
            ("resource", "kubernetes.GroupVersionResource"),
            ("subResource", "string"),
            ("requestKind", "kubernetes.GroupVersionKind"),
            ("requestResource", "kubernetes.GroupVersionResource"),
            ("requestSubResource", "string"),
            ("name", "string"),
            ("namespace", "string"),
            ("operation", "string"),
            ("userInfo", "kubernetes.UserInfo"),
            ("dryRun", "bool"),
            ("options", "dyn"),
        ],
    ),
    ("kubernetes.GroupVersionKind", &[("group", "string"), ("version", "string"), ("kind", "string")]),
    (
        "kubernetes.GroupVersionResource",
        &[("group", "string"), ("version", "string"), ("resource", "string")],
    ),
    (
        "kubernetes.UserInfo",
        &[("username", "string"), ("uid", "string"), ("groups", "strings"), ("extra", "extra")],
    ),
    (
        NAMESPACE,
        &[
            ("metadata", "kubernetes.NamespaceMetadata"),
            ("spec", "kubernetes.NamespaceSpec"),
            ("status", "kubernetes.NamespaceStatus"),
        ],
    ),
    ("kubernetes.NamespaceSpec", &[("finalizers", "strings")]),
    ("kubernetes.NamespaceStatus", &[("conditions", "conditions"), ("phase", "string")]),
    (
        "kubernetes.NamespaceCondition",
        &[
            ("status", "string"),
            ("type", "string"),
            ("lastTransitionTime", "timestamp"),
            ("message", "string"),
            ("reason", "string"),
        ],
    ),
    (
        "kubernetes.NamespaceMetadata",
        &[
            ("name", "string"),
            ("generateName", "string"),
            ("namespace", "string"),
            ("labels", "labels"),
            ("annotations", "labels"),
            ("UID", "string"),
            ("creationTimestamp", "timestamp"),
            ("deletionGracePeriodSeconds", "int"),
            ("deletionTimestamp", "timestamp"),
            ("generation", "int"),
            ("resourceVersion", "string"),
            ("finalizers", "strings"),
        ],
    ),
];

fn field_type(name: &str) -> Type {
    match name {
        "string" => Type::String,
        "int" => Type::Int,
        "bool" => Type::Bool,
        "dyn" => Type::Dyn,
        "timestamp" => Type::Timestamp,
        "strings" => Type::list(Type::String),
        "labels" => Type::map(Type::String, Type::String),
        "extra" => Type::map(Type::String, Type::list(Type::String)),
        "conditions" => Type::list(Type::named("kubernetes.NamespaceCondition")),
        _ => Type::named(name),
    }
}
