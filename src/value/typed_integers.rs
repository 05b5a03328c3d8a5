//! Numbers that have an integer type in Kyverno.
//!
//! Kyverno decodes numbers as floats with its own JSON decoder, and integers as integers with that of Kubernetes; its
//! expressions and conditions distinguish the two. Here all numbers have one type, and such integers are marked.

use super::{Map, Number, Value};

impl Value {
    /// The value with all its integers marked.
    #[must_use]
    pub fn with_typed_integers(&self) -> Self {
        self.with_numbers(&|number| !number.is_typed_integer() && number.as_i64().is_some(), &Number::typed)
    }

    /// The value without these marks.
    #[must_use]
    pub fn without_typed_integers(&self) -> Self {
        self.with_numbers(&Number::is_typed_integer, &Number::untyped)
    }

    /// The value with some numbers replaced. Unchanged nodes are shared. The recursion is bounded by the depth of the value,
    /// which parsers limit.
    fn with_numbers(&self, is_other: &dyn Fn(&Number) -> bool, other: &dyn Fn(&Number) -> Number) -> Self {
        self.replaced(is_other, other).unwrap_or_else(|| self.clone())
    }

    fn replaced(
        &self,
        is_other: &dyn Fn(&Number) -> bool,
        other: &dyn Fn(&Number) -> Number,
    ) -> Option<Self> {
        match self {
            Self::Null | Self::Bool(_) | Self::String(_) => None,
            Self::Number(number) => is_other(number).then(|| Self::Number(other(number))),
            Self::Array(items) => {
                let mut changed: Option<Vec<Self>> = None;
                for (index, item) in items.iter().enumerate() {
                    if let Some(new) = item.replaced(is_other, other) {
                        let items = changed.get_or_insert_with(|| items.to_vec());
                        items[index] = new;
                    }
                }
                changed.map(Self::array)
            }
            Self::Object(members) => {
                let mut changed: Option<Map> = None;
                for (index, member) in members.values().enumerate() {
                    if let Some(new) = member.replaced(is_other, other) {
                        let members = changed.get_or_insert_with(|| Map::clone(members));
                        if let Some((_, slot)) = members.get_index_mut(index) {
                            *slot = new;
                        }
                    }
                }
                changed.map(Self::object)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_marked_and_nodes_without_integers_are_shared() {
        let value = Value::from_json(r#"{"a":[1,2.5,{"b":3}],"c":{"d":"4"}}"#).unwrap();
        let typed = value.with_typed_integers();
        let is_typed_integer = |value: &Value| -> Vec<bool> {
            let list = value.get("a").unwrap();
            let numbers = [list.at(0), list.at(1), list.at(2).unwrap().get("b")];
            numbers.map(|number| number.and_then(Value::as_number).unwrap().is_typed_integer()).to_vec()
        };
        assert_eq!(is_typed_integer(&value), [false, false, false]);
        assert_eq!(is_typed_integer(&typed), [true, false, true]);
        assert!(typed.get("c").unwrap().same_storage(value.get("c").unwrap()));
        assert_eq!((&typed, typed.to_json()), (&value, value.to_json()));
        assert_eq!(is_typed_integer(&typed.without_typed_integers()), [false, false, false]);
    }
}
