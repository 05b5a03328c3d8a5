//! Values for names of the JSON context, from Kyverno's `Values` documents and from `NAME=VALUE`.

use std::sync::Arc;

use crate::engine::{DottedName, SubresourceKind, Values};
use crate::policy::Operation;
use crate::value::{GroupVersionKind, Pointer, Text, Value};
use crate::yaml::{Document, Limits, Source};

use super::strict::{Head, Strict};
use super::text::{documents_of, read_text};
use super::{Location, Place, SourceError};

/// Values read from a document, and what in it has no effect.
#[derive(Debug, Default)]
pub struct LoadedValues {
    /// The values.
    pub values: Values,
    /// What is said about them.
    pub notes: Vec<String>,
}

const FIELDS: [&str; 5] = ["globalValues", "policies", "namespaceSelector", "namespaces", "subresources"];

/// Reads a `Values` document.
///
/// # Errors
///
/// What cannot be read, and every deviation from the form.
pub fn load_values(
    location: &Location,
    head: Head,
    limits: &Limits,
) -> Result<LoadedValues, Vec<SourceError>> {
    read_values(&read_text(location, limits).map_err(|error| vec![error])?, head, limits)
}

/// Reads a text that is a `Values` document.
///
/// # Errors
///
/// Every syntax error, and every deviation from the form.
pub fn values_in(source: &Arc<Source>, limits: &Limits) -> Result<LoadedValues, Vec<SourceError>> {
    read_values(source, Head::OfKind, limits)
}

fn read_values(source: &Arc<Source>, head: Head, limits: &Limits) -> Result<LoadedValues, Vec<SourceError>> {
    let documents = documents_of(source, limits)?;
    let mut faults = Vec::new();
    let mut loaded = None;
    for document in &documents {
        let mut strict = Strict::new(document);
        if loaded.is_some() {
            strict.fault(&Pointer::ROOT, "a second document of values in one file");
        } else if let Some(root) = match head {
            Head::OfKind => strict.head("Values", &FIELDS),
            Head::Any => strict.any_head(&FIELDS),
        } {
            let mut reader = Reader { strict, loaded: LoadedValues::default() };
            reader.root(root, &Pointer::ROOT, |at| Place::of(document, at));
            strict = reader.strict;
            loaded = Some(reader.loaded);
        }
        faults.extend(strict.finish());
    }
    match loaded {
        Some(loaded) if faults.is_empty() => Ok(loaded),
        None if faults.is_empty() => {
            Err(vec![SourceError::Empty { path: source.name().to_owned(), kind: "Values" }])
        }
        _ => Err(faults),
    }
}

/// Reads values that stand inside another document, without a head of their own.
///
/// # Errors
///
/// Every deviation from the form.
pub fn values_inside(document: &Document, at: &Pointer) -> Result<LoadedValues, Vec<SourceError>> {
    let mut reader = Reader { strict: Strict::new(document), loaded: LoadedValues::default() };
    if let Some(root) = document.value().and_then(|root| root.pointed(at))
        && reader.strict.fields(root, at, &FIELDS).is_some()
    {
        reader.root(root, at, |at| Place::of(document, at));
    }
    let faults = reader.strict.finish();
    if faults.is_empty() { Ok(reader.loaded) } else { Err(faults) }
}

/// Reads `NAME=VALUE`, which gives one name of the context a string.
///
/// # Errors
///
/// Anything else, and names below `request.object`, in words.
pub fn assignment(text: &str) -> Result<(DottedName, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    if name.is_empty() || value.is_empty() {
        return Err("expected NAME=VALUE, neither of them empty".to_owned());
    }
    if value.contains('=') {
        return Err("the value holds a second `=`; give such a value with --values".to_owned());
    }
    if let Some(fault) = wrong_operation(&value.into()).filter(|_| name == OPERATION) {
        return Err(fault);
    }
    let name = DottedName::parse(name).map_err(|error| error.to_string())?;
    if matches!(name.parts(), [request, object, _, ..] if &**request == "request" && &**object == "object") {
        return Err("values below request.object belong into the manifest".to_owned());
    }
    Ok((name, value.into()))
}

const OPERATION: &str = "request.operation";

/// What is wrong with the operation that a map of values gives in so many words, if it gives one, and where.
fn wrong_operation_in(node: &Value, at: &Pointer, key: &'static str) -> Option<(Pointer, String)> {
    let fault = wrong_operation(node.get(key)?.get(OPERATION)?)?;
    Some((at.key(key).key(OPERATION), fault))
}

/// What is wrong with an operation. Kyverno takes what is no text, or an empty one, for none.
fn wrong_operation(value: &Value) -> Option<String> {
    let word = value.as_str().filter(|word| !word.is_empty())?;
    let is_known = Operation::parse(word).is_some();
    (!is_known).then(|| {
        let names = Operation::ALL.map(Operation::name).join(", ");
        format!("`{}` is no operation: expected one of {names}", word.escape_debug())
    })
}

struct Reader<'a> {
    strict: Strict<'a>,
    loaded: LoadedValues,
}

impl<'a> Reader<'a> {
    fn root(&mut self, root: &'a Value, at: &Pointer, place: impl Fn(&Pointer) -> Place) {
        self.loaded.values.global = self.assignments(root, at, "globalValues");
        if let Some((at, fault)) = wrong_operation_in(root, at, "globalValues") {
            self.strict.fault(&at, fault);
        }
        for (at, policy) in self.strict.list(root, at, "policies") {
            self.policy(policy, &at, &place);
        }
        for (at, entry) in self.strict.list(root, at, "namespaceSelector") {
            self.strict.fields(entry, &at, &["name", "labels"]);
            if let Some(name) = self.strict.text(entry, &at, "name") {
                self.labels(name, entry, &at);
            }
        }
        // They stand after `namespaceSelector`, because they win over it.
        for (at, namespace) in self.strict.list(root, at, "namespaces") {
            let Some(metadata) = namespace.get("metadata") else {
                self.strict.fault(&at, "metadata is missing");
                continue;
            };
            let at = at.key("metadata");
            if let Some(name) = self.strict.text(metadata, &at, "name") {
                self.labels(name, metadata, &at);
            }
        }
        for (at, entry) in self.strict.list(root, at, "subresources") {
            if let Some(kind) = self.subresource(entry, &at) {
                self.loaded.values.subresources.push(kind);
            }
        }
    }

    fn policy(&mut self, policy: &'a Value, at: &Pointer, place: &impl Fn(&Pointer) -> Place) {
        self.strict.fields(policy, at, &["name", "resources", "rules"]);
        let Some(name) = self.strict.text(policy, at, "name").cloned() else { return };
        self.loaded.values.policies.entry(name.clone()).or_default();
        for (at, resource) in self.strict.list(policy, at, "resources") {
            self.strict.fields(resource, &at, &["name", "values"]);
            let given = self.assignments(resource, &at, "values");
            if let Some((at, fault)) = wrong_operation_in(resource, &at, "values") {
                let note = format!("{}: {fault}; `match` takes the request as CREATE", place(&at));
                self.loaded.notes.push(note);
            }
            if let Some(resource) = self.strict.text(resource, &at, "name").cloned() {
                let policy = self.loaded.values.policies.entry(name.clone()).or_default();
                policy.resources.entry(resource).or_default().extend(given);
            }
        }
        for (at, rule) in self.strict.list(policy, at, "rules") {
            self.strict.fields(rule, &at, &["name", "values", "foreachValues"]);
            let mut given = self.assignments(rule, &at, "values");
            // As in Kyverno, the first value of each list stands for all elements.
            for (name, values) in self.assignments(rule, &at, "foreachValues") {
                let at = at.key("foreachValues");
                match values.as_array() {
                    None => self.strict.type_fault(&values, &at, "a list"),
                    Some([]) => {}
                    Some([first, others @ ..]) => {
                        if !others.is_empty() {
                            let note = "the first of several foreachValues stands for all elements";
                            self.loaded.notes.push(format!("{}: {note}", place(&at)));
                        }
                        given.push((name, first.clone()));
                    }
                }
            }
            if let Some(rule) = self.strict.text(rule, &at, "name").cloned() {
                let policy = self.loaded.values.policies.entry(name.clone()).or_default();
                policy.rules.entry(rule).or_default().extend(given);
            }
        }
    }

    fn assignments(&mut self, node: &'a Value, at: &Pointer, key: &str) -> Vec<(DottedName, Value)> {
        let mut given = Vec::new();
        for (name, at, value) in self.strict.members(node, at, key) {
            match DottedName::parse(name) {
                Ok(name) => given.push((name, value.clone())),
                Err(error) => self.strict.fault(&at, error.to_string()),
            }
        }
        given
    }

    fn labels(&mut self, namespace: &'a Text, node: &'a Value, at: &Pointer) {
        let mut labels = Value::empty_object();
        for (name, at, value) in self.strict.members(node, at, "labels") {
            match value {
                Value::String(_) => labels.insert(name.clone(), value.clone()),
                other => self.strict.type_fault(other, &at, "a string"),
            }
        }
        self.loaded.values.namespaces.insert(namespace.clone(), labels);
    }

    fn subresource(&mut self, entry: &'a Value, at: &Pointer) -> Option<SubresourceKind> {
        self.strict.fields(entry, at, &["subresource", "parentResource"]);
        let (_, kind) = self.resource(entry, at, "subresource")?;
        let name = entry.path(&["subresource", "name"]).and_then(Value::as_text).cloned().unwrap_or_default();
        let (_, parent) = self.resource(entry, at, "parentResource")?;
        let Some((_, subresource)) =
            name.split_once('/').filter(|(parent, name)| !parent.is_empty() && !name.is_empty())
        else {
            let at = at.key("subresource").key("name");
            self.strict.fault(&at, "expected PARENT/SUBRESOURCE, such as deployments/scale");
            return None;
        };
        Some(SubresourceKind { kind, parent, name: subresource.into() })
    }

    /// The name and kind of an API resource.
    fn resource(
        &mut self,
        entry: &'a Value,
        at: &Pointer,
        key: &str,
    ) -> Option<(&'a Text, GroupVersionKind)> {
        let Some(resource) = entry.get(key) else {
            self.strict.fault(at, format!("{key} is missing"));
            return None;
        };
        let at = at.key(key);
        const FIELDS: [&str; 9] = [
            "name",
            "singularName",
            "namespaced",
            "group",
            "version",
            "kind",
            "verbs",
            "shortNames",
            "categories",
        ];
        self.strict.fields(resource, &at, &FIELDS)?;
        let name = self.strict.text(resource, &at, "name")?;
        let kind = self.strict.text(resource, &at, "kind")?.clone();
        let version = self.strict.text(resource, &at, "version")?.clone();
        let group = self.strict.optional_text(resource, &at, "group").unwrap_or_default();
        Some((name, GroupVersionKind { group: group.into(), version, kind }))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn load(text: &str) -> Result<LoadedValues, Vec<String>> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let location = Location::File { path: file.path().to_owned(), named: true };
        load_values(&location, Head::OfKind, &Limits::default()).map_err(|errors| {
            let prefix = format!("{}:", file.path().display());
            errors
                .iter()
                .map(|error| error.to_string().replace(&prefix, "").lines().next().unwrap().to_owned())
                .collect()
        })
    }

    const HEAD: &str = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\n";

    #[test]
    fn every_part_of_the_document_is_read() {
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
    fn deviations_are_all_named_with_their_places() {
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
        let faults = load(&text).unwrap_err();
        let starts = [
            "3:1: globalvalues: unknown field",
            "4:16: globalValues[\"a..b\"]: empty part",
            "6:3: policies[0]: name is missing",
            "8:3: policies[1].rules: expected a list, found object",
            "10:3: namespaceSelector[0].name: expected a string, found number",
        ];
        assert_eq!(faults.len(), starts.len(), "{faults:#?}");
        for (fault, start) in faults.iter().zip(starts) {
            assert!(fault.starts_with(start), "{fault} is not {start}");
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
            let fault = "3:16: globalValues[\"request.operation\"]: `";
            assert_eq!(found.is_err(), refused, "{word}");
            assert!(found.err().is_none_or(|faults| faults[0].starts_with(fault)), "{word}");
        }
        // Kyverno looks at those of all objects alone.
        let of_one = "policies: [{name: p, resources: [{name: c, values: {request.operation: update}}]}]\n";
        let notes = load(&format!("{HEAD}{of_one}")).unwrap().notes;
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
    fn assignments_are_names_and_texts() {
        let (name, value) = assignment("a.b=c d").unwrap();
        assert_eq!((name.parts().len(), value), (2, Value::from("c d")));
        for bad in
            ["a", "=b", "a=", "a=b=c", "a..b=c", "request.object.metadata.name=x", "request.operation=update"]
        {
            assert!(assignment(bad).is_err(), "{bad}");
        }
    }
}
