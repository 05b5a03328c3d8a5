//! The Kyverno that a cluster runs.

use crate::policy::RequestFilters;
use crate::resources::ApiResource;
use crate::value::Value;

use super::{Cluster, ClusterError, ListQuery};

/// The controllers that mutate, by their label.
const CONTROLLERS: &str = "app.kubernetes.io/component in (admission-controller,background-controller)";

/// The name of its configuration by default.
const CONFIGURATION: &str = "kyverno";

/// The variable of its controllers for another name.
const CONFIGURATION_VARIABLE: &str = "INIT_CONFIG";

/// Where Kyverno is installed by default.
const NAMESPACE: &str = "kyverno";

/// The most Deployments that are looked at.
const MAX_CANDIDATES: u32 = 50;

/// A Kyverno as it is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledKyverno {
    /// Its version as in its Deployment, such as `v1.19.0`.
    pub version: String,
    /// The namespace of its controllers.
    pub namespace: String,
}

/// The configuration of a Kyverno.
#[derive(Clone, Debug, Default)]
pub struct KyvernoConfiguration {
    /// The `ConfigMap`, as `namespace/name`.
    pub place: String,
    /// Which requests policies do not see.
    pub filters: RequestFilters,
}

/// The kind that every cluster with Kyverno serves.
const POLICIES: &str = "clusterpolicies.kyverno.io";

/// Why the configuration of a Kyverno is unknown.
#[derive(Debug, thiserror::Error)]
#[error(
    "the configuration of the cluster's Kyverno (ConfigMap {place}) cannot be read, so nothing is known of objects that it \
     hides from policies: {cause}"
)]
pub struct UnreadConfiguration {
    place: String,
    cause: ClusterError,
}

impl KyvernoConfiguration {
    /// Reads the configuration of the Kyverno that a cluster runs; `None` if there is none.
    ///
    /// # Errors
    ///
    /// A failed request for the `ConfigMap`.
    pub fn find(cluster: &dyn Cluster) -> Result<Option<Self>, UnreadConfiguration> {
        let is_served = cluster.resources().is_ok_and(|served| {
            served.resolve(POLICIES).is_some_and(|resource| resource.full_name() == POLICIES)
        });
        if !is_served {
            return Ok(None);
        }
        let controllers = controllers(cluster);
        let named = controllers.iter().find_map(place);
        let (namespace, name) = named.unwrap_or((NAMESPACE, CONFIGURATION));
        let place = format!("{namespace}/{name}");
        match cluster.get(ApiResource::config_maps(), Some(namespace), name) {
            Ok(object) => Ok(Some(Self::read(place, &object))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(cause) => Err(UnreadConfiguration { place, cause }),
        }
    }

    fn read(place: String, object: &Value) -> Self {
        let data = object.get("data").cloned().unwrap_or_default();
        Self { place, filters: RequestFilters::read(&data) }
    }
}

impl InstalledKyverno {
    /// Looks for Kyverno in all namespaces, or where that is not allowed in its default one. `None` if none is found.
    pub fn find(cluster: &dyn Cluster) -> Option<Self> {
        controllers(cluster).iter().find_map(Self::read)
    }

    /// Reads a Deployment, if it is one of Kyverno.
    fn read(deployment: &Value) -> Option<Self> {
        let (namespace, _) = place(deployment)?;
        let bare = image(deployment)?.split('@').next()?;
        let tag = bare.rsplit('/').next()?.split_once(':').map_or("", |(_, tag)| tag);
        // Helm writes the version of the chart there.
        let label = || {
            let text = |name| deployment.path(&["metadata", "labels", name]).and_then(Value::as_str);
            text("app.kubernetes.io/version").filter(|_| text("helm.sh/chart").is_none())
        };
        let version = Some(tag).filter(|tag| is_version(tag));
        let version = version.or_else(|| label().filter(|label| is_version(label)))?;
        Some(Self { version: version.to_owned(), namespace: namespace.to_owned() })
    }
}

/// The Deployments that may be Kyverno's controllers.
fn controllers(cluster: &dyn Cluster) -> Vec<Value> {
    let served = cluster.resources().unwrap_or_default();
    let Some(deployments) = served.resolve("deployments.apps") else { return Vec::new() };
    let list = |namespace| {
        let all = ListQuery::all(deployments, MAX_CANDIDATES);
        let query = ListQuery { namespace, labels: Some(CONTROLLERS), ..all };
        cluster.list(&query).ok()
    };
    list(None).or_else(|| list(Some(NAMESPACE))).unwrap_or_default().objects
}

fn containers(deployment: &Value) -> &[Value] {
    deployment.path(&["spec", "template", "spec", "containers"]).and_then(Value::as_array).unwrap_or_default()
}

/// The image of Kyverno that a Deployment runs, if it does.
fn image(deployment: &Value) -> Option<&str> {
    let mut images = containers(deployment).iter().filter_map(|container| container.get("image")?.as_str());
    images.find(|image| image.contains("kyverno"))
}

/// The namespace and name of the `ConfigMap` that configures a controller of Kyverno.
fn place(deployment: &Value) -> Option<(&str, &str)> {
    image(deployment)?;
    let variables = containers(deployment).iter().filter_map(|container| container.get("env")?.as_array());
    let named =
        |variable: &&Value| variable.get("name").and_then(Value::as_str) == Some(CONFIGURATION_VARIABLE);
    let name = variables.flatten().find(named).and_then(|variable| variable.get("value")?.as_str());
    let namespace = deployment.path(&["metadata", "namespace"])?.as_str()?;
    Some((namespace, name.unwrap_or(CONFIGURATION)))
}

/// Whether a text starts like a version; labels may have any value.
fn is_version(text: &str) -> bool {
    let number = text.strip_prefix('v').unwrap_or(text);
    number.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_image_or_else_of_the_label() {
        let deployment = |label: &str, image: &str| {
            let text = format!(
                r#"{{"metadata":{{"namespace":"policy","labels":{{{label}}}}},
                    "spec":{{"template":{{"spec":{{"containers":[{{"image":"{image}"}}]}}}}}}}}"#
            );
            InstalledKyverno::read(&Value::from_json(&text).unwrap()).map(|found| found.version)
        };
        let label = r#""app.kubernetes.io/version":"v1.19.0""#;
        let of_chart = r#""app.kubernetes.io/version":"3.9.0","helm.sh/chart":"kyverno-3.9.0""#;
        for (label, image, expected) in [
            (of_chart, "reg.kyverno.io/kyverno/kyverno:v1.19.0", Some("v1.19.0")),
            (label, "localhost:5000/kyverno/kyverno:v1.18.0@sha256:00", Some("v1.18.0")),
            (label, "localhost:5000/kyverno/kyverno:latest", Some("v1.19.0")),
            (of_chart, "localhost:5000/kyverno/kyverno@sha256:00", None),
            (r#""app.kubernetes.io/version":"latest""#, "localhost:5000/kyverno/kyverno", None),
            (r#""app.kubernetes.io/version":"v1.0""#, "example.com/other:v1", None),
        ] {
            assert_eq!(deployment(label, image).as_deref(), expected, "{label} {image}");
        }
    }
}
