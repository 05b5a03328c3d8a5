//! Cases of the corpus, completed so that a real API server accepts their objects.
#![allow(clippy::allow_attributes, reason = "an `expect` fails in the test binary that uses all of it")]
#![allow(dead_code, reason = "each test binary uses its part")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use kyv::yaml::{Limits, Source, read};
use serde_json::{Value, json};

use test_support::rest::Rest;

/// A case, with what Kyverno is expected to do.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) policies: Vec<Value>,
    pub(crate) exceptions: Vec<Value>,
    pub(crate) inputs: Vec<Value>,
    pub(crate) old: Vec<Value>,
    pub(crate) targets: Vec<Value>,
    pub(crate) options: Vec<String>,
    /// What becomes of the objects; `None` where the policy is refused.
    pub(crate) expected: Option<Vec<Value>>,
    /// Whether that is written for the objects with their defaults.
    pub(crate) is_for_admission: bool,
    /// What the errors must name.
    pub(crate) errors: Vec<String>,
    /// The divergences that the run announces, `KYV-Dnn`.
    pub(crate) announced: BTreeSet<String>,
}

impl Case {
    /// Every case, in the order of their names.
    pub(crate) fn all() -> Vec<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
        let mut folders = Vec::new();
        collect(&root, &mut folders);
        folders.sort();
        let wanted = std::env::var("KYV_CASES").unwrap_or_default();
        let name = |folder: &Path| folder.strip_prefix(&root).expect("below the root").display().to_string();
        let cases = folders.iter().map(|folder| (name(folder), folder));
        cases
            .filter(|(name, _)| name.contains(&wanted))
            .map(|(name, folder)| Self::read(name, folder))
            .collect()
    }

    fn read(name: String, folder: &Path) -> Self {
        let text = |file: &str| fs::read_to_string(folder.join(file)).ok();
        let own = |stem: &str, extension: &str| {
            let names = [format!("{stem}.admitted"), format!("{stem}.kyverno"), stem.to_owned()];
            names.iter().find_map(|name| text(&format!("{name}.{extension}")))
        };
        let lines = |text: Option<String>| -> Vec<String> {
            let text = text.unwrap_or_default();
            text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
        };
        let objects = |file: &str| items(&documents(file, &text(file).unwrap_or_default()));
        let expected = own("expected", "yaml").filter(|text| !text.trim().is_empty());
        Self {
            policies: objects("policy.yaml"),
            exceptions: objects("exceptions.yaml"),
            inputs: objects("input.yaml"),
            old: objects("old.yaml"),
            targets: objects("targets.yaml"),
            options: lines(text("options")),
            expected: expected.map(|text| items(&documents("expected.yaml", &text))),
            errors: lines(own("error", "txt")),
            is_for_admission: folder.join("expected.admitted.yaml").exists(),
            announced: lines(own("divergences", "txt")).into_iter().collect(),
            folder: folder.to_owned(),
            name,
        }
    }

    /// The rules of all policies.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &Value> {
        self.policies.iter().filter_map(|policy| policy["spec"]["rules"].as_array()).flatten()
    }

    /// Whether a rule changes other objects than the one that is admitted.
    pub(crate) fn has_targets(&self) -> bool {
        self.rules().any(|rule| !rule["mutate"]["targets"].is_null())
    }

    /// Whether requests pass when a policy fails.
    pub(crate) fn ignores_failures(&self) -> bool {
        let ignores = |policy: &Value| {
            let spec = &policy["spec"];
            spec["failurePolicy"] == "Ignore" || spec["webhookConfiguration"]["failurePolicy"] == "Ignore"
        };
        self.policies.iter().any(ignores)
    }

    /// Whether the requests are updates because an option says so.
    pub(crate) fn updates(&self) -> bool {
        self.options.iter().any(|option| option == "UPDATE")
    }

    /// Whether the result depends on the order of the policies, as our program notes.
    fn depends_on_order(&self) -> bool {
        if self.policies.len() < 2 {
            return false;
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
        command.current_dir(&self.folder).env_clear().args([
            "mutate",
            "-p",
            "policy.yaml",
            "-f",
            "input.yaml",
        ]);
        if self.folder.join("exceptions.yaml").exists() {
            command.args(["--exceptions", "exceptions.yaml"]);
        }
        let output = command.output().expect("the program starts");
        String::from_utf8_lossy(&output.stderr).contains("[KYV801]")
    }

    /// Why no cluster can be given this case.
    pub(crate) fn out_of_reach(&self) -> Option<&'static str> {
        let options: Vec<&str> = self.options.iter().map(String::as_str).collect();
        if options.contains(&"--legacy") {
            return Some("legacy syntax");
        }
        if !matches!(&options[..], [] | ["--operation", "CREATE" | "UPDATE"]) {
            return Some("arguments that only our program takes");
        }
        let classic = |policy: &Value| policy["kind"] == "ClusterPolicy" || policy["kind"] == "Policy";
        if self.policies.is_empty() || self.inputs.is_empty() || !self.policies.iter().all(classic) {
            return Some("no stream of objects and of classic policies");
        }
        if self.name.starts_with("not-evaluated/") {
            return Some("policies of which a part is not evaluated");
        }
        if self.folder.join("exceptions.yaml").exists()
            && self.exceptions.iter().all(|it| it["kind"] != "PolicyException")
        {
            return Some("no exception in the file of exceptions");
        }
        if self.errors.iter().any(|error| error.contains("`--set NAME=VALUE`")) {
            return Some("values that only a cluster has");
        }
        let asking = ["apiCall", "configMap", "globalReference", "imageRegistry"];
        let rules = self.rules().map(Value::to_string).collect::<String>();
        if asking.iter().any(|key| rules.contains(&format!("\"{key}\":{{")))
            && self.name.starts_with("context/")
        {
            return Some("contexts that ask for more than the object");
        }
        if self.depends_on_order() {
            return Some("an order of policies, which a cluster does not have");
        }
        let named = |object: &Value| object["metadata"]["namespace"].as_str().map(str::to_owned);
        let namespaces: BTreeSet<String> = self.inputs.iter().filter_map(named).collect();
        let surrounds = |object: &Value| {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            object["kind"] == "Namespace" && (name == "default" || namespaces.contains(name))
        };
        self.inputs.iter().any(surrounds).then_some("namespaces among the objects")
    }
}

fn collect(folder: &Path, folders: &mut Vec<PathBuf>) {
    if folder.join("policy.yaml").exists() {
        folders.push(folder.to_owned());
    }
    let entries = fs::read_dir(folder).expect("the folder of the corpus can be read");
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_dir()) {
        collect(&path, folders);
    }
}

/// The documents of a text; those of a text that cannot be read are none.
fn documents(name: &str, text: &str) -> Vec<Value> {
    let source = Arc::new(Source::new(name, text.to_owned()));
    let documents = read(&source, &Limits::default()).unwrap_or_default();
    let values = documents.iter().filter_map(|document| document.value());
    values.map(|value| serde_json::from_str(&value.to_json()).expect("JSON")).collect()
}

/// An object with the required fields of its kind that the case omits.
pub(crate) fn completed(mut object: Value) -> Value {
    // What is no map where a map belongs is for the server to refuse.
    let maps = [
        "/spec",
        "/spec/template",
        "/spec/template/spec",
        "/spec/template/metadata",
        "/spec/selector",
        "/spec/template/metadata/labels",
        "/spec/jobTemplate",
        "/spec/jobTemplate/spec",
        "/spec/jobTemplate/spec/template",
        "/spec/jobTemplate/spec/template/spec",
    ];
    let is_map = |value: &Value| value.is_object() || value.is_null();
    if !maps.iter().all(|path| object.pointer(path).is_none_or(is_map)) {
        return object;
    }
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    let template = match kind.as_str() {
        "Pod" => {
            complete_pod(&mut object["spec"]);
            return object;
        }
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => {
            let spec = &mut object["spec"];
            if spec["selector"].is_null() {
                spec["selector"] = json!({"matchLabels": {"app": "test"}});
            }
            for (label, value) in spec["selector"]["matchLabels"].as_object().cloned().unwrap_or_default() {
                let labels = &mut spec["template"]["metadata"]["labels"];
                if labels[&label].is_null() {
                    labels[&label] = value;
                }
            }
            &mut object["spec"]["template"]
        }
        "Job" => &mut object["spec"]["template"],
        "CronJob" => {
            if object["spec"]["schedule"].is_null() {
                object["spec"]["schedule"] = json!("* * * * *");
            }
            &mut object["spec"]["jobTemplate"]["spec"]["template"]
        }
        _ => return object,
    };
    complete_pod(&mut template["spec"]);
    if kind.ends_with("Job") && template["spec"]["restartPolicy"].is_null() {
        template["spec"]["restartPolicy"] = json!("Never");
    }
    object
}

fn complete_pod(spec: &mut Value) {
    if spec["containers"].is_null() {
        spec["containers"] = json!([{"name": "test", "image": "test"}]);
    }
    for list in ["containers", "initContainers"] {
        for (index, container) in spec[list].as_array_mut().into_iter().flatten().enumerate() {
            if container["image"].is_null() && container.is_object() {
                container["image"] = json!("test");
            }
            if container["name"].is_null() && container.is_object() {
                container["name"] = json!(format!("test-{index}"));
            }
        }
    }
}

/// Objects, with the items of lists in the place of the lists.
fn items(objects: &[Value]) -> Vec<Value> {
    let each = objects.iter().flat_map(|object| match object["items"].as_array() {
        Some(items) => {
            let kind = object["kind"].as_str().unwrap_or_default().trim_end_matches("List");
            let item = |item: &Value| {
                let mut item = item.clone();
                if item["kind"].is_null() && !kind.is_empty() {
                    item["kind"] = json!(kind);
                    item["apiVersion"] = object["apiVersion"].clone();
                }
                item
            };
            items.iter().map(item).collect()
        }
        None => vec![object.clone()],
    });
    each.collect()
}

/// Makes every namespace that an object of the cases lives in.
pub(crate) fn make_namespaces(rest: &Rest, cases: &[&Case]) -> Vec<Value> {
    let objects = cases.iter().flat_map(|case| {
        case.inputs.iter().chain(&case.old).chain(&case.targets).chain(&case.policies).chain(&case.exceptions)
    });
    let mut names: BTreeSet<&str> =
        objects.filter_map(|object| object["metadata"]["namespace"].as_str()).collect();
    names.insert("default");
    let made = names.iter().filter_map(|name| {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        drop(rest.create(&namespace, ""));
        // A name that no namespace can have is no path to one either.
        rest.get(&namespace).ok().filter(|held| held["kind"] == "Namespace")
    });
    made.collect()
}
