//! The targets of mutate existing rules, as a cluster stores them.

use crate::engine::LookupError;
use crate::policy::{KindSelector, TargetSelector};
use crate::resources::ApiResource;
use crate::value::{Text, Value};

use super::api_path::{api_path, segment};
use super::served::fitting;
use super::{Cluster, ClusterError, ClusterResult, ListQuery};

/// Objects per request.
const PAGE_SIZE: u32 = 500;

/// Looks up the objects that a target selects, up to `most`: a get where namespace and name are plain, else a list whose
/// matching objects are kept.
pub(super) fn find(
    cluster: &dyn Cluster,
    selector: &TargetSelector,
    most: usize,
    note_failed: &dyn Fn(&ClusterError),
) -> Result<Vec<Value>, LookupError> {
    let unanswerable = |error: ClusterError| {
        note_failed(&error);
        unanswerable(error)
    };
    let served = cluster.resources().map_err(unanswerable)?;
    let parent = KindSelector { subresource: Text::default(), ..selector.kind.clone() };
    if is_pattern(&selector.kind.subresource) {
        let text = format!("the target {selector} names no one subresource");
        return Err(LookupError::Unanswerable(text));
    }
    let resources = fitting(&served, [&parent]);
    if resources.is_empty() {
        let kind = parent.only_kind().unwrap_or(&parent.text);
        return Err(unanswerable(ClusterError::UnknownType(kind.to_string())));
    }
    let search = Search { cluster, selector, most };
    let mut found = Vec::new();
    if let Some((namespace, name)) = selector.exact() {
        let mut missing = None;
        for resource in resources.into_iter().filter(|resource| resource.is_namespaced) {
            match search.get(resource, namespace, name) {
                Ok(object) => found.push(object),
                Err(error) if error.is_not_found() => missing = Some(error),
                Err(error) => return Err(unanswerable(error)),
            }
        }
        return match missing.filter(|_| found.is_empty()) {
            Some(error) => Err(unanswerable(error)),
            None => Ok(found),
        };
    }
    for resource in resources {
        search.list(resource, &mut found, &unanswerable)?;
    }
    Ok(found)
}

/// One lookup of targets.
struct Search<'a> {
    cluster: &'a dyn Cluster,
    selector: &'a TargetSelector,
    most: usize,
}

impl Search<'_> {
    /// An object, or the subresource of it that is patched.
    fn get(&self, resource: &ApiResource, namespace: &str, name: &str) -> ClusterResult {
        let subresource = &self.selector.kind.subresource;
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        if subresource.is_empty() {
            return self.cluster.get(resource, namespace, name);
        }
        let path = format!("{}/{}/{}", api_path(resource, namespace), segment(name), segment(subresource));
        self.cluster.get_path(&path)
    }

    /// Adds the matching objects of a kind. Only one namespace is listed where it is plain.
    fn list(
        &self,
        resource: &ApiResource,
        found: &mut Vec<Value>,
        unanswerable: &dyn Fn(ClusterError) -> LookupError,
    ) -> Result<(), LookupError> {
        let Self { cluster, selector, most } = *self;
        let namespace =
            Some(&*selector.namespace).filter(|namespace| !namespace.is_empty() && !is_pattern(namespace));
        if namespace.is_some() && !resource.is_namespaced {
            return Ok(());
        }
        let is_plain = !selector.name.is_empty() && !is_pattern(&selector.name);
        let fields = is_plain.then(|| format!("metadata.name={}", selector.name));
        let labels = selector.labels.as_ref().map(label_query).filter(|query| !query.is_empty());
        let query = ListQuery {
            namespace,
            labels: labels.as_deref(),
            fields: fields.as_deref(),
            ..ListQuery::all(resource, PAGE_SIZE)
        };
        for page in query.pages(cluster) {
            for object in page.map_err(unanswerable)?.objects {
                let text = |field| object.path(&["metadata", field]).and_then(Value::as_str);
                let namespace = text("namespace").unwrap_or_default();
                if !selector.matches(&object, namespace) {
                    continue;
                }
                if found.len() >= most {
                    let text =
                        format!("the target {selector} is more than {most} objects (limit targets={most})");
                    return Err(LookupError::Unanswerable(text));
                }
                if selector.kind.subresource.is_empty() {
                    found.push(object);
                } else {
                    let name = text("name").unwrap_or_default();
                    found.push(self.get(resource, namespace, name).map_err(unanswerable)?);
                }
            }
        }
        Ok(())
    }
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// A label selector as the query of a request has it.
fn label_query(selector: &Value) -> String {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    let equal = labels.into_iter().flatten().map(|(key, value)| format!("{key}={}", text(Some(value))));
    let expressions = selector.get("matchExpressions").and_then(Value::as_array).unwrap_or_default();
    let others = expressions.iter().map(|expression| {
        let key = text(expression.get("key"));
        let values = expression.get("values").and_then(Value::as_array).unwrap_or_default();
        let values: Vec<String> = values.iter().map(|value| text(Some(value))).collect();
        match &*text(expression.get("operator")) {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key,
        }
    });
    equal.chain(others).collect::<Vec<_>>().join(",")
}

/// With the message of the server where it sent one.
fn unanswerable(error: ClusterError) -> LookupError {
    LookupError::Unanswerable(match error {
        ClusterError::Refused { message, .. } => message,
        error => error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_selectors_become_queries() {
        for (selector, query) in [
            ("{}", ""),
            (r#"{"matchLabels":{"a":"b","c":""}}"#, "a=b,c="),
            (
                r#"{"matchLabels":{"a":"b"},"matchExpressions":[
                    {"key":"x","operator":"In","values":["1","2"]},{"key":"y","operator":"NotIn","values":["3"]},
                    {"key":"z","operator":"Exists"},{"key":"w","operator":"DoesNotExist"}]}"#,
                "a=b,x in (1,2),y notin (3),z,!w",
            ),
        ] {
            assert_eq!(label_query(&Value::from_json(selector).unwrap()), query, "{selector}");
        }
    }
}
