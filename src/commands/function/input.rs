//! The input of a function: its configuration and the items, with the documents that they come from.

use crate::krm::{ItemFile, ResourceList};
use crate::render::Origin;
use crate::value::{Pointer, Value};
use crate::yaml::Document;

/// A value and its place in a document.
#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) document: &'a Document,
    pub(super) at: Pointer,
    pub(super) value: &'a Value,
}

#[derive(Debug)]
pub(super) struct FunctionInput<'a> {
    pub(super) config: Node<'a>,
    pub(super) items: Vec<Node<'a>>,
}

/// An object that is evaluated.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) value: Value,
    /// Where it comes from, as messages have it.
    pub(super) origin: Origin,
    /// Where it comes from, as results have it.
    pub(super) file: Option<ItemFile>,
    /// Whether policies are applied to it.
    pub(super) is_evaluated: bool,
}

impl<'a> FunctionInput<'a> {
    /// The input in a ResourceList.
    pub(super) fn of_list(document: &'a Document, list: &'a ResourceList) -> Self {
        let node = |at, value| Node { document, at, value };
        let at = Pointer::ROOT.key("items");
        let items = list.items.iter().enumerate().map(|(index, item)| node(at.index(index), item));
        Self {
            items: items.collect(),
            config: node(Pointer::ROOT.key("functionConfig"), &list.function_config),
        }
    }

    /// The input in documents: the configuration, and one for each item.
    pub(super) fn of_documents(config: Node<'a>, documents: &'a [Document]) -> Self {
        let node =
            |document: &'a Document| Some(Node { document, at: Pointer::ROOT, value: document.value()? });
        Self { config, items: documents.iter().filter_map(node).collect() }
    }
}

impl Node<'_> {
    /// Where it comes from, as messages have it, unless it comes from a file.
    pub(super) fn origin(&self) -> Origin {
        match self.at.is_root() {
            true => {
                Origin { name: self.document.source().name().into(), line: Some(self.document.start().line) }
            }
            false => Origin { name: self.at.to_string().into(), line: None },
        }
    }
}
