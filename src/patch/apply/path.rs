//! The path of a walk through a value.

use crate::value::{Pointer, Segment, Text};

/// The keys and indexes from the root to the current node.
#[derive(Debug, Default)]
pub(super) struct Path<'v>(Vec<Step<'v>>);

#[derive(Clone, Copy, Debug)]
enum Step<'v> {
    Key(&'v Text),
    Index(usize),
}

impl<'v> Path<'v> {
    pub(super) fn push_key(&mut self, key: &'v Text) {
        self.0.push(Step::Key(key));
    }

    pub(super) fn push_index(&mut self, index: usize) {
        self.0.push(Step::Index(index));
    }

    pub(super) fn pop(&mut self) {
        self.0.pop();
    }

    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn pointer(&self) -> Pointer {
        let segment = |step: &Step<'_>| match *step {
            Step::Key(key) => Segment::Key(key.clone()),
            Step::Index(index) => Segment::Index(index),
        };
        self.0.iter().map(segment).collect()
    }
}
