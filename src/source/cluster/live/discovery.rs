//! Discovery of the resources that a cluster serves: aggregated, or group by group from older servers.

use crate::resources::{ApiResource, Resources, Subresource, UnavailableVersion};
use crate::value::{GroupVersionKind, Text, Value};

use super::{ClusterError, ClusterResult, LiveCluster};

/// Aggregated discovery, with two requests in all.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,\
                          application/json";
const PLAIN: &str = "application/json";
const REQUEST_NAME: &str = "the kinds it serves";

/// The resources found so far.
#[derive(Default)]
struct Found {
    resources: Vec<ApiResource>,
    unavailable: Vec<UnavailableVersion>,
}

impl LiveCluster {
    /// Reads all resources.
    pub(super) fn discover(&self) -> ClusterResult<Resources> {
        let mut found = Found::default();
        for path in ["/api", "/apis"] {
            let response = self.read(path, AGGREGATED, REQUEST_NAME)?;
            match response.get("kind").and_then(Value::as_str) {
                Some("APIGroupDiscoveryList") => found.groups(&response),
                Some("APIVersions") => {
                    let versions = list(&response, "versions").iter().filter_map(Value::as_text);
                    versions.for_each(|version| self.version("/api", &Text::default(), version, &mut found));
                }
                Some("APIGroupList") => {
                    for group in list(&response, "groups") {
                        self.group(group, &mut found);
                    }
                }
                _ => return Err(malformed("it is no list of API groups")),
            }
        }
        if found.resources.is_empty() {
            return Err(malformed("it names none"));
        }
        Ok(Resources::new(found.resources, found.unavailable))
    }

    /// Reads the resources of a group, version by version, the preferred one first.
    fn group(&self, group: &Value, found: &mut Found) {
        let Some(name) = group.get("name").and_then(Value::as_text) else { return };
        let preferred = group.path(&["preferredVersion", "version"]).and_then(Value::as_text);
        let all = list(group, "versions").iter().filter_map(|version| version.get("version")?.as_text());
        let mut versions: Vec<&Text> = preferred.into_iter().collect();
        versions.extend(all.filter(|version| Some(*version) != preferred));
        for version in versions {
            self.version("/apis", name, version, found);
        }
    }

    fn version(&self, root: &str, group: &Text, version: &Text, found: &mut Found) {
        let path =
            if group.is_empty() { format!("{root}/{version}") } else { format!("{root}/{group}/{version}") };
        match self.read(&path, PLAIN, REQUEST_NAME) {
            Ok(response) => found.version(group, version, &response),
            Err(error) => {
                let why = match error {
                    ClusterError::Refused { message, .. } => message,
                    other => other.to_string(),
                };
                let (group, version) = (group.clone(), version.clone());
                found.unavailable.push(UnavailableVersion { group, version, why });
            }
        }
    }
}

impl Found {
    /// Adds the resources of aggregated discovery.
    fn groups(&mut self, response: &Value) {
        for group in list(response, "items") {
            let name =
                group.path(&["metadata", "name"]).and_then(Value::as_text).cloned().unwrap_or_default();
            for version in list(group, "versions") {
                let Some(number) = version.get("version").and_then(Value::as_text) else { continue };
                if version.get("freshness").and_then(Value::as_str) == Some("Stale") {
                    let why = "the server is currently unable to handle the request".to_owned();
                    let (group, version) = (name.clone(), number.clone());
                    self.unavailable.push(UnavailableVersion { group, version, why });
                }
                for listed in list(version, "resources") {
                    let text = |name| listed.get(name).and_then(Value::as_text);
                    let kind = listed.path(&["responseKind", "kind"]).and_then(Value::as_text);
                    let is_namespaced = text("scope").is_some_and(|scope| **scope == *"Namespaced");
                    let Some(plural) = text("resource") else { continue };
                    let names = (plural, text("singularResource"));
                    self.resource((&name, number), kind, names, is_namespaced, listed);
                    for subresource in list(listed, "subresources") {
                        let name_of = subresource.get("subresource").and_then(Value::as_str);
                        if let (Some(own), Some(kind)) = (name_of, subresource.get("responseKind")) {
                            self.subresource((&name, number), plural, own, kind);
                        }
                    }
                }
            }
        }
    }

    /// Adds the resources of a version of a group.
    fn version(&mut self, group: &Text, version: &Text, response: &Value) {
        for listed in list(response, "resources") {
            let text = |name| listed.get(name).and_then(Value::as_text);
            let is_namespaced = listed.get("namespaced") == Some(&Value::Bool(true));
            match text("name").map(|name| (name, name.split_once('/'))) {
                // Subresources follow the resource.
                Some((_, Some((plural, name)))) => self.subresource((group, version), plural, name, listed),
                Some((plural, None)) => {
                    let names = (plural, text("singularName"));
                    self.resource((group, version), text("kind"), names, is_namespaced, listed);
                }
                None => {}
            }
        }
    }

    fn resource(
        &mut self,
        (group, version): (&Text, &Text),
        kind: Option<&Text>,
        (plural, singular): (&Text, Option<&Text>),
        is_namespaced: bool,
        listed: &Value,
    ) {
        let not_empty = |text: Option<&Text>| text.filter(|text| !text.is_empty()).cloned();
        let (Some(kind), Some(plural)) = (not_empty(kind), not_empty(Some(plural))) else { return };
        let texts =
            |name| -> Vec<Text> { list(listed, name).iter().filter_map(Value::as_text).cloned().collect() };
        self.resources.push(ApiResource {
            singular: not_empty(singular).unwrap_or_else(|| kind.to_lowercase().into()),
            kind: GroupVersionKind { group: group.clone(), version: version.clone(), kind },
            plural,
            short_names: texts("shortNames"),
            categories: texts("categories"),
            is_namespaced,
            is_listed: texts("verbs").iter().any(|verb| **verb == *"list"),
            subresources: Vec::new(),
        });
    }

    /// Adds a subresource to its resource. Its kind has a group and version if they are not those of the resource.
    fn subresource(&mut self, (group, version): (&Text, &Text), plural: &str, name: &str, kind: &Value) {
        let mut resources = self.resources.iter_mut().rev();
        let Some(resource) = resources.find(|resource| {
            resource.kind.group == *group && resource.kind.version == *version && *resource.plural == *plural
        }) else {
            return;
        };
        let text = |name| kind.get(name).and_then(Value::as_text).filter(|text| !text.is_empty()).cloned();
        let Some(own) = text("kind") else { return };
        let (group, version) = match text("version") {
            Some(version) => (text("group").unwrap_or_default(), version),
            None => (group.clone(), version.clone()),
        };
        let kind = GroupVersionKind { group, version, kind: own };
        resource.subresources.push(Subresource { name: name.into(), kind });
    }
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).unwrap_or_default()
}

fn malformed(message: &str) -> ClusterError {
    ClusterError::Malformed { asked: REQUEST_NAME.into(), cause: message.into() }
}
