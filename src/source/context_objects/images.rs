//! The metadata of images.

use std::collections::BTreeMap;

use crate::engine::{LookupError, image_name};
use crate::value::{Text, Value};

/// Images by their full names: two references that mean one image find the same.
#[derive(Debug, Default)]
pub(super) struct Images(BTreeMap<Text, Value>);

impl Images {
    /// Adds an image, an element of `spec.images` of a `Context`; false if it is there already.
    pub(super) fn add(&mut self, reference: &Text, image: Value) -> bool {
        self.0.insert(name(reference), image).is_none()
    }

    pub(super) fn get(&self, reference: &str) -> Result<Value, LookupError> {
        self.0.get(&name(reference)).cloned().ok_or(LookupError::NotGiven)
    }
}

fn name(reference: &str) -> Text {
    image_name(reference).map_or_else(|| reference.into(), Text::from)
}
