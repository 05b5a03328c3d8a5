//! Context entries whose value is looked up outside of the engine.

use std::fmt::Display;

use crate::diagnostics::{Code, Coded as _};
use crate::engine::InputNames;
use crate::engine::global_entry::{ProjectionError, project};
use crate::engine::world::{LookupError, LookupSource};
use crate::value::{Text, Value};
use crate::variables::{LoadError, Query, Template};

use super::Loaded;
use super::entry::Loading;
use super::image::image_data;

/// The namespace of a `ConfigMap` without one.
const DEFAULT_NAMESPACE: &str = "default";

/// Shorter names are not found in messages.
const MIN_FOUND_BYTES: usize = 4;

impl Loading<'_, '_> {
    /// Keeps the value that the user assigned to the name, if the lookup has no input.
    fn or_assigned(
        &self,
        error: &LookupError,
        failed: impl FnOnce(&LookupError) -> LoadError,
    ) -> Result<Loaded, LoadError> {
        if *error == LookupError::NotGiven && self.context.variable(&self.entry.name).is_some() {
            return Ok(Loaded::Unchanged);
        }
        Err(failed(error))
    }

    /// The value of an expression on the result of a lookup.
    fn search_result(&mut self, result: Value, path: Option<&Template>) -> Result<Loaded, LoadError> {
        let Some(path) = path else { return Ok(Loaded::Merging(result)) };
        let query = self.substitute_query(path)?;
        self.apply(&query, &result)
    }

    fn apply(&self, query: &Query, result: &Value) -> Result<Loaded, LoadError> {
        self.search(query, result).map(Loaded::Merging).map_err(|error| {
            let (path, name) = (query.text(), &self.entry.name);
            let words = error.words_of_kyverno();
            let words = format!("failed to apply JMESPath {path} for context entry {name}: {words}");
            self.failed(error.code(), &format!("no value for `{path}`: {error}"), words)
        })
    }

    pub(super) fn image(
        &mut self,
        reference: &Template,
        path: Option<&Template>,
    ) -> Result<Loaded, LoadError> {
        let reference = self.substitute_text(reference)?;
        let words =
            |error: &dyn Display| format!("failed to fetch image descriptor: {reference}, error: {error}");
        match self.context.lookup(LookupSource::Image(&reference)) {
            Ok(given) => {
                let image = image_data(&reference, &given);
                let image = image.map_err(|error| {
                    self.failed(Code::ContextFailed, &format!("image {reference}: {error}"), words(&error))
                })?;
                let secrets = self.context.taint();
                if secrets.is_tainted_text(&reference) {
                    secrets.note_derived(&image, &[&given]);
                }
                self.search_result(image, path)
            }
            Err(error) => self.or_assigned(&error, |error| {
                let entry = &self.entry.name;
                let InputNames { images, entries, .. } = self.context.settings().input_names;
                let hint = format!("; pass the image with {images}, or a value of {entry} with {entries}");
                let plain = format!("{}{hint}", without_result(&format!("image {reference}"), error));
                self.failed(failed_lookup(error), &plain, format!("{}{hint}", words(error)))
            }),
        }
    }

    /// A global context entry, or after a dot one of its projections. Like Kyverno, ignores what follows a second dot.
    pub(super) fn global(&mut self, name: &Template, path: Option<&Template>) -> Result<Loaded, LoadError> {
        let key = self.substitute_text(name)?;
        let mut parts = key.split('.');
        let (name, projection) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        match self.context.lookup(LookupSource::Global(name)) {
            Ok(data) => {
                let data = self.project(name, projection, data)?;
                self.search_result(data, path)
            }
            Err(error) => self.or_assigned(&error, |error| {
                let entry = &self.entry.name;
                let InputNames { objects, entries, .. } = self.context.settings().input_names;
                let hint = format!(
                    "; pass the GlobalContextEntry and the objects that it needs with {objects}, or a value of {entry} with {entries}"
                );
                let plain = without_result(&format!("GlobalContextEntry {name}"), error);
                let words = format!("failed to fetch entry key={name} for context entry {entry}: {error}");
                self.failed(failed_lookup(error), &format!("{plain}{hint}"), format!("{words}{hint}"))
            }),
        }
    }

    /// The projection of this name of a global context entry, or without a name all its data.
    fn project(&self, entry: &str, projection: &str, data: Value) -> Result<Value, LoadError> {
        let failed = |ProjectionError { name, why }| {
            let plain = format!("projection {name} of GlobalContextEntry {entry}: {why}");
            let words = format!(
                "failed to apply projection {name} of {entry} for context entry {}: {why}",
                self.entry.name
            );
            self.failed(Code::ContextFailed, &plain, words)
        };
        let spec = match self.context.lookup(LookupSource::GlobalEntry(entry)) {
            Ok(spec) => spec,
            Err(_) if projection.is_empty() => return Ok(data),
            Err(error) => return Err(failed(ProjectionError::new(projection, &error))),
        };
        let tracker = self.context.tracker();
        let search = |path: &str| self.search(&Query::new(path), &data);
        project(&spec, data.clone(), projection, search, |divergence| tracker.documented(divergence))
            .map_err(failed)
    }

    pub(super) fn config_map(&mut self, name: &Template, namespace: &Template) -> Result<Loaded, LoadError> {
        let name = self.substitute_text(name)?;
        let namespace = self.substitute_text(namespace)?;
        let namespace = self.config_map_namespace(namespace)?;
        match self.context.lookup(LookupSource::ConfigMap { namespace: &namespace, name: &name }) {
            Ok(object) => {
                let fields = ["data", "metadata"]
                    .map(|field| (field, object.get(field).cloned().unwrap_or_else(Value::empty_object)));
                Ok(Loaded::Merging(fields.into_iter().collect()))
            }
            Err(error) => self.or_assigned(&error, |error| {
                let failed = format!(
                    "failed to retrieve config map for context entry {}: failed to get configmap {namespace}/{name} : ",
                    self.entry.name
                );
                let plain = without_result(&format!("ConfigMap {namespace}/{name}"), error);
                let (plain, words) = if *error == LookupError::NotFound {
                    (plain, format!("{failed}configmaps \"{name}\" not found"))
                } else {
                    let InputNames { objects, entries, .. } = self.context.settings().input_names;
                    let hint = format!("; pass the object with {objects}, or the entry with {entries}");
                    (format!("{plain}{hint}"), format!("{failed}{error}{hint}"))
                };
                let secrets = self.context.taint();
                let is_missed = |text: &&Text| text.len() < MIN_FOUND_BYTES && secrets.is_tainted_text(text);
                if [&namespace, &name].iter().any(is_missed) {
                    [&plain, &words].into_iter().for_each(|message| secrets.note_message(message));
                }
                self.failed(failed_lookup(error), &plain, words)
            }),
        }
    }

    fn config_map_namespace(&self, namespace: Text) -> Result<Text, LoadError> {
        match self.context.namespace {
            Some(own) if namespace.is_empty() => Ok(own.clone()),
            Some(own) if namespace != *own => Err(format!(
                "context entry {}: configMap namespace \"{namespace}\" is different from policy namespace \"{own}\"",
                self.entry.name
            )
            .into()),
            None if namespace.is_empty() => Ok(DEFAULT_NAMESPACE.into()),
            _ => Ok(namespace),
        }
    }

    pub(super) fn api_call(&mut self, call: &Template, default: Option<&Value>) -> Result<Loaded, LoadError> {
        let call = self.substitute(call)?;
        let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
        let path = text("urlPath").trim();
        let method = text("method");
        if let Some(namespace) = self.context.namespace {
            check_namespace(path, namespace)?;
        }
        let url = call.path(&["service", "url"]).and_then(Value::as_str).unwrap_or_default();
        let source = match (path, method) {
            ("", _) => LookupSource::Call { method, url },
            (path, "GET" | "") => LookupSource::Api(path),
            (url, method) => LookupSource::Call { method, url },
        };
        let answer = match self.context.lookup(source) {
            Ok(answer) => answer,
            // Calls that are never sent have no result that could replace an assigned value.
            Err(error)
                if error != LookupError::NotFound && self.context.variable(&self.entry.name).is_some() =>
            {
                return Ok(Loaded::Unchanged);
            }
            Err(error) => {
                return match default.filter(|_| error == LookupError::NotFound) {
                    Some(default) => Ok(Loaded::Merging(default.clone())),
                    None => Err(self.failed_call(source, method, path, &error)),
                };
            }
        };
        let path = text("jmesPath");
        if path.is_empty() {
            return Ok(Loaded::Merging(answer));
        }
        let applied = self.apply(&Query::new(path), &answer);
        applied.map_err(|error| match error {
            LoadError::Failed { code, message, original } => {
                let words = original.unwrap_or_else(|| message.clone());
                let original = Some(format!("failed to store data for APICall: {words}"));
                LoadError::Failed { code, message, original }
            }
            limit @ LoadError::Limit { .. } => limit,
        })
    }

    fn failed_call(
        &self,
        source: LookupSource<'_>,
        method: &str,
        path: &str,
        error: &LookupError,
    ) -> LoadError {
        let code = failed_lookup(error);
        let entry = &self.entry.name;
        let InputNames { objects, entries, .. } = self.context.settings().input_names;
        let resource =
            if path.is_empty() { "the service".into() } else { format!("resource with raw url: {path}") };
        let method = if method.is_empty() { "GET" } else { method };
        let call = format!("{method} {}", if path.is_empty() { "of the service" } else { path });
        let (plain, error, hint) = match (source, error) {
            (LookupSource::Call { .. }, LookupError::NotGiven) => {
                let calls = if path.is_empty() { "calls of services" } else { "POST calls" };
                let error = format!("{calls} are never sent");
                (format!("{call}: {error}"), error, String::new())
            }
            (LookupSource::Call { .. }, error) => {
                (without_result(&call, error), error.to_string(), String::new())
            }
            (_, error) => {
                let hint = format!("the objects with {objects}, or ");
                (without_result(&call, error), error.to_string(), hint)
            }
        };
        let hint = format!("; pass {hint}a value of {entry} with {entries}");
        let words = format!("failed to fetch data for APICall: failed to {method} {resource}: {error}{hint}");
        self.failed(code, &format!("{plain}{hint}"), words)
    }
}

/// A lookup without a result, and why.
fn without_result(what: &str, error: &LookupError) -> String {
    match error {
        LookupError::NotGiven => format!("no data for {what}"),
        LookupError::NotFound => format!("{what} not found"),
        LookupError::Unanswerable(why) => format!("{what}: {why}"),
    }
}

/// The code of a lookup without a result.
const fn failed_lookup(error: &LookupError) -> Code {
    match error {
        LookupError::NotGiven => Code::NoData,
        LookupError::NotFound | LookupError::Unanswerable(_) => Code::ContextFailed,
    }
}

/// Checks that an API call of a namespaced policy stays in its namespace.
fn check_namespace(path: &str, own: &str) -> Result<(), LoadError> {
    let path = path.split('?').next().unwrap_or_default();
    let mut parts = path.split('/').skip_while(|part| *part != "namespaces");
    Err(LoadError::from(match (parts.next(), parts.next()) {
        (Some(_), Some(namespace)) if namespace == own => return Ok(()),
        (Some(_), Some(namespace)) if !namespace.is_empty() => format!(
            "path {path} refers to namespace {namespace}, which is different from the policy namespace {own}"
        ),
        _ => format!(
            "path {path} does not contain a namespace segment, which is required for namespaced policies"
        ),
    }))
}

#[cfg(test)]
mod tests {
    use super::check_namespace;

    #[test]
    fn namespaced_policies_call_only_their_namespace() {
        for (path, expected) in [
            ("/api/v1/namespaces/own/pods?limit=1", None),
            ("/api/v1/namespaces/other/pods", Some("different")),
            ("/api/v1/pods", Some("does not contain")),
            ("", Some("does not contain")),
            ("/api/v1/namespaces", Some("does not contain")),
            ("/api/v1/namespaces/", Some("does not contain")),
        ] {
            let error = check_namespace(path, "own").err().map(|error| error.to_string());
            match expected {
                None => assert_eq!(error, None, "{path}"),
                Some(part) => assert!(error.unwrap().contains(part), "{path}"),
            }
        }
    }
}
