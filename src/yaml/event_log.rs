//! The events of a document as text, to compare both readers.

use std::fmt::{Arguments, Write as _};
use std::ops::Range;

use crate::value::Value;

use super::event::{EventReceiver, Kind, NodeStyle, ReadError, Scalar};

/// All events since the last restart, one per line.
#[derive(Debug, Default, PartialEq)]
pub(super) struct EventLog(String);

impl EventLog {
    fn push(&mut self, event: Arguments<'_>) -> Result<(), ReadError> {
        let _ = writeln!(self.0, "{event}");
        Ok(())
    }
}

impl EventReceiver for EventLog {
    fn scalar(&mut self, scalar: Scalar<'_>, anchor: usize, at: Range<usize>) -> Result<(), ReadError> {
        self.push(format_args!("{scalar:?} &{anchor} {at:?}"))
    }

    fn literal(&mut self, value: Value, at: Range<usize>) -> Result<(), ReadError> {
        self.push(format_args!("{value:?} {at:?}"))
    }

    fn alias(&mut self, anchor: usize, at: Range<usize>) -> Result<(), ReadError> {
        self.push(format_args!("*{anchor} {at:?}"))
    }

    fn open(&mut self, kind: Kind, anchor: usize, offset: usize) -> Result<(), ReadError> {
        self.push(format_args!("{kind:?} &{anchor} {offset}"))
    }

    fn close(&mut self, offset: usize) -> Result<(), ReadError> {
        self.push(format_args!("end {offset}"))
    }

    fn restart(&mut self) {
        self.0.clear();
    }

    fn node_style(&mut self, style: NodeStyle) {
        self.push(format_args!("{style:?}")).ok();
    }
}
