//! What stands for secrets in the keys of objects.

use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexSet;

use crate::value::Text;

use super::MASK;

/// The secrets that stand in keys, in the order in which they were shown. Each has a mask of its own, the same one wherever
/// it is shown again: keys that are alike would pass for one.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyMasks(Arc<Mutex<IndexSet<Text>>>);

impl KeyMasks {
    /// What is shown in the place of a secret.
    pub(super) fn mask(&self, secret: &str) -> Text {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.insert_full(secret.into()) {
            (0, _) => MASK.into(),
            (at, _) => format!("{MASK} ({})", at + 1).into(),
        }
    }
}
