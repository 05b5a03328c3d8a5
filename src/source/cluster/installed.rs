//! The Kyverno that a cluster runs.

use crate::value::Value;

use super::{Cluster, ListQuery};

/// The controllers that mutate, by their label.
const CONTROLLERS: &str = "app.kubernetes.io/component in (admission-controller,background-controller)";

/// Where Kyverno is installed by default.
const NAMESPACE: &str = "kyverno";

/// So many candidates are looked at.
const MOST: u32 = 50;

/// A Kyverno as it is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledKyverno {
    /// Its version as its Deployment tells it, such as `v1.19.0`.
    pub version: String,
    /// The namespace of its controllers.
    pub namespace: String,
}

impl InstalledKyverno {
    /// Looks for Kyverno in all namespaces, or where that is not allowed in its own. `None` if there is none, or if
    /// nobody may see it.
    pub fn find(cluster: &dyn Cluster) -> Option<Self> {
        let served = cluster.resources().ok()?;
        let deployments = served.resolve("deployments.apps")?;
        let list = |namespace| {
            let query = ListQuery {
                resource: deployments,
                namespace,
                labels: Some(CONTROLLERS),
                fields: None,
                limit: MOST,
                after: None,
            };
            cluster.list(&query).ok()
        };
        let page = list(None).or_else(|| list(Some(NAMESPACE)))?;
        page.objects.iter().find_map(Self::read)
    }

    /// Reads a Deployment, if it is one of Kyverno.
    fn read(deployment: &Value) -> Option<Self> {
        let text = |path: &[&str]| deployment.path(path).and_then(Value::as_str);
        let containers = deployment.path(&["spec", "template", "spec", "containers"])?.as_array()?;
        let images = containers.iter().filter_map(|container| container.get("image")?.as_str());
        let tag = images.filter(|image| image.contains("kyverno")).find_map(|image| {
            let bare = image.split('@').next()?;
            Some(bare.rsplit('/').next()?.split_once(':').map_or("", |(_, tag)| tag))
        })?;
        // Helm writes the version of the chart there.
        let label = || {
            let is_of_helm = text(&["metadata", "labels", "helm.sh/chart"]).is_some();
            text(&["metadata", "labels", "app.kubernetes.io/version"]).filter(|_| !is_of_helm)
        };
        let version = Some(tag).filter(|tag| is_version(tag));
        let version = version.or_else(|| label().filter(|label| is_version(label)))?;
        Some(Self { version: version.to_owned(), namespace: text(&["metadata", "namespace"])?.to_owned() })
    }
}

/// Whether a text starts as a version does; anything may stand in a label.
fn is_version(text: &str) -> bool {
    let number = text.strip_prefix('v').unwrap_or(text);
    number.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_tells_the_version_and_else_the_label() {
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
