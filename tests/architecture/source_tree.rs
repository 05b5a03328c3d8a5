//! The modules of `src` as syntax trees, without what is compiled for tests only, and the file that defines a name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item, UseTree, Visibility};

/// The folder `src`.
pub(crate) fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// All modules that can be reached from a crate's root, the root first.
pub(crate) struct SourceTree {
    pub(crate) modules: Vec<Module>,
}

/// A module: a file, or a block in a file.
pub(crate) struct Module {
    /// Relative to `src`.
    pub(crate) file: PathBuf,
    /// The index of the module around it.
    pub(crate) parent: Option<usize>,
    pub(crate) items: Vec<Item>,
    names: BTreeMap<String, Vec<Name>>,
    globs: Vec<Vec<String>>,
}

/// The meaning of a name in a module.
enum Name {
    /// An item that the module itself defines.
    Item,
    Module(usize),
    /// The path of a `use`.
    Import(Vec<String>),
}

/// How many imports may lead to one another: more are a circle.
const MOST_IMPORTS: usize = 32;

impl SourceTree {
    /// Reads the crate of `src/lib.rs` or `src/main.rs`.
    pub(crate) fn read(root: &str) -> Self {
        let mut tree = Self { modules: Vec::new() };
        tree.add(Path::new(root), None, parse(Path::new(root)));
        tree
    }

    fn add(&mut self, file: &Path, parent: Option<usize>, mut items: Vec<Item>) -> usize {
        items.retain(|item| !is_for_tests(attributes(item)));
        let index = self.modules.len();
        let file = file.to_owned();
        let (names, globs) = (BTreeMap::new(), Vec::new());
        self.modules.push(Module { file: file.clone(), parent, items: Vec::new(), names, globs });
        let mut kept = Vec::new();
        for item in items {
            if let Item::Mod(module) = item {
                let (file, items) = match module.content {
                    Some((_, items)) => (file.clone(), items),
                    None => {
                        let file = child_file(&file, &module.ident.to_string());
                        let items = parse(&file);
                        (file, items)
                    }
                };
                let child = self.add(&file, Some(index), items);
                self.name(index, module.ident.to_string(), Name::Module(child));
            } else {
                if let Item::Use(item) = &item {
                    self.import(index, &mut Vec::new(), &item.tree);
                } else if let Some(name) = name_of(&item) {
                    self.name(index, name, Name::Item);
                }
                kept.push(item);
            }
        }
        self.modules[index].items = kept;
        index
    }

    fn name(&mut self, module: usize, name: String, stands_for: Name) {
        self.modules[module].names.entry(name).or_default().push(stands_for);
    }

    fn import(&mut self, module: usize, path: &mut Vec<String>, tree: &UseTree) {
        match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                self.import(module, path, &part.tree);
                path.pop();
            }
            UseTree::Name(name) if name.ident == "self" => {
                if let Some(last) = path.last() {
                    self.name(module, last.clone(), Name::Import(path.clone()));
                }
            }
            UseTree::Name(name) => {
                let target = [path.as_slice(), &[name.ident.to_string()]].concat();
                self.name(module, name.ident.to_string(), Name::Import(target));
            }
            UseTree::Rename(name) => {
                let target = [path.as_slice(), &[name.ident.to_string()]].concat();
                self.name(module, name.rename.to_string(), Name::Import(target));
            }
            UseTree::Glob(_) => self.modules[module].globs.push(path.clone()),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(module, path, tree)),
        }
    }

    /// The modules that define what a path in a module stands for: more than one where it names several things, and
    /// none where it leads out of the crate. What belongs to a type, such as a variant, counts as the type.
    pub(crate) fn definers(&self, module: usize, path: &[String]) -> Vec<usize> {
        self.definers_within(module, path, MOST_IMPORTS)
    }

    fn definers_within(&self, module: usize, path: &[String], imports: usize) -> Vec<usize> {
        let Some(first) = path.first() else { return vec![module] };
        let rest = &path[1..];
        match first.as_str() {
            "crate" => self.definers_within(0, rest, imports),
            "self" => self.definers_within(module, rest, imports),
            "super" => match self.modules[module].parent {
                Some(parent) => self.definers_within(parent, rest, imports),
                None => Vec::new(),
            },
            name => self.definers_of_name(module, name, rest, imports),
        }
    }

    fn definers_of_name(&self, module: usize, name: &str, rest: &[String], imports: usize) -> Vec<usize> {
        let Some(imports) = imports.checked_sub(1) else { return Vec::new() };
        let Some(names) = self.modules[module].names.get(name) else {
            let through = |glob: &Vec<String>| {
                let path = [glob.as_slice(), &[name.to_owned()], rest].concat();
                // A glob finds what it names in another module, never in this one again.
                if glob.first().is_some_and(|first| first == name) {
                    Vec::new()
                } else {
                    self.definers_within(module, &path, imports)
                }
            };
            return self.modules[module].globs.iter().flat_map(through).collect();
        };
        let mut found = Vec::new();
        for stands_for in names {
            match stands_for {
                Name::Item => found.push(module),
                Name::Module(child) => found.extend(self.definers_within(*child, rest, imports)),
                Name::Import(target) => {
                    let path = [target.as_slice(), rest].concat();
                    // `use name::Name`: the first is a crate, unless a module here is called so.
                    let is_itself = target.first().is_some_and(|first| first == name);
                    if !is_itself {
                        found.extend(self.definers_within(module, &path, imports));
                    }
                }
            }
        }
        found
    }
}

/// Whether a function or a type can be seen from outside its module.
pub(crate) fn is_visible(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}

/// Whether something is only there when tests are compiled.
pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    let is_test = |attribute: &Attribute| {
        let Ok(condition) = attribute.meta.require_list() else { return attribute.path().is_ident("test") };
        let words = condition.tokens.to_string();
        condition.path.is_ident("cfg") && words.contains("test") && !words.contains("not")
    };
    attributes.iter().any(is_test)
}

pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name_of(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Macro(item) => item.ident.as_ref()?.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        _ => return None,
    })
}

fn child_file(file: &Path, name: &str) -> PathBuf {
    let folder = file.parent().expect("a file is in a folder");
    let is_root = ["lib.rs", "main.rs", "mod.rs"].iter().any(|root| file.ends_with(root));
    let folder = if is_root { folder.to_owned() } else { file.with_extension("") };
    let flat = folder.join(name).with_extension("rs");
    if src().join(&flat).is_file() { flat } else { folder.join(name).join("mod.rs") }
}

fn parse(file: &Path) -> Vec<Item> {
    let text =
        fs::read_to_string(src().join(file)).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display())).items
}
