//! Values normalised as Kyverno compares them.

use kyv::value::Value;

/// The value without nulls, empty maps and empty lists.
pub fn without_empty(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.clone()),
        Value::Array(items) => {
            let items: Vec<Value> = items.iter().filter_map(without_empty).collect();
            (!items.is_empty()).then(|| Value::array(items))
        }
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .filter_map(|(key, member)| Some((key.clone(), without_empty(member)?)))
                .collect();
            (!members.is_empty()).then(|| members.into_iter().collect())
        }
    }
}
