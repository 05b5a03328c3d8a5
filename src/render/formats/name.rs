//! `name`: the names of the objects that change.

use crate::render::patch::kubectl_name;

use super::{DocumentView, Format, Prepared};

/// The names of changed objects, as kubectl prints them.
#[derive(Debug)]
pub struct Name;

impl Format for Name {
    fn prepare(&self, view: &DocumentView<'_>) -> Prepared {
        let names = view.changed().filter_map(|object| kubectl_name(object.report));
        Prepared::texts(names.map(|name| format!("{name}\n")).collect())
    }
}
