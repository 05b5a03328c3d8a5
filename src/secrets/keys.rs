//! The placeholders of tainted keys.

use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexSet;

use crate::value::Text;

/// A numbered placeholder for each tainted key, because equal keys would be one. Clones share the numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyMasks(Arc<Mutex<IndexSet<Text>>>);

impl KeyMasks {
    /// The placeholder of a key, which begins with `mask`.
    pub(super) fn mask(&self, secret: &str, mask: &str) -> Text {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.insert_full(secret.into()) {
            (0, _) => mask.into(),
            (at, _) => format!("{mask} ({})", at + 1).into(),
        }
    }
}
