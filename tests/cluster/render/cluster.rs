//! The cluster that builds are created in, as dry runs: nothing is stored, so objects of all builds may share names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use test_support::api_server::ApiServer;
use test_support::log;
use test_support::rest::{Answer, Request, Rest};

use super::builds::Build;
use super::comparison::{Outcome, renamed};
use super::policy_sets::PolicySet;

/// Requests under way at a time.
const CONNECTIONS: usize = 8;

/// What objects of builds need before they can be created.
pub(super) struct Cluster {
    pub(super) rest: Rest,
    /// Namespaces, `ConfigMaps` and classes that were created.
    pub(super) context: Vec<Value>,
    pub(super) definitions: Vec<Value>,
}

/// An object of a build.
pub(super) struct Object {
    pub(super) build: usize,
    /// Which one of the objects of all builds it is.
    pub(super) number: usize,
    pub(super) written: Value,
    /// A suffix for its name, where an object of its name exists.
    suffix: &'static str,
    /// What the API server makes of it without policies.
    pub(super) plain: Outcome,
}

impl Object {
    /// How messages name it.
    pub(super) fn name(&self) -> String {
        let (kind, metadata) = (&self.written["kind"], &self.written["metadata"]);
        format!("{} {}", kind.as_str().unwrap_or("?"), metadata["name"].as_str().unwrap_or("?"))
    }
}

impl Cluster {
    /// Creates namespaces, definitions of custom resources, classes, and what policies look up.
    pub(super) fn prepare(server: &ApiServer, builds: &[Build], sets: &[PolicySet]) -> Self {
        let rest = Rest::open(server);
        let objects = || builds.iter().flat_map(|build| &build.objects);
        let named = |kinds: &[&str]| -> Vec<Value> {
            let mut found = BTreeMap::new();
            for object in objects().filter(|object| kinds.iter().any(|kind| object["kind"] == *kind)) {
                if let Some(name) = object["metadata"]["name"].as_str() {
                    found.entry((object["kind"].to_string(), name)).or_insert_with(|| object.clone());
                }
            }
            found.into_values().collect()
        };
        let mut definitions: Vec<Value> = Vec::new();
        for definition in builds.iter().flat_map(|build| &build.definitions) {
            if definitions.iter().all(|known| known["metadata"]["name"] != definition["metadata"]["name"]) {
                definitions.push(definition.clone());
            }
        }
        let kinds: BTreeSet<&str> = objects().filter_map(|object| object["kind"].as_str()).collect();
        definitions.retain(|definition| {
            definition["spec"]["names"]["kind"].as_str().is_some_and(|kind| kinds.contains(kind))
        });
        definitions.retain(|definition| rest.create(definition, "").is_ok());
        let mut context = named(&["Namespace"]);
        let known: BTreeSet<String> =
            context.iter().map(|namespace| namespace["metadata"]["name"].to_string()).collect();
        let policies = sets.iter().flat_map(|set| &set.policies);
        let places: BTreeSet<&str> = objects()
            .chain(policies)
            .filter_map(|object| object["metadata"]["namespace"].as_str())
            .chain(["default"])
            .collect();
        let others = places.into_iter().filter(|name| !known.contains(&json!(name).to_string()));
        context.extend(
            others.map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})),
        );
        context.extend(named(&["PriorityClass", "RuntimeClass"]));
        context.extend(looked_up());
        for object in &context {
            // Namespaces such as `default` exist.
            drop(rest.create(object, ""));
        }
        create_service_accounts(&rest, objects());
        let stored = context.iter().filter_map(|object| rest.get(object).ok());
        let context = stored.map(|object| test_support::objects::without_server_fields(&object)).collect();
        for definition in &definitions {
            wait_until_served(&rest, definition);
        }
        Self { rest, context, definitions }
    }

    /// The objects of builds that the server serves, with what it makes of them.
    pub(super) fn objects(&self, builds: &[Build]) -> Vec<Object> {
        let mut all = Vec::new();
        let mut unserved = BTreeMap::new();
        let mut exported = 0;
        let written = builds.iter().enumerate();
        let written =
            written.flat_map(|(index, build)| build.objects.iter().map(move |object| (index, object)));
        for (number, (build, written)) in written.enumerate() {
            // With a uid it is an object of a cluster, which was admitted before: our program sets no defaults in it.
            if written["metadata"]["uid"].is_string() {
                exported += 1;
                continue;
            }
            if self.rest.path(written).is_err() {
                *unserved.entry(format!("{} {}", written["apiVersion"], written["kind"])).or_insert(0) += 1;
                continue;
            }
            let plain = Outcome::Refused(0, String::new());
            all.push(Object { build, number, written: written.clone(), suffix: "", plain });
        }
        let unserved_objects: usize = unserved.values().sum();
        log(&format!(
            "left out: {exported} objects with a uid, {unserved_objects} of {} kinds that are not served",
            unserved.len()
        ));
        let answers = self.answers(all.iter().map(|object| (object, &object.written)));
        for (object, answer) in all.iter_mut().zip(answers) {
            object.plain = answer;
        }
        // A second time under another name, where one of its name exists.
        let existing: Vec<usize> =
            (0..all.len()).filter(|index| matches!(all[*index].plain, Outcome::Refused(409, _))).collect();
        existing.iter().for_each(|index| all[*index].suffix = "-again");
        let answers = self.answers(existing.iter().map(|index| (&all[*index], &all[*index].written)));
        for (index, answer) in existing.into_iter().zip(answers) {
            all[index].plain = answer;
        }
        all
    }

    /// Creates versions of objects as dry runs.
    pub(super) fn answers<'a>(&self, objects: impl Iterator<Item = (&'a Object, &'a Value)>) -> Vec<Outcome> {
        let sent: Vec<Value> = objects.map(|(object, value)| renamed(value, object.suffix)).collect();
        let requests: Vec<Request> = sent.iter().map(|object| self.request(object)).collect();
        let answers: Vec<Answer> = self.rest.ask_all(&requests, CONNECTIONS);
        answers.into_iter().zip(&sent).map(|(answer, sent)| Outcome::of(answer, sent)).collect()
    }

    fn request(&self, object: &Value) -> Request {
        let collection = self.rest.collection(object).expect("the kind is served");
        let path = format!("{collection}?dryRun=All&fieldValidation=Ignore");
        Request { method: "POST", path, body: Some(object.clone()) }
    }
}

/// What policies look up, and classes that they name.
fn looked_up() -> Vec<Value> {
    let configuration = "apiServer: {}\nclusterName: mycluster\nkubernetesVersion: v1.36.3\n";
    vec![
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kubeadm-config", "namespace": "kube-system"},
            "data": {"ClusterConfiguration": configuration}}),
        json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "prodclass"}, "handler": "prod"}),
    ]
}

/// No controller makes service accounts here.
fn create_service_accounts<'a>(rest: &Rest, objects: impl Iterator<Item = &'a Value>) {
    let mut accounts = BTreeSet::new();
    for object in objects {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default").to_owned();
        if object["kind"] == "Pod" {
            let spec = &object["spec"];
            let name = spec["serviceAccountName"].as_str().or_else(|| spec["serviceAccount"].as_str());
            accounts.insert((namespace.clone(), name.unwrap_or("default").to_owned()));
        }
        accounts.insert((namespace, "default".to_owned()));
    }
    for (namespace, name) in accounts {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}});
        drop(rest.create(&account, ""));
    }
}

fn wait_until_served(rest: &Rest, definition: &Value) {
    let spec = &definition["spec"];
    let (group, kind) = (spec["group"].as_str().unwrap_or_default(), &spec["names"]["kind"]);
    for version in
        spec["versions"].as_array().into_iter().flatten().filter(|version| version["served"] == true)
    {
        let name = version["name"].as_str().unwrap_or_default();
        for _ in 0..600 {
            let served = rest.ask("GET", &format!("/apis/{group}/{name}"), None).unwrap_or_default();
            if served["resources"].as_array().into_iter().flatten().any(|resource| resource["kind"] == *kind)
            {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}
