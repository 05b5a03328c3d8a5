//! YAML text: reading with positions, printing, and what a YAML 1.1 or 1.2 reader makes of a scalar.
//!
//! Reads what the YAML library of Kubernetes reads (YAML 1.1 scalars, merge keys, JSON) and prints what no
//! reader misreads. Documents keep their text, so that what nobody changed comes out byte for byte.
//! Knows nothing of files and nothing of what the objects mean.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod block;
mod build;
mod document;
mod edit;
mod error;
mod event;
mod json;
mod keys;
mod limits;
mod mark;
mod print;
mod quote;
mod read;
mod scalar;
mod section;
mod source;
mod split;
mod tabs;

pub use document::{Document, element_spans};
pub use edit::{Edited, Fallback, says};
pub use error::{Fault, SyntaxError};
pub use limits::{Limit, Limits};
pub use print::{print, print_document};
pub use read::{MAX_ERRORS, parse_value, read};
pub use scalar::resolve;
pub use section::{Section, Sections};
pub use source::{Origin, Position, Source, excerpt};
