//! The API paths that rules may request.

use crate::value::Value;
use crate::variables::replace_variables;

use super::Rule;

/// The deepest nesting of variables in a path that is considered.
const MAX_NESTING: usize = 16;

impl Rule {
    /// The API paths of all context entries of the rule, with a text in place of each variable.
    pub fn api_call_paths(&self, variable: &str) -> Vec<String> {
        let mut paths = Vec::new();
        let mut open = vec![&self.raw];
        while let Some(node) = open.pop() {
            match node {
                Value::Array(items) => open.extend(items.iter()),
                Value::Object(members) => {
                    let call = members.get("apiCall");
                    let path = call.and_then(|call| call.get("urlPath")).and_then(Value::as_str);
                    paths.extend(path.and_then(|path| without_variables(path, variable)));
                    open.extend(members.values());
                }
                _ => {}
            }
        }
        paths
    }
}

fn without_variables(path: &str, variable: &str) -> Option<String> {
    let mut path = path.to_owned();
    for _ in 0..MAX_NESTING {
        match replace_variables(&path, |_| variable.to_owned()) {
            Some(replaced) => path = replaced,
            None => return Some(path),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_in_a_path_are_replaced() {
        for (path, expected) in [
            ("/api/v1/pods", "/api/v1/pods"),
            ("/api/v1/namespaces/{{ request.namespace }}/pods", "/api/v1/namespaces/?/pods"),
            ("/apis/{{ a.\"x/{{ b }}\" }}/v1/{{c}}", "/apis/?/v1/?"),
        ] {
            assert_eq!(without_variables(path, "?").unwrap(), expected);
        }
    }
}
