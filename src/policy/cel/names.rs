//! Names and labels that an API server refuses.

use crate::policy::PolicyError;
use crate::policy::fields::{given, string, text_map, texts};
use crate::policy::labels::{is_label_key, is_label_value};
use crate::value::{Pointer, Text, Value};

use super::findings::Findings;

const MAX_LABEL: usize = 63;
const MAX_SUBDOMAIN: usize = 253;

/// What an API server refuses of the name, namespace, labels and annotations of a document.
pub fn metadata_errors(document: &Value) -> Vec<PolicyError> {
    let mut findings = Findings::default();
    check_metadata(document, &mut findings);
    let namespace = document.path(&["metadata", "namespace"]).and_then(Value::as_str).unwrap_or_default();
    let is_label = namespace.len() <= MAX_LABEL && is_part(namespace);
    if !namespace.is_empty() && !is_label {
        let text = format!(
            "`{}` is no name of a namespace: at most {MAX_LABEL} lower-case letters and digits, with `-` between them",
            shortened(namespace)
        );
        findings.invalid(Pointer::ROOT.key("metadata").key("namespace"), text);
    }
    findings.errors
}

/// Checks the name, labels and annotations of a document.
pub(super) fn check_metadata(document: &Value, findings: &mut Findings) {
    let Some(metadata) = given(document, "metadata") else { return };
    let at = Pointer::ROOT.key("metadata");
    // The check of the fields names a missing one.
    if metadata.get("name").is_some_and(|name| name.as_str().is_some()) {
        check_subdomain(string(metadata, "name"), at.key("name"), findings);
    }
    let members = |field| text_map::<Vec<(Text, Text)>>(metadata.get(field));
    for (key, value) in members("labels") {
        let at = at.key("labels").key(key.clone());
        if !is_label_key(&key) {
            findings.invalid(at, format!("`{key}` is no label key, such as `example.com/a-name`"));
        } else if !is_label_value(&value) {
            findings.invalid(at, format!("`{value}` is no label value"));
        }
    }
    for (key, _) in members("annotations") {
        // Their case does not count.
        if !is_label_key(&key.to_ascii_lowercase()) {
            let text = format!("`{key}` is no qualified name, such as `example.com/a-name`");
            findings.invalid(at.key("annotations").key(key), text);
        }
    }
}

/// Checks the name of an object: labels of letters, digits and dashes with dots between them.
pub(super) fn check_subdomain(name: &str, at: Pointer, findings: &mut Findings) {
    if !is_subdomain(name) {
        let text = format!(
            "`{}` is no name of an object: at most {MAX_SUBDOMAIN} lower-case letters and digits, with `-` and `.` \
             between them",
            shortened(name)
        );
        findings.invalid(at, text);
    }
}

/// Checks a name that is a part of a path.
pub(super) fn check_path_segment(name: &str, at: Pointer, findings: &mut Findings) {
    if matches!(name, "." | "..") {
        findings.invalid(at, format!("a name may not be `{name}`"));
    } else if let Some(character) = name.chars().find(|one| ['/', '%'].contains(one)) {
        findings.invalid(at, format!("a name may not contain `{character}`"));
    }
}

/// Checks the names of objects of a rule.
pub(super) fn check_resource_names(rule: &Value, at: &Pointer, findings: &mut Findings) {
    let names = texts(rule.get("resourceNames"));
    for (index, name) in names.iter().enumerate() {
        let at = at.key("resourceNames").index(index);
        if names.iter().take(index).any(|earlier| earlier == name) {
            findings.invalid(at, format!("`{name}` is used twice"));
        } else {
            check_path_segment(name, at, findings);
        }
    }
}

/// Checks the kind of parameters. The check of the fields names missing ones.
pub(super) fn check_param_kind(kind: &Value, at: &Pointer, findings: &mut Findings) {
    let field = |name: &str| kind.get(name).and_then(Value::as_str);
    if let Some(api_version) = field("apiVersion") {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        if !is_label_1035(version) || !group.is_empty() && !is_subdomain(group) {
            let text =
                format!("`{}` is no API version, such as `v1` or `example.com/v1`", shortened(api_version));
            findings.invalid(at.key("apiVersion"), text);
        }
    }
    if let Some(kind) = field("kind").filter(|kind| !is_label_1035(&kind.to_lowercase())) {
        findings.invalid(at.key("kind"), format!("`{}` is no kind, such as `ConfigMap`", shortened(kind)));
    }
}

fn shortened(name: &str) -> String {
    name.chars().take(MAX_LABEL).collect()
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= MAX_SUBDOMAIN && text.split('.').all(is_part)
}

/// A label of DNS that begins with a letter.
fn is_label_1035(text: &str) -> bool {
    text.len() <= MAX_LABEL && is_part(text) && text.starts_with(|first: char| first.is_ascii_lowercase())
}

fn is_part(text: &str) -> bool {
    let is_end = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(is_end)
        && bytes.last().is_some_and(is_end)
        && bytes.iter().all(|byte| is_end(byte) || *byte == b'-')
}
