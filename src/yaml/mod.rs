//! YAML text: reading with positions, printing, and editing in place.
//!
//! Reads what the YAML library of Kubernetes reads (YAML 1.1 scalars, merge keys, JSON) and prints what readers of YAML
//! 1.1 and 1.2 read alike. Documents keep their text, so that edits leave the rest of it byte for byte. Knows neither
//! files nor the meaning of objects.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod block;
mod build;
mod document;
mod edit;
mod error;
mod event;
mod event_log;
mod json;
mod keys;
mod limits;
mod node_index;
mod parser;
mod position;
mod print;
mod quote;
mod read;
mod scalar;
mod section;
mod source;
mod split;
mod tabs;

pub use document::{Document, DocumentNodes};
pub use edit::{Edited, Fallback, parses_as};
pub use error::{ErrorKind, SyntaxError};
pub use limits::{Limit, Limits};
pub use position::{Origin, Position};
pub use print::{print, print_document};
pub use quote::{changes_direction, is_printable};
pub use read::{MAX_ERRORS, parse_value, read};
pub use scalar::resolve;
pub use section::{Section, Sections};
pub use source::{Source, excerpt, underlined};
