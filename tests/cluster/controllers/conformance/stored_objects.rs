//! Objects to and from the API server, many at once, through the real kubectl.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use serde_json::Value;

use test_support::api_server::ApiServer;

/// What tells an object from all others of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    kind: String,
    namespace: String,
    name: String,
}

impl Key {
    pub(crate) fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        Self {
            kind: text(&object["kind"]),
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
        }
    }
}

impl Display for Key {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}/{}", self.kind, self.namespace, self.name)
    }
}

/// Objects by their keys.
pub(crate) type Objects = BTreeMap<Key, Value>;

/// What the cluster answered: an object each where it took them, and everything it complained of.
pub(crate) struct Answer {
    pub(crate) objects: Objects,
    pub(crate) messages: String,
}

impl Answer {
    /// The prediction for an object without a response.
    pub(crate) fn message(&self, key: &Key) -> &str {
        let named = self.messages.lines().find(|line| line.contains(&key.name));
        named.unwrap_or_else(|| self.messages.lines().next().unwrap_or("nothing was said"))
    }
}

/// Sends objects with a verb of kubectl, such as `create` or `replace`.
pub(crate) fn send<'a>(
    server: &ApiServer,
    verb: &[&str],
    objects: impl Iterator<Item = &'a Value>,
) -> Answer {
    let stream: String = objects.map(|object| format!("{object}\n---\n")).collect();
    if stream.is_empty() {
        return Answer { objects: Objects::new(), messages: String::new() };
    }
    let mut arguments = verb.to_vec();
    arguments.extend(["--validate=false", "-o", "json", "-f", "-"]);
    let output = server.kubectl_with(&arguments, &stream);
    Answer { objects: parse(&output.stdout), messages: String::from_utf8_lossy(&output.stderr).into_owned() }
}

/// The objects of some kinds in the cluster.
pub(crate) fn held(server: &ApiServer, types: &str) -> Objects {
    parse(server.kubectl_ok(&["get", types, "-A", "-o", "json"], "").as_bytes())
}

/// Removes objects at once.
pub(crate) fn remove<'a>(server: &ApiServer, objects: impl Iterator<Item = &'a Value>) {
    let stream: String = objects.map(|object| format!("{object}\n---\n")).collect();
    if !stream.is_empty() {
        let arguments = ["delete", "--wait=false", "--now", "--ignore-not-found", "-f", "-"];
        server.kubectl_ok(&arguments, &stream);
    }
}

/// The objects of a stream of JSON documents and of lists.
pub(crate) fn parse(text: &[u8]) -> Objects {
    let mut objects = Objects::new();
    let documents = serde_json::Deserializer::from_slice(text).into_iter::<Value>();
    for document in documents.map(|document| document.expect("kubectl prints JSON")) {
        match document["items"].as_array() {
            Some(items) => objects.extend(items.iter().map(|item| (Key::of(item), item.clone()))),
            None => drop(objects.insert(Key::of(&document), document)),
        }
    }
    objects
}
