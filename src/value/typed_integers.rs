//! Integers that are held as integers.
//!
//! Kyverno decodes numbers as floats where it reads JSON by itself, and as integers where Kubernetes reads it; its
//! expressions and conditions tell the two apart. Here all numbers are alike, but for those that are marked.

use super::{Map, Number, Value};

impl Value {
    /// The value with each integer in it held as one.
    #[must_use]
    pub fn with_held_integers(&self) -> Self {
        self.with_numbers(&|number| !number.is_held() && number.as_i64().is_some(), &Number::held)
    }

    /// The value without such marks.
    #[must_use]
    pub fn without_held_integers(&self) -> Self {
        self.with_numbers(&Number::is_held, &Number::unheld)
    }

    /// The value with other numbers in the place of some. Parts without any are shared. The depth of the recursion is
    /// that of the value, which the readers bound.
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
                        if let Some(slot) = items.get_mut(index) {
                            *slot = new;
                        }
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
    fn marks_come_and_go_and_parts_without_integers_are_shared() {
        let value = Value::from_json(r#"{"a":[1,2.5,{"b":3}],"c":{"d":"4"}}"#).unwrap();
        let held = value.with_held_integers();
        let is_held = |value: &Value| -> Vec<bool> {
            let list = value.get("a").unwrap();
            let numbers = [list.at(0), list.at(1), list.at(2).unwrap().get("b")];
            numbers.map(|number| number.and_then(Value::as_number).unwrap().is_held()).to_vec()
        };
        assert_eq!(is_held(&value), [false, false, false]);
        assert_eq!(is_held(&held), [true, false, true]);
        assert!(held.get("c").unwrap().same_storage(value.get("c").unwrap()));
        assert_eq!((&held, held.to_json()), (&value, value.to_json()));
        assert_eq!(is_held(&held.without_held_integers()), [false, false, false]);
    }
}
