//! The fields of a `Kyv`, which `krm-function/crd.yaml` describes.

/// The fields of `spec`; of a ConfigMap's `data`, too.
pub(super) const FIELDS: [&str; 22] = [
    "mode",
    "policies",
    "policiesFromItems",
    "manifests",
    "values",
    "userInfo",
    "exceptions",
    "contextFrom",
    "crds",
    "operation",
    "semantics",
    "legacy",
    "view",
    "serviceAccountToken",
    "onError",
    "keepGoing",
    "skipUnsupported",
    "severity",
    "strict",
    "quiet",
    "checkIdempotent",
    "limits",
];

/// The words that a field may have, the default first; none for a field of another type.
pub(super) fn words_of(field: &str) -> &'static [&'static str] {
    match field {
        "mode" => &["mutate", "generate", "validate"],
        // Without a default.
        "operation" => &["CREATE", "UPDATE", "DELETE", "CONNECT"],
        "semantics" => &["documented", "kyverno"],
        "legacy" => &["doc", "native", "smp"],
        "view" => &["admitted", "written"],
        "onError" => &["fail", "warn"],
        "severity" => &["error", "warning", "info"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use crate::krm::FunctionConfig;
    use crate::value::Value;
    use crate::yaml;

    use super::*;

    /// Whether a value of a field has the right type.
    fn is_accepted(field: &str, value: &str) -> bool {
        let kyv = format!(r#"{{"apiVersion":"kyv.dev/v1alpha1","kind":"Kyv","spec":{{"{field}":{value}}}}}"#);
        let errors = FunctionConfig::from_value(&Value::from_json(&kyv).unwrap()).err().unwrap_or_default();
        !errors.iter().any(|error| error.to_string().contains("expected"))
    }

    #[test]
    fn the_crd_has_these_fields_with_their_types_and_words() {
        let crd = yaml::parse_value(include_str!("../../krm-function/crd.yaml")).unwrap();
        let schema = crd.path(&["spec", "versions"]).unwrap().at(0).unwrap();
        let spec = schema.path(&["schema", "openAPIV3Schema", "properties", "spec"]).unwrap();
        let properties = spec.get("properties").and_then(Value::as_object).unwrap();
        assert_eq!(properties.keys().map(|name| &**name).collect::<Vec<_>>(), FIELDS);
        for (field, property) in properties {
            let words = property.get("enum").and_then(Value::as_array).unwrap_or_default();
            assert_eq!(words.iter().map(|word| word.as_str().unwrap()).collect::<Vec<_>>(), words_of(field));
            let description = property.get("description").and_then(Value::as_str).unwrap();
            let default = words_of(field).first().filter(|_| &**field != "operation");
            let default = default.map_or_else(String::new, |word| format!(" The default is {word}."));
            let has_default = description.contains("The default is");
            assert!(description.ends_with(&default) && has_default != default.is_empty(), "{field}");
            let word = words_of(field).first().map(|word| format!("\"{word}\""));
            for (kind, value) in [
                ("string", word.as_deref().unwrap_or("\"x\"")),
                ("boolean", "true"),
                ("object", "{}"),
                ("array", "[\"x\"]"),
            ] {
                let is_type = property.get("type") == Some(&kind.into());
                assert_eq!(is_accepted(field, value), is_type, "{field}: {value}");
            }
            let takes_objects = property.path(&["items", "x-kubernetes-preserve-unknown-fields"]).is_some();
            let is_list = property.get("type") == Some(&"array".into());
            assert_eq!(is_accepted(field, "[{}]"), is_list && takes_objects, "{field}");
        }
    }
}
