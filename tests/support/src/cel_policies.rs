//! CEL policies as tests write them: short forms, without what is the same in each.

use serde_json::{Value, json};

/// The `spec` of a policy, for all objects that are created and updated: `conditions` and `variables` (by name), each an
/// expression; `failurePolicy`; `groups`, `versions`, `resources` and `operations`; and `mutations`, each `apply` (an
/// ApplyConfiguration), `patch` (the operations of a JSONPatch) or `patches` (the list of them).
pub fn spec(written: &Value) -> Value {
    let list = |key: &str| -> Vec<Value> { written[key].as_array().cloned().unwrap_or_default() };
    let conditions = list("conditions").into_iter().enumerate();
    let conditions: Vec<Value> =
        conditions.map(|(index, text)| json!({"name": format!("c{index}"), "expression": text})).collect();
    let variables = written["variables"].as_object().into_iter().flatten();
    let variables: Vec<Value> =
        variables.map(|(name, text)| json!({"name": name, "expression": text})).collect();
    let mutations: Vec<Value> = list("mutations").iter().map(mutation).collect();
    let or = |key: &str, default: Value| written.get(key).cloned().unwrap_or(default);
    json!({
        "failurePolicy": or("failurePolicy", json!("Fail")),
        "matchConstraints": {"resourceRules": [{
            "apiGroups": or("groups", json!(["*"])),
            "apiVersions": or("versions", json!(["*"])),
            "operations": or("operations", json!(["CREATE", "UPDATE"])),
            "resources": or("resources", json!(["*"])),
        }]},
        "matchConditions": conditions,
        "variables": variables,
        "mutations": mutations,
    })
}

fn mutation(written: &Value) -> Value {
    let (kind, text) = written.as_object().and_then(|entry| entry.iter().next()).expect("a mutation");
    if kind == "apply" {
        return json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}});
    }
    let text = text.as_str().expect("an expression");
    let list = if kind == "patch" { format!("[{text}]") } else { text.to_owned() };
    json!({"patchType": "JSONPatch", "jsonPatch": {"expression": list}})
}

/// The elements of a YAML list.
pub fn list_of(text: &str) -> Vec<Value> {
    let document = kyv::yaml::parse_value(text).expect("YAML");
    let value: Value = serde_json::from_str(&document.to_json()).expect("JSON");
    value.as_array().cloned().unwrap_or_default()
}
