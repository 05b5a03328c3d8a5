//! The public surface of the library: `public_api.txt` lists all of it. A change that breaks users of the crate shows
//! there, and needs a new version.

use std::fs;
use std::path::Path;

use quote::ToTokens;
use syn::{Attribute, Fields, Generics, ImplItem, Item, ItemImpl, Type, UseTree, Visibility};

use crate::source_tree::{SourceTree, attributes, src};

const LIST: &str = "tests/architecture/public_api.txt";

#[test]
fn public_api_is_as_listed() {
    let tree = SourceTree::read("lib.rs");
    let mut names = Vec::new();
    for item in &tree.modules[0].items {
        match item {
            Item::Use(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
                leaves(&item.tree, &mut names);
            }
            item => assert!(!is_public_definition(item), "lib.rs defines an item: move it into `library`"),
        }
    }
    names.sort();
    let surface = names.iter().map(|name| item(&tree, name)).collect::<Vec<_>>().join("\n");
    let listed = Path::new(env!("CARGO_MANIFEST_DIR")).join(LIST);
    let listed = fs::read_to_string(listed).unwrap_or_default();
    assert!(surface == listed, "{LIST} is not what `src/library` defines; this is:\n{surface}");
}

#[test]
fn other_modules_are_hidden_from_the_documentation() {
    let text = fs::read_to_string(src().join("lib.rs")).expect("the root of the library");
    let root = syn::parse_file(&text).expect("Rust");
    for item in root.items {
        if let Item::Mod(module) = item {
            let is_internal = !is_public(&module.vis) || is_hidden(&module.attrs);
            assert!(
                is_internal,
                "`{}` needs `#[doc(hidden)]`: it is no part of the public API",
                module.ident
            );
        }
    }
}

/// The names that a `use` makes known.
fn leaves(tree: &UseTree, names: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => leaves(&path.tree, names),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, names)),
        UseTree::Name(name) => names.push(name.ident.to_string()),
        UseTree::Rename(_) | UseTree::Glob(_) => panic!("lib.rs names each public item as it is called"),
    }
}

/// All that is public of a type: its fields or variants, traits, constants and functions.
fn item(tree: &SourceTree, name: &str) -> String {
    let definers = tree.definers(0, &[name.to_owned()]);
    let [module] = definers[..] else { panic!("{name} is defined in {} places", definers.len()) };
    let found = tree.modules[module].items.iter().find_map(|item| described(item, name));
    let mut lines = found.unwrap_or_else(|| panic!("{name} is neither a struct nor an enum"));
    let folder = tree.modules[module].file.components().next();
    let of_folder = tree.modules.iter().filter(|module| module.file.components().next() == folder);
    let mut of_impls = Vec::new();
    for item in of_folder.flat_map(|module| &module.items) {
        if let Item::Impl(item) = item
            && is_of(&item.self_ty, name)
        {
            members(item, &mut of_impls);
        }
    }
    of_impls.sort();
    lines.extend(of_impls.iter().map(|line| format!("    {line}")));
    lines.join("\n") + "\n"
}

fn described(item: &Item, name: &str) -> Option<Vec<String>> {
    match item {
        Item::Struct(item) if item.ident == name => {
            let mut lines = vec![head("struct", name, &item.generics, &item.attrs)];
            let public = item.fields.iter().filter(|field| is_public(&field.vis));
            lines.extend(public.map(|field| format!("    {}", shown(field))));
            Some(lines)
        }
        Item::Enum(item) if item.ident == name => {
            let mut lines = vec![head("enum", name, &item.generics, &item.attrs)];
            let variants = item.variants.iter();
            lines.extend(variants.map(|variant| format!("    {}{}", variant.ident, fields(&variant.fields))));
            Some(lines)
        }
        _ => None,
    }
}

/// The first line of a type, with derived traits and whether more fields or variants may come.
fn head(keyword: &str, name: &str, generics: &Generics, attributes: &[Attribute]) -> String {
    let is_shown = |attribute: &&Attribute| {
        attribute.path().is_ident("derive") || attribute.path().is_ident("non_exhaustive")
    };
    let shown_attributes = attributes.iter().filter(is_shown).map(|attribute| shown(&attribute.meta));
    let first = format!("{keyword} {name}{}", shown(generics));
    std::iter::once(first).chain(shown_attributes).collect::<Vec<_>>().join(" ")
}

fn fields(fields: &Fields) -> String {
    let shown: Vec<String> = fields
        .iter()
        .map(|field| match &field.ident {
            Some(name) => format!("{name}: {}", shown(&field.ty)),
            None => shown(&field.ty),
        })
        .collect();
    match fields {
        Fields::Named(_) => format!(" {{ {} }}", shown.join(", ")),
        Fields::Unnamed(_) => format!("({})", shown.join(", ")),
        Fields::Unit => String::new(),
    }
}

fn members(item: &ItemImpl, lines: &mut Vec<String>) {
    if let Some((path, _)) = &item.trait_ {
        lines.push(format!("impl {}", shown(path)));
        return;
    }
    for member in &item.items {
        match member {
            ImplItem::Fn(function) if is_public(&function.vis) => lines.push(shown(&function.sig)),
            ImplItem::Const(constant) if is_public(&constant.vis) => {
                lines.push(format!("const {}: {}", constant.ident, shown(&constant.ty)));
            }
            _ => {}
        }
    }
}

fn is_of(of: &Type, name: &str) -> bool {
    let Type::Path(path) = of else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == name)
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_public_definition(item: &Item) -> bool {
    let visibility = match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        _ => return false,
    };
    is_public(visibility) && !is_hidden(attributes(item))
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute
            .meta
            .require_list()
            .is_ok_and(|list| list.path.is_ident("doc") && list.tokens.to_string().contains("hidden"))
    })
}

/// Code on one line, spaced as people write it.
fn shown(code: &impl ToTokens) -> String {
    let mut text = code.to_token_stream().to_string();
    for (from, to) in [
        (" :: ", "::"),
        (" < ", "<"),
        (" > ", "> "),
        (" >", ">"),
        (" , ", ", "),
        (" ,", ","),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (" : ", ": "),
        ("& ", "&"),
        ("< ", "<"),
        (" ;", ";"),
        ("'_> >", "'_>>"),
        (" =(", " = ("),
        (",)", ")"),
    ] {
        text = text.replace(from, to);
    }
    text.replace("- >", "->").replace("->", " -> ").replace("  ", " ").trim_end().to_owned()
}
