//! Kinds as resource rules.

use crate::value::{Text, Value};

use super::kinds::Kind;

fn object(members: Vec<(&str, Value)>) -> Value {
    members.into_iter().collect()
}

fn texts(items: impl IntoIterator<Item = impl Into<Text>>) -> Value {
    Value::array(items.into_iter().map(|item| Value::String(item.into())).collect())
}

/// Resource rules: groups with their versions, and the resources of each.
pub(super) fn resource_rules<'k>(kinds: impl Iterator<Item = &'k Kind>, operations: &[String]) -> Value {
    let mut rules: Vec<(Text, Vec<Text>, Vec<String>)> = Vec::new();
    let mut of_resource: Vec<(Text, String, Vec<Text>)> = Vec::new();
    for kind in kinds {
        let found = of_resource
            .iter_mut()
            .find(|(group, resource, _)| *group == kind.kind.group && *resource == kind.resource);
        match found {
            Some((_, _, versions)) if versions.contains(&kind.kind.version) => {}
            Some((_, _, versions)) => versions.push(kind.kind.version.clone()),
            None => {
                of_resource.push((
                    kind.kind.group.clone(),
                    kind.resource.clone(),
                    vec![kind.kind.version.clone()],
                ));
            }
        }
    }
    for (group, resource, versions) in of_resource {
        match rules.iter_mut().find(|(known, same, _)| *known == group && *same == versions) {
            Some((_, _, resources)) => resources.push(resource),
            None => rules.push((group, versions, vec![resource])),
        }
    }
    let rule = |(group, versions, resources): (Text, Vec<Text>, Vec<String>)| {
        object(vec![
            ("apiGroups", texts([group])),
            ("apiVersions", texts(versions)),
            ("operations", texts(operations.iter().cloned())),
            ("resources", texts(resources)),
        ])
    };
    Value::array(rules.into_iter().map(rule).collect())
}
