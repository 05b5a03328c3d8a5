//! The memory that the defaults of an object may take.

use std::cell::Cell;

use crate::value::{Map, Text, Value};

use super::NotAdmitted;

/// The memory of the defaults of one object: twenty times the largest object that an API server stores.
const MAX_BYTES: usize = 32 << 20;

/// What the defaults of an object may still take, in bytes.
pub(super) struct Room(Cell<usize>);

impl Room {
    pub(super) const fn new() -> Self {
        Self(Cell::new(MAX_BYTES))
    }

    /// Takes the room of a member with a default; `false` if there is none left.
    pub(super) fn take(&self, default: &Value) -> bool {
        const MEMBER: usize = 2 * (size_of::<Text>() + size_of::<Value>() + size_of::<usize>());
        self.take_bytes(MEMBER + default.weight())
    }

    /// Takes the room of an object to which defaults are added, so that it is stored anew; `false` if there is none left.
    pub(super) fn take_object(&self, members: usize) -> bool {
        self.take_bytes(size_of::<Map>() + members * size_of::<(Text, Value)>())
    }

    fn take_bytes(&self, bytes: usize) -> bool {
        self.0.set(self.0.get().saturating_sub(bytes));
        !self.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.get() == 0
    }

    /// That there was enough of it.
    ///
    /// # Errors
    ///
    /// More defaults than an API server takes.
    pub(super) fn check(&self) -> Result<(), NotAdmitted> {
        if self.is_empty() { Err(NotAdmitted::ManyDefaults) } else { Ok(()) }
    }
}
