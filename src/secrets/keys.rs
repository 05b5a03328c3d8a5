//! The masks of secrets that are keys of objects.

use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexSet;

use crate::value::Text;

/// Gives each secret that is a key of an object a mask of its own, numbered in the order in which they are first shown:
/// keys with equal masks would pass for one.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyMasks(Arc<Mutex<IndexSet<Text>>>);

impl KeyMasks {
    /// Returns the mask of a secret, which begins with this one.
    pub(super) fn mask(&self, secret: &str, mask: &str) -> Text {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.insert_full(secret.into()) {
            (0, _) => mask.into(),
            (at, _) => format!("{mask} ({})", at + 1).into(),
        }
    }
}
