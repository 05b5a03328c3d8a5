//! Errors are types: what a module offers returns no `Result<_, String>`, from which a caller learns nothing.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};
use syn::{
    GenericArgument, ImplItem, Item, ItemImpl, ItemTrait, PathArguments, Signature, TraitItem, Type, TypePath,
};

use crate::source_tree::{Module, SourceTree, attributes, is_for_tests, is_visible};

#[test]
fn no_string_errors_in_visible_signatures() {
    let mut found = BTreeSet::new();
    for tree in [SourceTree::read("lib.rs"), SourceTree::read("main.rs")] {
        tree.modules.iter().for_each(|module| collect(module, &mut found));
    }
    let found: Vec<String> = found.into_iter().collect();
    assert!(found.is_empty(), "`Result<_, String>`: make the error a type\n{}", found.join("\n"));
}

fn collect(module: &Module, found: &mut BTreeSet<String>) {
    let mut note = |name: String| {
        found.insert(format!("{}: {name}", module.file.display()));
    };
    for item in module.items.iter().filter(|item| !is_for_tests(attributes(item))) {
        match item {
            Item::Fn(item) if is_visible(&item.vis) && of_signature(&item.sig) => {
                note(item.sig.ident.to_string());
            }
            Item::Type(item) if is_visible(&item.vis) && of_type(&item.ty) => note(item.ident.to_string()),
            Item::Trait(item) if is_visible(&item.vis) => methods_of_trait(item).for_each(&mut note),
            Item::Impl(item) => methods(item).for_each(&mut note),
            _ => {}
        }
    }
}

/// The methods of an `impl` that others see; those of a trait are seen where it is defined.
fn methods(item: &ItemImpl) -> impl Iterator<Item = String> {
    let of = match &*item.self_ty {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default(),
        _ => String::new(),
    };
    item.items.iter().filter_map(move |method| match method {
        ImplItem::Fn(method) if is_visible(&method.vis) && of_signature(&method.sig) => {
            Some(format!("{of}::{}", method.sig.ident))
        }
        _ => None,
    })
}

fn methods_of_trait(item: &ItemTrait) -> impl Iterator<Item = String> {
    item.items.iter().filter_map(|method| match method {
        TraitItem::Fn(method) if of_signature(&method.sig) => {
            Some(format!("{}::{}", item.ident, method.sig.ident))
        }
        _ => None,
    })
}

fn of_signature(signature: &Signature) -> bool {
    let mut finder = Finder { found: false };
    finder.visit_signature(signature);
    finder.found
}

fn of_type(kind: &Type) -> bool {
    let mut finder = Finder { found: false };
    finder.visit_type(kind);
    finder.found
}

/// Finds a `Result` whose error is a `String`.
struct Finder {
    found: bool,
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_type_path(&mut self, kind: &'ast TypePath) {
        if let Some(last) = kind.path.segments.last()
            && last.ident == "Result"
            && let PathArguments::AngleBracketed(arguments) = &last.arguments
            && let Some(GenericArgument::Type(Type::Path(error))) = arguments.args.iter().nth(1)
        {
            self.found |= error.path.segments.last().is_some_and(|last| last.ident == "String");
        }
        visit::visit_type_path(self, kind);
    }
}
