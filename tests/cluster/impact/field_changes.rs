//! Changes of one field each: of every field that an object has, and of every field that it could have.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Of what an object could have and has not, one in so many is tried: the rest is of the same types.
const SAMPLE_STEP: usize = 5;

/// A change of one object.
pub(crate) struct Change {
    pub(crate) what: String,
    pub(crate) after: Value,
}

/// What a kind may hold: the server's own description.
pub(crate) struct Schema<'a> {
    all: &'a Value,
    root: &'a Value,
}

/// How deep absent objects are made up.
const MAX_DEPTH: usize = 1;

impl<'a> Schema<'a> {
    /// The description of a kind in the document of its group.
    pub(crate) fn of(all: &'a Value, kind: &str, version: &str) -> Option<Self> {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let wanted = json!({"group": group, "kind": kind, "version": version});
        let schemas = all["components"]["schemas"].as_object()?;
        let is_it = |schema: &&Value| {
            let kinds = schema["x-kubernetes-group-version-kind"].as_array();
            kinds.is_some_and(|kinds| kinds.contains(&wanted))
        };
        Some(Self { all, root: schemas.values().find(is_it)? })
    }

    /// All changes of an object.
    pub(crate) fn changes(&self, object: &Value) -> Vec<Change> {
        let mut changes = Changes { schema: self, object, seen: BTreeSet::new(), found: Vec::new(), made: 0 };
        changes.of(self.root, object, &mut Vec::new());
        changes.found
    }

    fn resolve(&self, schema: &'a Value) -> &'a Value {
        let mut schema = schema;
        loop {
            let next = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
            let Some(name) = next.and_then(|path| path.rsplit('/').next()) else { return schema };
            schema = &self.all["components"]["schemas"][name];
        }
    }
}

struct Changes<'a, 'b> {
    schema: &'b Schema<'a>,
    object: &'b Value,
    seen: BTreeSet<String>,
    found: Vec<Change>,
    /// How many changes to what is absent there were.
    made: usize,
}

impl<'a> Changes<'a, '_> {
    fn of(&mut self, schema: &'a Value, value: &Value, at: &mut Vec<String>) {
        let is_quantity = schema["$ref"].as_str().is_some_and(|name| name.ends_with("api.resource.Quantity"))
            || schema["allOf"][0]["$ref"]
                .as_str()
                .is_some_and(|name| name.ends_with("api.resource.Quantity"));
        let schema = self.schema.resolve(schema);
        match value {
            Value::Object(members) => {
                for (key, child) in members {
                    if is_bookkeeping(at, key) {
                        continue;
                    }
                    let inner = match schema["properties"].get(key) {
                        Some(known) => known,
                        None => &schema["additionalProperties"],
                    };
                    at.push(key.clone());
                    if at.len() > 1 || key != "metadata" {
                        self.remove(at);
                    }
                    self.of(inner, child, at);
                    at.pop();
                }
                let known = schema["properties"].as_object();
                for (key, inner) in known.into_iter().flatten() {
                    if members.contains_key(key) || is_bookkeeping(at, key) {
                        continue;
                    }
                    at.push(key.clone());
                    for sample in self.samples(inner, key, 0) {
                        self.set(at, sample);
                    }
                    at.pop();
                }
                if schema["additionalProperties"].is_object() {
                    at.push("new".to_owned());
                    for sample in self.samples(&schema["additionalProperties"], "new", 0) {
                        self.set(at, sample);
                    }
                    at.pop();
                }
                if !at.is_empty() && at[..] != ["metadata"] {
                    self.set(at, json!({}));
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    at.push(index.to_string());
                    self.remove(at);
                    self.of(&schema["items"], item, at);
                    at.pop();
                }
                self.set(at, json!([]));
                let mut more = self.samples(&schema["items"], at.last().map_or("", String::as_str), 1);
                if let Some(Value::Object(last)) = items.last() {
                    let mut copy = last.clone();
                    for name in
                        ["name", "key", "containerPort", "port", "ip", "mountPath", "topologyKey", "path"]
                    {
                        match copy.get_mut(name) {
                            Some(Value::String(text)) => text.push('x'),
                            Some(Value::Number(number)) => *number = 4321.into(),
                            _ => {}
                        }
                    }
                    more.insert(0, Value::Object(copy));
                }
                for item in more.into_iter().take(3) {
                    let mut longer = items.clone();
                    longer.push(item);
                    self.set(at, Value::Array(longer));
                }
                if items.len() > 1 {
                    self.set(at, Value::Array(items.iter().rev().cloned().collect()));
                }
            }
            Value::String(text) => {
                if is_quantity {
                    for other in same_quantities(text) {
                        self.set(at, json!(other));
                    }
                    for other in ["1", "3Gi", "0", "100m"] {
                        self.set(at, json!(other));
                    }
                }
                for sample in self.samples(schema, at.last().map_or("", String::as_str), 0) {
                    self.set(at, sample);
                }
                self.set(at, json!(format!("{text}x")));
                self.set(at, json!(""));
                self.set(at, Value::Null);
            }
            Value::Bool(is_so) => self.set(at, json!(!is_so)),
            Value::Number(number) => {
                let number = number.as_i64().unwrap_or_default();
                for other in [number + 1, number - 1, 0] {
                    self.set(at, json!(other));
                }
            }
            Value::Null => {}
        }
    }

    /// What a field that is absent could hold.
    fn samples(&self, schema: &'a Value, name: &str, depth: usize) -> Vec<Value> {
        let hinted: Vec<Value> = hints(name).iter().map(|text| json!(text)).collect();
        let reference =
            schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str()).unwrap_or_default();
        if reference.ends_with("Quantity") {
            return vec![json!("1"), json!("1Gi")];
        }
        if reference.ends_with("Time") {
            return vec![json!("2026-01-01T00:00:00Z")];
        }
        let schema = self.schema.resolve(schema);
        if let Some(known) = schema["enum"].as_array() {
            return known.iter().take(3).cloned().chain([json!("")]).collect();
        }
        match schema["type"].as_str() {
            Some("boolean") => vec![json!(true), json!(false)],
            Some("integer" | "number") => {
                let mut numbers = vec![json!(1), json!(0)];
                numbers.extend(schema["default"].as_i64().map(|number| json!(number)));
                numbers
            }
            Some("array") if depth > MAX_DEPTH => vec![json!([])],
            Some("array") => {
                let items = self.samples(&schema["items"], name, depth + 1);
                let one =
                    items.into_iter().filter(|item| *item != json!("")).take(3).map(|item| json!([item]));
                [json!([])].into_iter().chain(one).collect()
            }
            Some("object") if schema["additionalProperties"].is_object() => {
                let items = self.samples(&schema["additionalProperties"], name, depth + 1);
                let one = items.into_iter().take(1).map(|item| json!({"a": item}));
                [json!({})].into_iter().chain(one).collect()
            }
            Some("object") => {
                let mut found = vec![json!({})];
                let Some(properties) = schema["properties"].as_object() else { return found };
                if depth > MAX_DEPTH {
                    return found;
                }
                let required: Map<String, Value> = schema["required"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|key| {
                        let key = key.as_str()?;
                        let samples = self.samples(&properties[key], key, depth + 1);
                        let some =
                            samples.into_iter().find(|sample| *sample != json!("") && *sample != json!({}));
                        Some((key.to_owned(), some.unwrap_or(json!({}))))
                    })
                    .collect();
                if !required.is_empty() {
                    found.push(Value::Object(required.clone()));
                }
                for (key, inner) in properties {
                    let samples = self.samples(inner, key, depth + 1).into_iter();
                    for sample in samples.take(if depth == 0 { 2 } else { 1 }) {
                        let mut members = required.clone();
                        members.insert(key.clone(), sample);
                        found.push(Value::Object(members));
                    }
                }
                found
            }
            Some("string") if schema["format"] == "byte" => vec![json!("YQ=="), json!("")],
            _ if schema["oneOf"].is_array() || schema["format"] == "int-or-string" => {
                vec![json!(1), json!("50%")]
            }
            _ => hinted.into_iter().chain([json!("x"), json!("")]).collect(),
        }
    }

    fn set(&mut self, at: &[String], value: Value) {
        let text = value.to_string();
        let mut after = self.object.clone();
        if let Some(place) = parent(&mut after, at) {
            match place {
                (Value::Object(members), key) => drop(members.insert(key.to_owned(), value)),
                (Value::Array(items), key) => items[key.parse::<usize>().expect("an index")] = value,
                _ => return,
            }
        }
        self.push(format!("{} = {text}", at.join(".")), after);
    }

    fn remove(&mut self, at: &[String]) {
        let mut after = self.object.clone();
        match parent(&mut after, at) {
            Some((Value::Object(members), key)) => drop(members.remove(key)),
            Some((Value::Array(items), key)) => drop(items.remove(key.parse::<usize>().expect("an index"))),
            _ => return,
        }
        self.push(format!("{} removed", at.join(".")), after);
    }

    fn push(&mut self, what: String, after: Value) {
        let is_made = what.contains(" = {") || what.contains(" = [");
        self.made += usize::from(is_made);
        let is_passed_over = is_made && what.len() > 60 && !self.made.is_multiple_of(SAMPLE_STEP);
        if !is_passed_over && after != *self.object && self.seen.insert(after.to_string()) {
            self.found.push(Change { what, after });
        }
    }
}

/// Fields that the server manages, and those that the path of a request repeats.
fn is_bookkeeping(at: &[String], key: &str) -> bool {
    match at {
        [] => matches!(key, "status" | "apiVersion" | "kind"),
        [root] if root == "metadata" => {
            matches!(key, "managedFields" | "resourceVersion" | "name" | "namespace" | "selfLink")
        }
        _ => false,
    }
}

fn parent<'v>(root: &'v mut Value, at: &'v [String]) -> Option<(&'v mut Value, &'v str)> {
    let (last, path) = at.split_last()?;
    let mut value = root;
    for step in path {
        value = match value {
            Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?)?,
            other => other.get_mut(step)?,
        };
    }
    Some((value, last))
}

/// Other ways to write a quantity.
fn same_quantities(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let number = |suffix: &str| text.strip_suffix(suffix).and_then(|digits| digits.parse::<u64>().ok());
    if let Ok(whole) = text.parse::<u64>() {
        found.push(format!("{}m", whole * 1000));
        found.push(format!("{whole}.0"));
    }
    found.extend(number("m").filter(|milli| milli % 100 == 0).map(|milli| format!("0.{}", milli / 100)));
    found.extend(number("Mi").map(|mebi| format!("{}Ki", mebi * 1024)));
    found.extend(number("Gi").map(|gibi| format!("{}Mi", gibi * 1024)));
    found
}

/// Words that fields of a name take.
fn hints(name: &str) -> &'static [&'static str] {
    match name {
        "image" => &[
            "nginx:2",
            "nginx:latest",
            "nginx",
            "nginx@sha256:0000000000000000000000000000000000000000000000000000000000000000",
        ],
        "imagePullPolicy" | "pullPolicy" => &["Always", "IfNotPresent", "Never"],
        "restartPolicy" => &["Always", "OnFailure", "Never"],
        "dnsPolicy" => &["ClusterFirst", "Default", "None"],
        "protocol" => &["TCP", "UDP"],
        "scheme" => &["HTTP", "HTTPS"],
        "operator" => &["Exists", "In", "Equal"],
        "effect" => &["NoExecute", "NoSchedule"],
        "terminationMessagePolicy" => &["File", "FallbackToLogsOnError"],
        "terminationMessagePath" => &["/dev/termination-log", "/x"],
        "schedulerName" => &["default-scheduler", "other"],
        "apiVersion" => &["v1"],
        "apiGroup" => &["rbac.authorization.k8s.io", "snapshot.storage.k8s.io"],
        "preemptionPolicy" => &["PreemptLowerPriority", "Never"],
        "volumeMode" => &["Filesystem", "Block"],
        "accessModes" => &["ReadWriteOnce", "ReadWriteMany"],
        "storageClassName" => &["grows", "other"],
        "clusterIP" | "clusterIPs" => &["10.0.0.200", "None"],
        "ipFamilies" => &["IPv4", "IPv6"],
        "ipFamilyPolicy" => &["SingleStack", "PreferDualStack"],
        "sessionAffinity" => &["None", "ClientIP"],
        "externalTrafficPolicy" | "internalTrafficPolicy" => &["Cluster", "Local"],
        "loadBalancerClass" => &["example.com/b"],
        "externalName" => &["b.example"],
        "scopes" => &["BestEffort", "NotTerminating"],
        "scopeName" => &["PriorityClass", "BestEffort"],
        "reclaimPolicy" | "persistentVolumeReclaimPolicy" => &["Delete", "Retain"],
        "volumeBindingMode" => &["Immediate", "WaitForFirstConsumer"],
        "fsGroupPolicy" => &["ReadWriteOnceWithFSType", "File", "None"],
        "volumeLifecycleModes" => &["Persistent", "Ephemeral"],
        "podManagementPolicy" => &["OrderedReady", "Parallel"],
        "completionMode" => &["NonIndexed", "Indexed"],
        "podReplacementPolicy" => &["TerminatingOrFailed", "Failed"],
        "managedBy" => &["example.com/other"],
        "type" => &[
            "RollingUpdate",
            "OnDelete",
            "Recreate",
            "ClusterIP",
            "NodePort",
            "ExternalName",
            "LoadBalancer",
            "Opaque",
            "RuntimeDefault",
            "Unconfined",
            "Limited",
            "Exempt",
            "Directory",
        ],
        "addressType" => &["IPv4", "IPv6"],
        "allocationMode" => &["ExactCount", "All"],
        "podCIDR" | "podCIDRs" | "cidrs" | "cidr" => &["10.9.1.0/24"],
        "iscsiInterface" => &["default"],
        "finalizers" => &["example.com/f"],
        "path" => &["/", "/x"],
        "mountPath" => &["/other"],
        "whenUnsatisfiable" => &["ScheduleAnyway", "DoNotSchedule"],
        "conditionType" => &["example.com/other"],
        "whenDeleted" | "whenScaled" => &["Retain", "Delete"],
        "concurrencyPolicy" => &["Allow", "Forbid"],
        "schedule" => &["1 * * * *"],
        "request" => &["YQ=="],
        "usages" => &["server auth"],
        "signerName" => &["example.com/b"],
        "scope" => &["Cluster", "Namespace"],
        "mountPropagation" => &["None", "HostToContainer"],
        "procMount" => &["Default", "Unmasked"],
        "fsGroupChangePolicy" => &["OnRootMismatch"],
        "expression" => &["false"],
        _ => &[],
    }
}
