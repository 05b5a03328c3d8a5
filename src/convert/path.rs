//! Paths into an object: as plain selection, which fails if a key is missing, and as optional navigation.

use crate::admission::is_word;

use super::cel_text::{Cel, is_identifier};
use super::ty::Ty;

/// The variable that holds the template of the Pods.
pub(super) const TEMPLATE: &str = "podTemplate";

/// The variable that holds its place in JSON patches.
pub(super) const AT: &str = "podTemplatePath";

/// Whether a variable holds the template: each mutation that must see what others changed has one of its own.
pub(super) fn is_template(variable: &str) -> bool {
    variable.strip_prefix(TEMPLATE).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A value of an object, by its path.
#[derive(Clone, Debug)]
pub(super) struct Path<'a> {
    root: Cel,
    steps: Vec<Step>,
    /// Type of the value.
    pub(super) ty: Ty<'a>,
    /// The names from the root of the object or of the list element, for what the API server requires.
    names: Vec<String>,
    /// What the root is.
    base: Base,
}

/// What a path starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// An object; `true` if it has a Pod template or is a Pod.
    Object(Workload),
    /// A Pod or the template of Pods.
    Template,
    /// A list of stored objects.
    Objects,
    /// The metadata of an image; whether its reference is known to have no digest.
    Image { is_tagged: bool },
    /// Anything else.
    Other,
}

/// Where an object has the `spec` of its Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Workload {
    None,
    Pod,
    Controller,
    CronJob,
}

impl Workload {
    /// The fields down to the Pod template.
    pub(super) const fn template(self) -> &'static [&'static str] {
        match self {
            Self::None | Self::Pod => &[],
            Self::Controller => &["spec", "template"],
            Self::CronJob => &["spec", "jobTemplate", "spec", "template"],
        }
    }

    /// Of a kind.
    pub(super) fn of_kind(group: &str, kind: &str) -> Self {
        match (group, kind) {
            ("", "Pod") => Self::Pod,
            ("apps", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet")
            | ("batch", "Job")
            | ("", "ReplicationController") => Self::Controller,
            ("batch", "CronJob") => Self::CronJob,
            _ => Self::None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Step {
    key: Cel,
    /// The name, if it is a constant one.
    name: Option<String>,
    /// Whether every object has it.
    sure: bool,
}

impl<'a> Path<'a> {
    /// A value that is always there.
    pub(super) const fn new(root: Cel, ty: Ty<'a>, base: Base) -> Self {
        Self { root, steps: Vec::new(), ty, names: Vec::new(), base }
    }

    /// A member of a map, by a constant name.
    pub(super) fn member(&self, name: &str) -> Self {
        let mut member = self.clone();
        member.names.push(name.to_owned());
        member.ty = refined(&member.names, self.ty.member(name));
        // Every object has the same metadata, whatever its kind.
        if matches!(member.ty, Ty::Any) && matches!(self.base, Base::Object(_)) {
            member.ty = metadata_type(&member.names);
        }
        if matches!(member.ty, Ty::Any) && self.base == Base::Objects {
            member.ty = match member.names.split_first() {
                Some((items, [])) if items == "items" => Ty::List(Box::new(Ty::Any)),
                Some((items, below)) if items == "items" => metadata_type(below),
                _ => Ty::Any,
            };
        }
        let sure = is_required(self.base, &member.names);
        member.steps.push(Step { key: Cel::text(name), name: Some(name.to_owned()), sure });
        member
    }

    /// A member of a map or an element of a list, by an expression.
    pub(super) fn at(&self, key: Cel, ty: Ty<'a>) -> Self {
        let mut member = self.clone();
        member.ty = ty;
        member.names.push("*".to_owned());
        member.steps.push(Step { key, name: None, sure: false });
        member
    }

    /// The element of this list that a loop visits.
    pub(super) fn element(&self, variable: &str) -> Self {
        Self {
            root: Cel::atom(variable),
            steps: Vec::new(),
            ty: refined(&self.names, self.ty.element()),
            names: self.names.clone(),
            base: self.base,
        }
    }

    /// What it is, if it is a root.
    pub(super) fn root_base(&self) -> Base {
        if self.names.is_empty() { self.base } else { Base::Other }
    }

    /// The names of the steps from the root of the object; elements of lists have no name.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Fails if a key is missing.
    pub(super) fn strict(&self) -> Cel {
        self.steps.iter().fold(self.root.clone(), |of, step| match &step.name {
            Some(name) => of.member(name),
            None => of.index(step.key.clone()),
        })
    }

    /// What is beside it, in the same map. Fails if a key is missing.
    pub(super) fn beside(&self, name: &str) -> Option<Cel> {
        let (_, above) = self.steps.split_last()?;
        let above = Self { steps: above.to_vec(), ..self.clone() };
        Some(above.strict().member(name))
    }

    /// The `spec` of the Pods, if it is an object that has them.
    pub(super) fn pod_spec(&self) -> Option<Self> {
        match self.base {
            Base::Object(Workload::None) | Base::Objects | Base::Image { .. } | Base::Other => None,
            Base::Object(workload) => {
                let template = workload.template().iter().fold(self.clone(), |path, name| path.member(name));
                Some(template.member("spec"))
            }
            Base::Template => Some(self.member("spec")),
        }
    }

    /// Whether it is always there.
    pub(super) fn is_sure(&self) -> bool {
        self.steps.iter().all(|step| step.sure)
    }

    /// Whether the API server passes no empty list on: it leaves one out of the `spec` of Pods and of their containers,
    /// and refuses a Pod without containers.
    pub(super) fn is_never_empty(&self) -> bool {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        match in_pod_spec(self.base, &names) {
            Some([_]) => true,
            Some([containers, _]) => CONTAINERS.contains(containers),
            _ => false,
        }
    }

    /// An optional value. Only for a path that is not sure.
    pub(super) fn optional(&self) -> Cel {
        let mut is_optional = false;
        self.steps.iter().fold(self.root.clone(), |of, step| {
            let first = !is_optional && !step.sure;
            is_optional |= first;
            match &step.name {
                Some(name) if is_identifier(name) && !first => of.member(name),
                Some(name) if is_optional => of.maybe(name),
                Some(name) => of.member(name),
                None => of.maybe_index(step.key.clone()),
            }
        })
    }

    /// The value, or a default if it is missing.
    pub(super) fn or(&self, default: Cel) -> Cel {
        if self.is_sure() { self.strict() } else { self.optional().or_value(default) }
    }

    /// Whether it is there.
    pub(super) fn has(&self) -> Cel {
        if self.is_sure() {
            return Cel::bool(true);
        }
        match self.steps.split_last() {
            Some((Step { name: Some(name), .. }, before))
                if is_identifier(name) && before.iter().all(|step| step.sure) =>
            {
                Cel::function("has", [self.strict()])
            }
            _ => self.optional().call("hasValue", []),
        }
    }
}

/// The types in the metadata of an object whose kind is not known.
fn metadata_type<'a>(names: &[String]) -> Ty<'a> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match names.as_slice() {
        ["kind" | "apiVersion"] | ["metadata", "name" | "namespace" | "generateName" | "uid"] => Ty::WORD,
        ["metadata", "labels"] => Ty::Map(Box::new(Ty::WORD)),
        ["metadata", "annotations"] => Ty::Map(Box::new(Ty::TEXT)),
        ["metadata", "labels", _] => Ty::WORD,
        ["metadata", "finalizers"] => Ty::List(Box::new(Ty::WORD)),
        ["metadata", "annotations", _] => Ty::TEXT,
        _ => Ty::Any,
    }
}

/// The type of a field, with what the API server allows there.
fn refined<'a>(names: &[String], ty: Ty<'a>) -> Ty<'a> {
    if !matches!(ty, Ty::Text(false)) {
        return ty;
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if is_word(&names) { Ty::WORD } else { ty }
}

const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// The names from the `spec` of the Pods on.
fn in_pod_spec<'n>(base: Base, names: &'n [&'n str]) -> Option<&'n [&'n str]> {
    let template = match base {
        Base::Object(Workload::None) | Base::Objects | Base::Image { .. } | Base::Other => return None,
        Base::Object(workload) => workload.template(),
        Base::Template => &[],
    };
    names.strip_prefix(template)?.strip_prefix(&["spec"])
}

/// Whether the API server refuses objects without a field.
fn is_required(base: Base, names: &[String]) -> bool {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let is_of_all = match base {
        Base::Object(Workload::None) => false,
        Base::Object(workload) => {
            let spec = workload.template().iter().copied().chain(["spec"]);
            spec.collect::<Vec<_>>().starts_with(&names)
        }
        Base::Template => names == ["spec"],
        Base::Objects => {
            matches!(names.as_slice(), ["items"] | ["items", "metadata"] | ["items", "metadata", "name"])
        }
        Base::Image { .. } | Base::Other => false,
    };
    let is_metadata =
        matches!(base, Base::Object(_)) && matches!(names.as_slice(), ["metadata" | "kind" | "apiVersion"]);
    if is_of_all || is_metadata {
        return true;
    }
    let Some(below) = in_pod_spec(base, &names) else { return false };
    match below {
        ["containers"] | ["volumes", "name"] => true,
        [list, "name" | "image"] | [list, "env" | "volumeDevices", "name"] => CONTAINERS.contains(list),
        [list, "volumeMounts", "name" | "mountPath"] | [list, "ports", "containerPort"] => {
            CONTAINERS.contains(list)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::KindSchemas;
    use crate::value::GroupVersionKind;

    #[test]
    fn missing_parents_are_optional() {
        let schemas = KindSchemas::default();
        let pod = schemas.of(&GroupVersionKind::new("v1", "Pod")).unwrap();
        let object = Path::new(Cel::atom("object"), Ty::Object(vec![pod]), Base::Object(Workload::Pod));
        let labels = object.member("metadata").member("labels");
        assert_eq!(labels.has().to_string(), "has(object.metadata.labels)");
        let label = labels.member("a/b");
        assert_eq!(label.strict().to_string(), "object.metadata.labels[\"a/b\"]");
        assert_eq!(label.optional().to_string(), "object.metadata.?labels[?\"a/b\"]");
        let containers = object.member("spec").member("containers");
        assert!(containers.is_sure());
        let container = containers.element("container");
        assert_eq!(container.member("image").or(Cel::text("")).to_string(), "container.image");
        let request = container.member("resources").member("requests").member("memory");
        assert_eq!(
            request.has().to_string(),
            "container.?resources.requests[?\"memory\"].hasValue()".replace("[?\"memory\"]", ".memory")
        );
        assert!(matches!(request.ty, Ty::Quantity));
    }
}
