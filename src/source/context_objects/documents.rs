//! Documents with the objects of a cluster.

use std::collections::BTreeMap;

use crate::decode::Decoder;
use crate::diagnostics::Code;
use crate::source::SourceError;
use crate::source::form::{fields, optional_text, root_of, source_errors};
use crate::value::{GroupVersionKind, ObjectRef, Pointer, Text, Value};
use crate::yaml::Document;

use super::global_entry::{EntrySource, GlobalEntry};
use super::objects::Defaults;
use super::{Files, image_key};

/// The group of the documents that Kyverno's command line reads.
const CLI: &str = "cli.kyverno.io";

const HEAD: [&str; 4] = ["apiVersion", "kind", "metadata", "spec"];
const GLOBAL: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];
const IMAGE: [&str; 9] =
    ["image", "resolvedImage", "registry", "repository", "tag", "digest", "imageIndex", "manifest", "config"];
const CALL: [&str; 6] = ["urlPath", "method", "data", "service", "refreshInterval", "retryLimit"];

/// Adds the contents of a document.
pub(super) struct Reader<'a> {
    pub(super) files: &'a mut Files,
    pub(super) defaults: Defaults<'a>,
    pub(super) document: &'a Document,
    pub(super) errors: &'a mut Vec<SourceError>,
    /// Whether the definitions that a `ClusterResource` names are ignored.
    pub(super) ignores_definitions: bool,
}

impl Reader<'_> {
    /// Adds an object, a list of objects, or one of Kyverno's own documents.
    pub(super) fn anything(mut self, at: &Pointer) {
        if let Some(node) = self.document.value().and_then(|root| root.pointed(at)) {
            self.node(node, at, None);
        }
    }

    /// Adds the images of a `Context`; anything else is an error.
    pub(super) fn images(mut self) {
        let mut decoder = Decoder::default();
        let root = root_of(&mut decoder, self.document, Some("Context"), &["spec"]);
        let before = self.errors.len();
        self.errors.extend(source_errors(decoder.errors, self.document));
        if let Some(root) = root.filter(|_| self.errors.len() == before) {
            self.context(root, &Pointer::ROOT, "Context");
        }
    }

    /// `listed` is the kind of the elements of a list, which may omit their own.
    fn node(&mut self, node: &Value, at: &Pointer, listed: Option<&GroupVersionKind>) {
        let kind = GroupVersionKind::of(node).or_else(|| listed.cloned());
        let Some(kind) = kind else {
            return self.error(Code::NoObject, at, "an object needs apiVersion and kind");
        };
        let items = node.get("items").and_then(Value::as_array).filter(|_| kind.kind.ends_with("List"));
        if let (Some(items), None) = (items, listed) {
            let of = kind.kind.strip_suffix("List").filter(|of| !of.is_empty());
            let of = of.map(|of| GroupVersionKind::new(&kind.api_version(), of));
            if let Some(of) = &of {
                self.files.objects.add_kind(of, &self.defaults);
            }
            // Kubernetes has no lists of lists, so this ends.
            let none = GroupVersionKind::new("", "");
            let at = at.key("items");
            for (index, item) in items.iter().enumerate() {
                self.node(item, &at.index(index), Some(of.as_ref().unwrap_or(&none)));
            }
            return;
        }
        match (&*kind.group, &*kind.kind) {
            (CLI, "Context" | "ClusterResource") => self.context(node, at, &kind.kind),
            (CLI, "Values") => {
                self.error(Code::InvalidDocument, at, "pass a document of kind Values with --values");
            }
            (CLI, "UserInfo") => {
                self.error(Code::InvalidDocument, at, "pass a document of kind UserInfo with --userinfo");
            }
            (CLI, other) => {
                let message = format!("expected a document of kind Context or an object, found kind {other}");
                self.error(Code::InvalidDocument, at, message);
            }
            ("kyverno.io", "GlobalContextEntry") => self.global_entry(node, at),
            _ => self.object(node, at, kind),
        }
    }

    fn object(&mut self, node: &Value, at: &Pointer, kind: GroupVersionKind) {
        if kind.kind.is_empty() {
            return self.error(Code::NoObject, at, "an object needs apiVersion and kind");
        }
        let mut value = node.clone();
        if GroupVersionKind::of(node).is_none() && value.as_object().is_some() {
            value.insert("apiVersion", kind.api_version().into());
            value.insert("kind", kind.kind.into());
        }
        let Some(object) = ObjectRef::of(&value) else {
            return self.error(Code::NoObject, at, "an object needs apiVersion and kind");
        };
        if !self.files.objects.add(&object, value, &self.defaults) {
            self.error(Code::DuplicateObject, at, "duplicate object with this name");
        }
    }

    fn context(&mut self, node: &Value, at: &Pointer, kind: &str) {
        let mut decoder = Decoder::default();
        let known: &[&str] =
            if kind == "Context" { &["resources", "images"] } else { &["crds", "resources"] };
        let mut resources = Vec::new();
        let mut images = Vec::new();
        fields(&mut decoder, node, at, &HEAD);
        match node.get("spec") {
            None | Some(Value::Null) => {}
            Some(spec) => {
                let at = at.key("spec");
                if fields(&mut decoder, spec, &at, known).is_some() {
                    resources = decoder.list(spec, &at, "resources");
                    images = decoder.list(spec, &at, "images");
                    if self.ignores_definitions {
                        decoder.texts(spec, &at, "crds");
                    } else {
                        for (at, _) in decoder.list(spec, &at, "crds") {
                            decoder.error(&at, "pass definitions with --crds");
                        }
                    }
                }
            }
        }
        for (at, image) in images {
            fields(&mut decoder, image, &at, &IMAGE);
            for name in ["resolvedImage", "registry", "repository", "tag", "digest"] {
                decoder.text(image, &at, name);
            }
            if let Some(reference) = decoder.required_text(image, &at, "image")
                && self.files.images.insert(image_key(reference), image.clone()).is_some()
            {
                decoder.error(&at, "duplicate image with this name");
            }
        }
        self.errors.extend(source_errors(decoder.errors, self.document));
        for (at, resource) in resources {
            match GroupVersionKind::of(resource) {
                Some(kind) => self.object(resource, &at, kind),
                None => self.error(Code::NoObject, &at, "an object needs apiVersion and kind"),
            }
        }
    }

    fn global_entry(&mut self, node: &Value, at: &Pointer) {
        let mut decoder = Decoder::default();
        fields(&mut decoder, node, at, &GLOBAL);
        let metadata = node.get("metadata").unwrap_or(&Value::Null);
        let name = decoder.required_text(metadata, &at.key("metadata"), "name").cloned();
        let spec_at = at.key("spec");
        let spec = node.get("spec").unwrap_or(&Value::Null);
        let mut entry = None;
        if fields(&mut decoder, spec, &spec_at, &["kubernetesResource", "apiCall", "projections"]).is_some() {
            let member = |name| spec.get(name).filter(|member: &&Value| !member.is_null());
            match (member("kubernetesResource"), member("apiCall")) {
                (Some(resource), None) => {
                    check_resource(&mut decoder, resource, &spec_at.key("kubernetesResource"));
                }
                (None, Some(call)) => check_call(&mut decoder, call, &spec_at.key("apiCall")),
                _ => decoder.error(&spec_at, "exactly one of kubernetesResource, apiCall is needed"),
            }
            let projections = projections(&mut decoder, spec, &spec_at, "jmesPath");
            if let Some(name) = &name
                && projections.contains_key(name)
            {
                let message = "a projection needs another name than that of the entry";
                decoder.error(&spec_at.key("projections"), message);
            }
            entry = EntrySource::of(spec).ok().map(|source| GlobalEntry { source, spec: spec.clone() });
        }
        if let (Some(name), Some(entry)) = (name, entry)
            && self.files.global_entries.insert(name, entry).is_some()
        {
            decoder.error(at, "duplicate object with this name");
        }
        self.errors.extend(source_errors(decoder.errors, self.document));
    }

    fn error(&mut self, code: Code, at: &Pointer, message: impl Into<String>) {
        self.errors.push(SourceError::at(code, self.document, at, message));
    }
}

fn check_resource(decoder: &mut Decoder, resource: &Value, at: &Pointer) {
    if fields(decoder, resource, at, &["group", "version", "resource", "namespace"]).is_none() {
        return;
    }
    let group = optional_text(decoder, resource, at, "group");
    decoder.text(resource, at, "namespace");
    let version = decoder.required_text(resource, at, "version");
    decoder.required_text(resource, at, "resource");
    if group.is_empty() && version.is_some_and(|version| **version != *"v1") {
        decoder.error(at, "group is missing");
    }
}

fn check_call(decoder: &mut Decoder, call: &Value, at: &Pointer) {
    if fields(decoder, call, at, &CALL).is_none() {
        return;
    }
    let path = optional_text(decoder, call, at, "urlPath");
    let method = optional_text(decoder, call, at, "method");
    let is_service = call.get("service").is_some_and(|service| !service.is_null());
    if is_service != path.is_empty() {
        decoder.error(at, "exactly one of urlPath, service is needed");
    }
    if !["", "GET", "POST"].contains(&method) {
        decoder.error(&at.key("method"), "expected GET or POST");
    }
}

/// Expressions by their names.
pub(super) fn projections(
    decoder: &mut Decoder,
    node: &Value,
    at: &Pointer,
    path: &'static str,
) -> BTreeMap<Text, Text> {
    let mut found = BTreeMap::new();
    for (at, projection) in decoder.list(node, at, "projections") {
        fields(decoder, projection, &at, &["name", path]);
        let name = decoder.required_text(projection, &at, "name");
        let expression = decoder.required_text(projection, &at, path);
        if let (Some(name), Some(expression)) = (name, expression)
            && found.insert(name.clone(), expression.clone()).is_some()
        {
            decoder.error(&at, "duplicate projection with this name");
        }
    }
    found
}
