//! Entries whose value comes from outside.

use std::fmt::Display;

use crate::engine::InputNames;
use crate::engine::classic::context::Context;
use crate::engine::world::{LookupError, LookupSource};
use crate::semantics::Divergence;
use crate::value::Value;
use crate::variables::{Query, Template};

use super::Loaded;
use super::entry::Loading;
use super::image::image_data;

/// The namespace of a `ConfigMap` that names none.
const DEFAULT_NAMESPACE: &str = "default";

impl Loading<'_, '_> {
    /// What a user gave for the name stands where nothing else answers.
    fn given(&self, error: &LookupError, say: impl FnOnce(&LookupError) -> String) -> Result<Loaded, String> {
        if *error == LookupError::NotGiven && self.context.held(&self.entry.name).is_some() {
            return Ok(Loaded::Given);
        }
        Err(say(error))
    }

    /// What an expression takes of an answer.
    fn taken(&mut self, answer: Value, path: Option<&Template>) -> Result<Value, String> {
        let Some(path) = path else { return Ok(answer) };
        let query = self.path(path)?;
        self.search(&query, &answer).map_err(|error| {
            format!(
                "failed to apply JMESPath {} for context entry {}: {error}",
                query.text(),
                self.entry.name
            )
        })
    }

    pub(super) fn image(&mut self, reference: &Template, path: Option<&Template>) -> Result<Loaded, String> {
        let reference = self.text(reference)?;
        let failed =
            |error: &dyn Display| format!("failed to fetch image descriptor: {reference}, error: {error}");
        match self.context.lookup(LookupSource::Image(&reference)) {
            Ok(given) => {
                let image = image_data(&reference, &given).map_err(|fault| failed(&fault))?;
                let secrets = self.context.taint();
                if secrets.holds_text(&reference) {
                    secrets.note(&image, &[&given]);
                }
                Ok(Loaded::Merging(self.taken(image, path)?))
            }
            Err(error) => self.given(&error, |error| {
                let entry = &self.entry.name;
                let InputNames { images, entries, .. } = self.context.settings().input_names;
                format!("{}; {images} can give the image, {entries} can give {entry} a value", failed(error))
            }),
        }
    }

    /// A global context entry, or after a point one of its projections. What stands after a second point
    /// counts for nothing, as in Kyverno.
    pub(super) fn global(&mut self, name: &Template, path: Option<&Template>) -> Result<Loaded, String> {
        let key = self.text(name)?;
        let mut parts = key.split('.');
        let (name, projection) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        match self.context.lookup(LookupSource::Global(name)) {
            Ok(data) => {
                let data = self.projected(name, projection, data)?;
                Ok(Loaded::Merging(self.taken(data, path)?))
            }
            Err(error) => self.given(&error, |error| {
                let entry = &self.entry.name;
                let InputNames { objects, entries, .. } = self.context.settings().input_names;
                format!(
                    "failed to fetch entry key={name} for context entry {entry}: {error}; {objects} can give the \
                     GlobalContextEntry and what it asks for, {entries} can give {entry} a value"
                )
            }),
        }
    }

    /// The data of a global context entry, or what the projection of this name takes of it.
    fn projected(&self, entry: &str, wanted: &str, data: Value) -> Result<Value, String> {
        let failed = |name: &str, error: &dyn Display| {
            format!(
                "failed to apply projection {name} of {entry} for context entry {}: {error}",
                self.entry.name
            )
        };
        let spec = match self.context.lookup(LookupSource::GlobalEntry(entry)) {
            Ok(spec) => spec,
            Err(_) if wanted.is_empty() => return Ok(data),
            Err(error) => return Err(failed(wanted, &error)),
        };
        let tracker = &self.settings().tracker;
        let text = |projection: &Value, name| projection.get(name)?.as_str().map(str::to_owned);
        let all: Vec<(String, String)> = spec
            .get("projections")
            .and_then(Value::as_array)
            .unwrap_or_default()
            .iter()
            .filter_map(|projection| Some((text(projection, "name")?, text(projection, "jmesPath")?)))
            .collect();
        let search = |path: &str| self.search(&Query::new(path, tracker.semantics()), &data);
        let found = if wanted.is_empty() {
            data.clone()
        } else {
            let path = all.iter().rev().find(|(name, _)| name == wanted).map(|(_, path)| path);
            let path = path.ok_or_else(|| failed(wanted, &LookupError::NotFound))?;
            search(path).map_err(|error| failed(wanted, &error))?
        };
        // What a resource gives is projected piece by piece.
        if spec.get("apiCall").is_none_or(Value::is_null) {
            return Ok(found);
        }
        for (name, path) in all.iter().filter(|(name, _)| name != wanted) {
            if let Err(error) = search(path)
                && !tracker.documented(Divergence::SpoiltEntry)
            {
                return Err(failed(name, &error));
            }
        }
        if found.is_null() && !tracker.documented(Divergence::NullProjection) {
            return Err(failed(wanted, &"no data available"));
        }
        Ok(found)
    }

    pub(super) fn config_map(&mut self, name: &Template, namespace: &Template) -> Result<Loaded, String> {
        let name = self.text(name)?;
        let mut namespace = self.text(namespace)?;
        let entry = &self.entry.name;
        if let Some(own) = self.context.namespace {
            if namespace.is_empty() {
                namespace = own.clone();
            } else if namespace != *own {
                return Err(format!(
                    "context entry {entry}: configMap namespace \"{namespace}\" is different from policy namespace \"{own}\""
                ));
            }
        } else if namespace.is_empty() {
            namespace = DEFAULT_NAMESPACE.into();
        }
        let lookup = LookupSource::ConfigMap { namespace: &namespace, name: &name };
        let told = |context: &Context<'_>, message: String| {
            let secrets = context.taint();
            // What is so short is not found in a message.
            if [&namespace, &name].iter().any(|text| text.len() < 4 && secrets.holds_text(text)) {
                secrets.note_message(&message);
            }
            message
        };
        match self.context.lookup(lookup) {
            Ok(object) => {
                let parts = ["data", "metadata"]
                    .map(|part| (part, object.get(part).cloned().unwrap_or_else(Value::empty_object)));
                Ok(Loaded::Merging(parts.into_iter().collect()))
            }
            Err(error) => self.given(&error, |error| {
                let failed = format!(
                    "failed to retrieve config map for context entry {entry}: failed to get configmap {namespace}/{name} : "
                );
                if *error == LookupError::NotFound {
                    return told(self.context, format!("{failed}configmaps \"{name}\" not found"));
                }
                let InputNames { objects, entries, .. } = self.context.settings().input_names;
                told(
                    self.context,
                    format!("{failed}{error}; {objects} can give the object, {entries} the entry"),
                )
            }),
        }
    }

    pub(super) fn api_call(&mut self, call: &Template, default: Option<&Value>) -> Result<Loaded, String> {
        let call = self.substituted(call)?;
        let entry = self.entry.name.clone();
        let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
        let path = text("urlPath").trim();
        let method = text("method");
        if let Some(namespace) = self.context.namespace {
            own_namespace(path, namespace)?;
        }
        let url = call.path(&["service", "url"]).and_then(Value::as_str).unwrap_or_default();
        let lookup = match (path, method) {
            ("", _) => LookupSource::Call { method, url },
            (path, "GET" | "") => LookupSource::Api(path),
            (url, method) => LookupSource::Call { method, url },
        };
        let answer = match self.context.lookup(lookup) {
            Ok(answer) => answer,
            Err(error) => {
                // Nothing is known of a call that is never sent, so that a value given for it stands.
                if error != LookupError::NotFound && self.context.held(&entry).is_some() {
                    return Ok(Loaded::Given);
                }
                if let (LookupError::NotFound, Some(default)) = (&error, default) {
                    return Ok(Loaded::Merging(default.clone()));
                }
                let shown = if path.is_empty() {
                    "the service".into()
                } else {
                    format!("resource with raw url: {path}")
                };
                let InputNames { objects, entries, .. } = self.context.settings().input_names;
                let (error, hint) = match (&lookup, &error) {
                    (LookupSource::Call { .. }, LookupError::NotGiven) => {
                        let calls = if path.is_empty() { "calls of services" } else { "POST calls" };
                        (format!("{calls} are never sent"), String::new())
                    }
                    (LookupSource::Call { .. }, error) => (error.to_string(), String::new()),
                    (_, error) => (error.to_string(), format!("{objects} can give the objects, ")),
                };
                let method = if method.is_empty() { "GET" } else { method };
                return Err(format!(
                    "failed to fetch data for APICall: failed to {method} {shown}: {error}; {hint}{entries} can give {entry} a \
                     value"
                ));
            }
        };
        let query = match call.get("jmesPath").and_then(Value::as_str) {
            Some(path) if !path.is_empty() => Query::new(path, self.settings().tracker.semantics()),
            _ => return Ok(Loaded::Merging(answer)),
        };
        let taken = self.search(&query, &answer).map_err(|error| {
            format!(
                "failed to store data for APICall: failed to apply JMESPath {} for context entry {entry}: {error}",
                query.text()
            )
        })?;
        Ok(Loaded::Merging(taken))
    }
}

/// A policy of a namespace asks for what is in its namespace.
fn own_namespace(path: &str, own: &str) -> Result<(), String> {
    let path = path.split('?').next().unwrap_or_default();
    let mut parts = path.split('/').skip_while(|part| *part != "namespaces");
    match (parts.next(), parts.next()) {
        (Some(_), Some(namespace)) if namespace == own => Ok(()),
        (Some(_), Some(namespace)) if !namespace.is_empty() => Err(format!(
            "path {path} refers to namespace {namespace}, which is different from the policy namespace {own}"
        )),
        _ => Err(format!(
            "path {path} does not contain a namespace segment, which is required for namespaced policies"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::own_namespace;

    #[test]
    fn a_policy_of_a_namespace_calls_for_its_own() {
        assert_eq!(own_namespace("/api/v1/namespaces/own/pods?limit=1", "own"), Ok(()));
        assert!(own_namespace("/api/v1/namespaces/other/pods", "own").unwrap_err().contains("different"));
        for path in ["/api/v1/pods", "", "/api/v1/namespaces", "/api/v1/namespaces/"] {
            assert!(own_namespace(path, "own").unwrap_err().contains("does not contain"), "{path}");
        }
    }
}
