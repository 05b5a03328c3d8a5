//! What rules may ask the API server for.

use crate::value::Value;
use crate::variables::replace_variables;

use super::Rule;

/// Variables inside variables inside … so often; a path with more of them is not looked at.
const MOST_ROUNDS: usize = 16;

impl Rule {
    /// The paths that the rule's context entries, those of its loops and targets too, ask the API server
    /// for by GET. In place of each variable stands the given text.
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
    for _ in 0..MOST_ROUNDS {
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
    fn variables_leave_a_mark_in_a_path() {
        for (path, expected) in [
            ("/api/v1/pods", "/api/v1/pods"),
            ("/api/v1/namespaces/{{ request.namespace }}/pods", "/api/v1/namespaces/?/pods"),
            ("/apis/{{ a.\"x/{{ b }}\" }}/v1/{{c}}", "/apis/?/v1/?"),
        ] {
            assert_eq!(without_variables(path, "?").unwrap(), expected);
        }
    }
}
