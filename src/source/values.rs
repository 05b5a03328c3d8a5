//! Values for names of the JSON context, from Kyverno's `Values` documents and from `NAME=VALUE`.

use std::fmt::Display;
use std::sync::Arc;

use crate::decode::Decoder;
use crate::engine::{DottedName, SubresourceKind, Values};
use crate::policy::Operation;
use crate::value::{GroupVersionKind, Pointer, Text, Value};
use crate::yaml::{Document, Limits, Source};

use super::form::{Form, Head, fields, optional_text, source_errors};
use super::{Place, SourceError};

/// Values of a document.
#[derive(Debug, Default)]
pub struct LoadedValues {
    /// The values.
    pub values: Values,
    /// Which of them have no effect.
    pub notes: Vec<String>,
}

const FORM: Form = Form {
    kind: "Values",
    fields: &["globalValues", "policies", "namespaceSelector", "namespaces", "subresources"],
    second: "a second document of values in one file",
};

/// Decodes a text that is a `Values` document.
///
/// # Errors
///
/// Every syntax error, unknown field and wrong type.
pub fn load_values(
    source: &Arc<Source>,
    head: Head,
    limits: &Limits,
) -> Result<LoadedValues, Vec<SourceError>> {
    FORM.decode(source, head, limits, |decoder, document, root| {
        let mut reader = Reader { decoder, document, loaded: LoadedValues::default() };
        reader.root(root, &Pointer::ROOT);
        reader.loaded
    })
}

/// Decodes values inside another document, which have neither `apiVersion` nor `kind`.
///
/// # Errors
///
/// Every unknown field and wrong type.
pub fn values_inside(document: &Document, at: &Pointer) -> Result<LoadedValues, Vec<SourceError>> {
    let mut decoder = Decoder::default();
    let mut reader = Reader { decoder: &mut decoder, document, loaded: LoadedValues::default() };
    if let Some(root) = document.value().and_then(|root| root.pointed(at))
        && fields(reader.decoder, root, at, FORM.fields).is_some()
    {
        reader.root(root, at);
    }
    let loaded = reader.loaded;
    let errors: Vec<SourceError> = source_errors(decoder.errors, document).collect();
    if errors.is_empty() { Ok(loaded) } else { Err(errors) }
}

/// Why a text is no `NAME=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AssignmentError(String);

impl AssignmentError {
    fn new(message: impl Display) -> Self {
        Self(message.to_string())
    }
}

/// Parses `NAME=VALUE`, which sets one name of the context to a string.
///
/// # Errors
///
/// Anything else, and names below `request.object`.
pub fn assignment(text: &str) -> Result<(DottedName, Value), AssignmentError> {
    let fail = |message| Err(AssignmentError::new(message));
    let Some((name, value)) = text.split_once('=') else { return fail("expected NAME=VALUE") };
    if name.is_empty() || value.is_empty() {
        return fail("expected NAME=VALUE, neither of them empty");
    }
    if value.contains('=') {
        return fail("the value has a second `=`; pass such a value with --values");
    }
    if let Some(message) = wrong_operation(&value.into()).filter(|_| name == OPERATION) {
        return Err(AssignmentError(message));
    }
    let name = DottedName::parse(name).map_err(AssignmentError::new)?;
    if matches!(name.parts(), [request, object, _, ..] if &**request == "request" && &**object == "object") {
        return fail("values below request.object are read from the manifest: set them there");
    }
    Ok((name, value.into()))
}

/// The fields of an `APIResource` of `meta/v1`.
const RESOURCE_FIELDS: [&str; 9] =
    ["name", "singularName", "namespaced", "group", "version", "kind", "verbs", "shortNames", "categories"];

const OPERATION: &str = "request.operation";

/// The place and the error message of a wrong operation in a map of values.
fn wrong_operation_in(node: &Value, at: &Pointer, key: &'static str) -> Option<(Pointer, String)> {
    let message = wrong_operation(node.get(key)?.get(OPERATION)?)?;
    Some((at.key(key).key(OPERATION), message))
}

/// The error message of a wrong operation. Kyverno ignores empty strings and other types.
fn wrong_operation(value: &Value) -> Option<String> {
    let word = value.as_str().filter(|word| !word.is_empty())?;
    let is_known = Operation::parse(word).is_some();
    (!is_known).then(|| {
        let names = Operation::ALL.map(Operation::name).join(", ");
        format!("`{}` is no operation: expected one of {names}", word.escape_debug())
    })
}

struct Reader<'a> {
    decoder: &'a mut Decoder,
    document: &'a Document,
    loaded: LoadedValues,
}

impl Reader<'_> {
    fn root(&mut self, root: &Value, at: &Pointer) {
        self.loaded.values.global = self.assignments(root, at, "globalValues");
        if let Some((at, message)) = wrong_operation_in(root, at, "globalValues") {
            self.decoder.error(&at, message);
        }
        for (at, policy) in self.decoder.list(root, at, "policies") {
            self.policy(policy, &at);
        }
        for (at, entry) in self.decoder.list(root, at, "namespaceSelector") {
            fields(self.decoder, entry, &at, &["name", "labels"]);
            if let Some(name) = self.decoder.required_text(entry, &at, "name") {
                self.labels(name, entry, &at);
            }
        }
        // After `namespaceSelector`, because they override it.
        for (at, namespace) in self.decoder.list(root, at, "namespaces") {
            let Some(metadata) = namespace.get("metadata") else {
                self.decoder.error(&at, "metadata is missing");
                continue;
            };
            let at = at.key("metadata");
            if let Some(name) = self.decoder.required_text(metadata, &at, "name") {
                self.labels(name, metadata, &at);
            }
        }
        for (at, entry) in self.decoder.list(root, at, "subresources") {
            if let Some(kind) = self.subresource(entry, &at) {
                self.loaded.values.subresources.push(kind);
            }
        }
    }

    fn policy(&mut self, policy: &Value, at: &Pointer) {
        fields(self.decoder, policy, at, &["name", "resources", "rules"]);
        let Some(name) = self.decoder.required_text(policy, at, "name").cloned() else { return };
        self.loaded.values.policies.entry(name.clone()).or_default();
        for (at, resource) in self.decoder.list(policy, at, "resources") {
            fields(self.decoder, resource, &at, &["name", "values"]);
            let assigned = self.assignments(resource, &at, "values");
            if let Some((at, message)) = wrong_operation_in(resource, &at, "values") {
                self.note(&at, &format!("{message}; `match` treats the request as CREATE"));
            }
            if let Some(resource) = self.decoder.required_text(resource, &at, "name").cloned() {
                let policy = self.loaded.values.policies.entry(name.clone()).or_default();
                policy.resources.entry(resource).or_default().extend(assigned);
            }
        }
        for (at, rule) in self.decoder.list(policy, at, "rules") {
            fields(self.decoder, rule, &at, &["name", "values", "foreachValues"]);
            let mut assigned = self.assignments(rule, &at, "values");
            // As in Kyverno, the first value of each list is used for all elements.
            for (name, values) in self.assignments(rule, &at, "foreachValues") {
                let at = at.key("foreachValues");
                match values.as_array() {
                    None => self.decoder.type_error(&values, &at, "a list"),
                    Some([]) => {}
                    Some([first, others @ ..]) => {
                        if !others.is_empty() {
                            self.note(&at, "the first of several foreachValues is used for all elements");
                        }
                        assigned.push((name, first.clone()));
                    }
                }
            }
            if let Some(rule) = self.decoder.required_text(rule, &at, "name").cloned() {
                let policy = self.loaded.values.policies.entry(name.clone()).or_default();
                policy.rules.entry(rule).or_default().extend(assigned);
            }
        }
    }

    fn note(&mut self, at: &Pointer, text: &str) {
        self.loaded.notes.push(format!("{}: {text}", Place::of(self.document, at)));
    }

    fn assignments(&mut self, node: &Value, at: &Pointer, key: &str) -> Vec<(DottedName, Value)> {
        let mut assigned = Vec::new();
        for (name, at, value) in self.decoder.members(node, at, key) {
            match DottedName::parse(name) {
                Ok(name) => assigned.push((name, value.clone())),
                Err(error) => self.decoder.error(&at, error.to_string()),
            }
        }
        assigned
    }

    fn labels(&mut self, namespace: &Text, node: &Value, at: &Pointer) {
        let mut labels = Value::empty_object();
        for (name, at, value) in self.decoder.members(node, at, "labels") {
            match value {
                Value::String(_) => labels.insert(name.clone(), value.clone()),
                other => self.decoder.type_error(other, &at, "a string"),
            }
        }
        self.loaded.values.namespaces.insert(namespace.clone(), labels);
    }

    fn subresource(&mut self, entry: &Value, at: &Pointer) -> Option<SubresourceKind> {
        fields(self.decoder, entry, at, &["subresource", "parentResource"]);
        let kind = self.resource(entry, at, "subresource")?;
        let name = entry.path(&["subresource", "name"]).and_then(Value::as_text).cloned().unwrap_or_default();
        let parent = self.resource(entry, at, "parentResource")?;
        let Some((_, subresource)) =
            name.split_once('/').filter(|(parent, name)| !parent.is_empty() && !name.is_empty())
        else {
            let at = at.key("subresource").key("name");
            self.decoder.error(&at, "expected PARENT/SUBRESOURCE, such as deployments/scale");
            return None;
        };
        Some(SubresourceKind { kind, parent, name: subresource.into() })
    }

    /// The kind of an API resource.
    fn resource(&mut self, entry: &Value, at: &Pointer, key: &str) -> Option<GroupVersionKind> {
        let Some(resource) = entry.get(key) else {
            self.decoder.error(at, format!("{key} is missing"));
            return None;
        };
        let at = at.key(key);
        fields(self.decoder, resource, &at, &RESOURCE_FIELDS)?;
        self.decoder.required_text(resource, &at, "name")?;
        let kind = self.decoder.required_text(resource, &at, "kind")?.clone();
        let version = self.decoder.required_text(resource, &at, "version")?.clone();
        let group = optional_text(self.decoder, resource, &at, "group");
        Some(GroupVersionKind { group: group.into(), version, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<LoadedValues, Vec<String>> {
        let source = Arc::new(Source::new("f", text));
        load_values(&source, Head::OfKind, &Limits::default()).map_err(|errors| {
            let messages = errors.iter().map(|error| error.to_string().replace("f:", ""));
            messages.map(|message| message.lines().next().unwrap().to_owned()).collect()
        })
    }

    const HEAD: &str = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\n";

    #[test]
    fn the_whole_document_is_decoded() {
        let text = format!(
            "{HEAD}metadata: {{name: values}}
globalValues: {{request.operation: UPDATE}}
policies:
- name: some-policy
  resources:
  - name: web
    values: {{request.namespace: prod}}
  rules:
  - name: some-rule
    values: {{cm.data.key: [1]}}
    foreachValues: {{imageData.config: [v0, v1]}}
namespaceSelector:
- name: prod
  labels: {{tier: gold}}
- name: dev
namespaces:
- metadata: {{name: prod, labels: {{tier: silver}}}}
subresources:
- subresource: {{name: deployments/scale, kind: Scale, group: autoscaling, version: v1}}
  parentResource: {{name: deployments, kind: Deployment, group: apps, version: v1}}
"
        );
        let LoadedValues { values, notes } = load(&text).unwrap();
        assert_eq!(values.global.len(), 1);
        let policy = &values.policies["some-policy"];
        assert_eq!(policy.resources["web"][0].1, Value::from("prod"));
        assert_eq!(policy.rules["some-rule"][0].0.parts().len(), 3);
        assert_eq!(policy.rules["some-rule"][1].1, Value::from("v0"));
        assert_eq!(values.namespaces["prod"], Value::from_json(r#"{"tier":"silver"}"#).unwrap());
        assert_eq!(values.namespaces["dev"], Value::empty_object());
        assert_eq!(&*values.subresources[0].name, "scale");
        assert_eq!(values.subresources[0].parent.to_string(), "apps/v1/Deployment");
        assert_eq!(notes.len(), 1);
    }

    #[test]
    fn every_error_is_listed_with_its_place() {
        let text = format!(
            "{HEAD}globalvalues: {{}}
globalValues: {{a..b: 1}}
policies:
- resources: []
- name: p
  rules: {{}}
namespaceSelector:
- name: 5
"
        );
        let errors = load(&text).unwrap_err();
        let starts = [
            "3:1: globalvalues: unknown field",
            "4:16: globalValues[\"a..b\"]: empty part",
            "6:3: policies[0]: name is missing",
            "8:3: policies[1].rules: expected a list, found object",
            "10:3: namespaceSelector[0].name: expected a string, found number",
        ];
        assert_eq!(errors.len(), starts.len(), "{errors:#?}");
        for (error, start) in errors.iter().zip(starts) {
            assert!(error.starts_with(start), "{error} is not {start}");
        }
    }

    #[test]
    fn an_operation_must_be_one() {
        for (word, refused) in [
            ("update", true),
            ("Create", true),
            ("UPDATE", false),
            ("CONNECT", false),
            ("''", false),
            ("5", false),
        ] {
            let found = load(&format!("{HEAD}globalValues: {{request.operation: {word}}}\n"));
            let start = "3:16: globalValues[\"request.operation\"]: `";
            assert_eq!(found.is_err(), refused, "{word}");
            assert!(found.err().is_none_or(|errors| errors[0].starts_with(start)), "{word}");
        }
        // Kyverno only checks `globalValues`.
        let of_object =
            "policies: [{name: p, resources: [{name: c, values: {request.operation: update}}]}]\n";
        let notes = load(&format!("{HEAD}{of_object}")).unwrap().notes;
        assert!(notes.len() == 1 && notes[0].contains("`update` is no operation"), "{notes:?}");
    }

    #[test]
    fn other_documents_are_refused() {
        assert!(
            load("apiVersion: v1\nkind: Pod\n").unwrap_err()[0]
                .contains("expected a document of kind Values")
        );
        assert!(load("kind: Values\n").unwrap_err()[0].contains("apiVersion is missing"));
        assert!(load("# nothing\n").unwrap_err()[0].contains("no document of kind Values"));
    }

    #[test]
    fn assignments_set_names_to_strings() {
        let (name, value) = assignment("a.b=c d").unwrap();
        assert_eq!((name.parts().len(), value), (2, Value::from("c d")));
        for bad in
            ["a", "=b", "a=", "a=b=c", "a..b=c", "request.object.metadata.name=x", "request.operation=update"]
        {
            assert!(assignment(bad).is_err(), "{bad}");
        }
    }
}
