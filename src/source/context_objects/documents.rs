//! Documents that tell what a cluster holds.

use std::collections::BTreeMap;

use crate::source::SourceError;
use crate::source::strict::Strict;
use crate::value::{GroupVersionKind, ObjectRef, Pointer, Text, Value};
use crate::yaml::Document;

use super::Given;
use super::globals::{Global, Origin};
use super::objects::Places;

/// The group of the documents that Kyverno's command line reads.
const CLI: &str = "cli.kyverno.io";

const HEAD: [&str; 4] = ["apiVersion", "kind", "metadata", "spec"];
const GLOBAL: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];
const IMAGE: [&str; 9] =
    ["image", "resolvedImage", "registry", "repository", "tag", "digest", "imageIndex", "manifest", "config"];
const CALL: [&str; 6] = ["urlPath", "method", "data", "service", "refreshInterval", "retryLimit"];

/// Takes what a document gives.
pub(super) struct Reader<'a> {
    pub(super) given: &'a mut Given,
    pub(super) places: Places<'a>,
    pub(super) document: &'a Document,
    pub(super) faults: &'a mut Vec<SourceError>,
    /// Whether somebody else reads the definitions that a `ClusterResource` names.
    pub(super) definitions_elsewhere: bool,
}

impl<'a> Reader<'a> {
    /// Takes an object, a list of objects, or one of Kyverno's own documents.
    pub(super) fn anything(mut self, at: &Pointer) {
        if let Some(node) = self.document.value().and_then(|root| root.pointed(at)) {
            self.node(node, at, None);
        }
    }

    /// Takes the images of a `Context`, which the document has to be.
    pub(super) fn images(mut self) {
        let document = self.document;
        let Some(root) = document.value() else { return };
        let mut strict = Strict::new(document);
        let context = strict.head("Context", &["spec"]).is_some();
        let faults = strict.finish();
        if context && faults.is_empty() {
            self.context(root, &Pointer::ROOT, "Context");
        }
        self.faults.extend(faults);
    }

    /// `listed` is the kind of the list that an object stands in: its own may be left out there.
    fn node(&mut self, node: &'a Value, at: &Pointer, listed: Option<&GroupVersionKind>) {
        let kind = GroupVersionKind::of(node).or_else(|| listed.cloned());
        let Some(kind) = kind else {
            return self.fault(at, "an object needs apiVersion and kind");
        };
        let items = node.get("items").and_then(Value::as_array).filter(|_| kind.kind.ends_with("List"));
        if let (Some(items), None) = (items, listed) {
            let of = kind.kind.strip_suffix("List").filter(|of| !of.is_empty());
            let of = of.map(|of| GroupVersionKind::new(&kind.api_version(), of));
            if let Some(of) = &of {
                self.given.objects.know(of, &self.places);
            }
            // A list of lists is none of Kubernetes, so this ends.
            let none = GroupVersionKind::new("", "");
            let at = at.key("items");
            for (index, item) in items.iter().enumerate() {
                self.node(item, &at.index(index), Some(of.as_ref().unwrap_or(&none)));
            }
            return;
        }
        match (&*kind.group, &*kind.kind) {
            (CLI, "Context" | "ClusterResource") => self.context(node, at, &kind.kind),
            (CLI, "Values") => self.fault(at, "a document of kind Values is given with --values"),
            (CLI, "UserInfo") => self.fault(at, "a document of kind UserInfo is given with --userinfo"),
            (CLI, other) => {
                let message = format!("expected a document of kind Context or an object, found kind {other}");
                self.fault(at, message);
            }
            ("kyverno.io", "GlobalContextEntry") => self.global(node, at),
            _ => self.object(node, at, kind),
        }
    }

    fn object(&mut self, node: &'a Value, at: &Pointer, kind: GroupVersionKind) {
        if kind.kind.is_empty() {
            return self.fault(at, "an object needs apiVersion and kind");
        }
        let mut value = node.clone();
        if GroupVersionKind::of(node).is_none() && value.as_object().is_some() {
            value.insert("apiVersion", kind.api_version().into());
            value.insert("kind", kind.kind.into());
        }
        let Some(object) = ObjectRef::of(&value) else {
            return self.fault(at, "an object needs apiVersion and kind");
        };
        if !self.given.objects.add(&object, value, &self.places) {
            self.fault(at, "an object with this name stands twice");
        }
    }

    fn context(&mut self, node: &'a Value, at: &Pointer, kind: &str) {
        let mut strict = Strict::new(self.document);
        let fields: &[&str] =
            if kind == "Context" { &["resources", "images"] } else { &["crds", "resources"] };
        let mut resources = Vec::new();
        let mut images = Vec::new();
        strict.fields(node, at, &HEAD);
        match node.get("spec") {
            None | Some(Value::Null) => {}
            Some(spec) => {
                let at = at.key("spec");
                if strict.fields(spec, &at, fields).is_some() {
                    resources = strict.list(spec, &at, "resources");
                    images = strict.list(spec, &at, "images");
                    if self.definitions_elsewhere {
                        strict.texts(spec, &at, "crds");
                    } else {
                        for (at, _) in strict.list(spec, &at, "crds") {
                            strict.fault(&at, "definitions are given with --crds");
                        }
                    }
                }
            }
        }
        for (at, image) in images {
            strict.fields(image, &at, &IMAGE);
            for name in ["resolvedImage", "registry", "repository", "tag", "digest"] {
                strict.optional_text(image, &at, name);
            }
            if let Some(reference) = strict.text(image, &at, "image")
                && !self.given.images.add(reference, image.clone())
            {
                strict.fault(&at, "an image with this name stands twice");
            }
        }
        self.faults.extend(strict.finish());
        for (at, resource) in resources {
            match GroupVersionKind::of(resource) {
                Some(kind) => self.object(resource, &at, kind),
                None => self.fault(&at, "an object needs apiVersion and kind"),
            }
        }
    }

    fn global(&mut self, node: &'a Value, at: &Pointer) {
        let mut strict = Strict::new(self.document);
        strict.fields(node, at, &GLOBAL);
        let metadata = node.get("metadata").unwrap_or(&Value::Null);
        let name = strict.text(metadata, &at.key("metadata"), "name").cloned();
        let spec_at = at.key("spec");
        let spec = node.get("spec").unwrap_or(&Value::Null);
        let mut global = None;
        if strict.fields(spec, &spec_at, &["kubernetesResource", "apiCall", "projections"]).is_some() {
            let part = |name| spec.get(name).filter(|part: &&Value| !part.is_null());
            match (part("kubernetesResource"), part("apiCall")) {
                (Some(resource), None) => {
                    check_resource(&mut strict, resource, &spec_at.key("kubernetesResource"));
                }
                (None, Some(call)) => check_call(&mut strict, call, &spec_at.key("apiCall")),
                _ => strict.fault(&spec_at, "exactly one of kubernetesResource, apiCall is needed"),
            }
            let projections = projections(&mut strict, spec, &spec_at, "jmesPath");
            if let Some(name) = &name
                && projections.contains_key(name)
            {
                let message = "a projection needs another name than that of the entry";
                strict.fault(&spec_at.key("projections"), message);
            }
            global = Origin::of(spec).ok().map(|origin| Global { origin, spec: spec.clone() });
        }
        if let (Some(name), Some(global)) = (name, global)
            && !self.given.globals.add(name, global)
        {
            strict.fault(at, "an object with this name stands twice");
        }
        self.faults.extend(strict.finish());
    }

    fn fault(&mut self, at: &Pointer, message: impl Into<String>) {
        self.faults.push(SourceError::at(self.document, at, message));
    }
}

fn check_resource<'a>(strict: &mut Strict<'a>, resource: &'a Value, at: &Pointer) {
    if strict.fields(resource, at, &["group", "version", "resource", "namespace"]).is_none() {
        return;
    }
    let group = strict.optional_text(resource, at, "group").unwrap_or_default();
    strict.optional_text(resource, at, "namespace");
    let version = strict.text(resource, at, "version");
    strict.text(resource, at, "resource");
    if group.is_empty() && version.is_some_and(|version| **version != *"v1") {
        strict.fault(at, "group is missing");
    }
}

fn check_call<'a>(strict: &mut Strict<'a>, call: &'a Value, at: &Pointer) {
    if strict.fields(call, at, &CALL).is_none() {
        return;
    }
    let path = strict.optional_text(call, at, "urlPath").unwrap_or_default();
    let method = strict.optional_text(call, at, "method").unwrap_or_default();
    let is_service = call.get("service").is_some_and(|service| !service.is_null());
    if is_service != path.is_empty() {
        strict.fault(at, "exactly one of urlPath, service is needed");
    }
    if !["", "GET", "POST"].contains(&method) {
        strict.fault(&at.key("method"), "expected GET or POST");
    }
}

/// Expressions by their names.
pub(super) fn projections<'a>(
    strict: &mut Strict<'a>,
    node: &'a Value,
    at: &Pointer,
    path: &'static str,
) -> BTreeMap<Text, Text> {
    let mut found = BTreeMap::new();
    for (at, projection) in strict.list(node, at, "projections") {
        strict.fields(projection, &at, &["name", path]);
        let name = strict.text(projection, &at, "name");
        let expression = strict.text(projection, &at, path);
        if let (Some(name), Some(expression)) = (name, expression)
            && found.insert(name.clone(), expression.clone()).is_some()
        {
            strict.fault(&at, "a projection with this name stands twice");
        }
    }
    found
}
