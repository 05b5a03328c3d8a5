//! The input of a function: its configuration and the items, with the documents that they come from.

use crate::krm::{ItemFile, ItemTexts, ResourceList};
use crate::render::Origin;
use crate::value::{Pointer, Value};
use crate::yaml::Document;

/// A value and its place in a document.
#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) document: &'a Document,
    pub(super) place: Place,
    pub(super) value: &'a Value,
}

/// The place of a value in its document.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Root,
    FunctionConfig,
    /// The item with this index.
    Item(usize),
}

#[derive(Debug)]
pub(super) struct FunctionInput<'a> {
    pub(super) config: Node<'a>,
    pub(super) items: Vec<Node<'a>>,
    /// The texts of the items of a list; `None` where each item is a document.
    pub(super) texts: Option<&'a ItemTexts<'a>>,
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
    pub(super) fn of_list(document: &'a Document, list: &'a ResourceList, texts: &'a ItemTexts<'a>) -> Self {
        let node = |place, value| Node { document, place, value };
        Self {
            items: list
                .items
                .iter()
                .enumerate()
                .map(|(index, item)| node(Place::Item(index), item))
                .collect(),
            config: node(Place::FunctionConfig, &list.function_config),
            texts: Some(texts),
        }
    }

    /// The input in documents: the configuration, and one for each item.
    pub(super) fn of_documents(config: Node<'a>, documents: &'a [Document]) -> Self {
        let node =
            |document: &'a Document| Some(Node { document, place: Place::Root, value: document.value()? });
        Self { config, items: documents.iter().filter_map(node).collect(), texts: None }
    }

    /// The text of an item with another value.
    pub(super) fn edited(&self, index: usize, became: &Value) -> String {
        let Node { document, value, .. } = self.items[index];
        match self.texts {
            Some(texts) => texts.edited(index, value, became),
            None => document.edited(became).text,
        }
    }
}

impl Node<'_> {
    /// Where it comes from, as messages have it, unless it comes from a file.
    pub(super) fn origin(&self) -> Origin {
        match self.place {
            Place::Root => {
                Origin { name: self.document.source().name().into(), line: Some(self.document.start().line) }
            }
            Place::FunctionConfig | Place::Item(_) => {
                Origin { name: self.at().to_string().into(), line: None }
            }
        }
    }

    /// Its place in its document.
    pub(super) fn at(&self) -> Pointer {
        match self.place {
            Place::Root => Pointer::ROOT,
            Place::FunctionConfig => Pointer::ROOT.key("functionConfig"),
            Place::Item(index) => Pointer::ROOT.key("items").index(index),
        }
    }
}
