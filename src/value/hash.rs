//! Hashes of values: equal values have the same one.

use std::hash::{BuildHasher as _, Hash, Hasher};
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use super::{Number, Value};

/// Of members, so that nobody can choose members with equal hashes.
static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::default);

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Self::Null => {}
            Self::Bool(value) => value.hash(state),
            Self::Number(number) => number.hash(state),
            Self::String(text) => text.hash(state),
            Self::Array(items) => items.hash(state),
            // In any order of keys.
            Self::Object(members) => {
                let members = members.iter().map(|member| SEED.hash_one(member));
                members.fold(0, u64::wrapping_add).hash(state);
            }
        }
    }
}

/// Numbers of the same value have the same nearest float.
impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Not -0.0, which is another pattern of bits.
        (self.as_f64() + 0.0).to_bits().hash(state);
    }
}

/// The values of a list, each once.
pub fn distinct(list: &[Value]) -> IndexSet<&Value, RandomState> {
    list.iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_equal_hashes() {
        let groups = [
            vec!["1", "1.0", "10e-1"],
            vec!["0", "-0", "0.00"],
            vec!["9007199254740993", "9007199254740993.0"],
            vec!["0.1", "1e-1"],
            vec!["null"],
            vec!["true"],
            vec![r#""1""#],
            vec!["[]"],
            vec!["{}"],
            vec![r#"{"a":1,"b":[2]}"#, r#"{"b":[2.0],"a":1.0}"#],
            vec![r#"{"b":1,"a":[2]}"#],
        ];
        let hash = |text: &str| SEED.hash_one(Value::from_json(text).unwrap());
        for group in &groups {
            assert!(group.iter().all(|text| hash(text) == hash(group[0])), "{group:?}");
        }
        let mut all: Vec<u64> = groups.iter().map(|group| hash(group[0])).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), groups.len());
    }
}
