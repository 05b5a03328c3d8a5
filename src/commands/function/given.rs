//! What a function is given: its configuration and the items, with the texts they stand in.

use crate::krm::ResourceList;
use crate::render::Origin;
use crate::value::{Pointer, Value};
use crate::yaml::Document;

/// A value, and where it is written.
#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) document: &'a Document,
    pub(super) at: Pointer,
    pub(super) value: &'a Value,
}

/// What a function works on.
#[derive(Debug)]
pub(super) struct Given<'a> {
    pub(super) config: Node<'a>,
    pub(super) items: Vec<Node<'a>>,
}

impl<'a> Given<'a> {
    /// What stands in a ResourceList.
    pub(super) fn of_list(document: &'a Document, list: &'a ResourceList) -> Self {
        let node = |at, value| Node { document, at, value };
        let at = Pointer::ROOT.key("items");
        let items = list.items.iter().enumerate().map(|(index, item)| node(at.index(index), item));
        Self {
            items: items.collect(),
            config: node(Pointer::ROOT.key("functionConfig"), &list.function_config),
        }
    }

    /// A configuration and items that are documents of their own.
    pub(super) fn of_documents(config: Node<'a>, documents: &'a [Document]) -> Self {
        let node =
            |document: &'a Document| Some(Node { document, at: Pointer::ROOT, value: document.value()? });
        Self { config, items: documents.iter().filter_map(node).collect() }
    }
}

impl Node<'_> {
    /// What messages call it, if it comes from no file.
    pub(super) fn origin(&self) -> Origin {
        match self.at.is_root() {
            true => {
                Origin { name: self.document.source().name().into(), line: Some(self.document.start().line) }
            }
            false => Origin { name: self.at.to_string().into(), line: None },
        }
    }
}
