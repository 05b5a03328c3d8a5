//! No circle of files inside a module of the crate: two files that use each other, straight or by way of others, are one file in two
//! places. A parent module and what is below it may use each other.
//!
//! A file uses another one where a path in its code leads to an item that is defined there, however often it was
//! re-exported. Methods are not seen, because a call does not name their file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, Macro, UseName, UseRename, UseTree};

use crate::source_tree::{SourceTree, attributes, is_for_tests, is_visible};

/// For each file the files that it uses, with what it uses of them.
type Graph = BTreeMap<PathBuf, BTreeMap<PathBuf, BTreeSet<String>>>;

#[test]
fn no_circular_uses_between_files() {
    let mut graph = graph(&SourceTree::read("lib.rs"));
    graph.extend(self::graph(&SourceTree::read("main.rs")));
    let circles = circles(&graph);
    let faults: Vec<String> = circles
        .iter()
        .map(|circle| format!("a circle of {} files:\n{}", circle.len(), shown(circle, &graph)))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn graph(tree: &SourceTree) -> Graph {
    let mut graph = Graph::new();
    for (index, module) in tree.modules.iter().enumerate() {
        let mut uses = Uses { paths: BTreeSet::new() };
        for item in &module.items {
            uses.visit_item(item);
        }
        let file = graph.entry(module.file.clone()).or_default();
        for path in uses.paths {
            for definer in tree.definers(index, &path) {
                let other = &tree.modules[definer].file;
                if top_module(other) == top_module(&module.file) && !is_family(other, &module.file) {
                    file.entry(other.clone()).or_default().insert(shown_path(&path));
                }
            }
        }
    }
    graph
}

/// A path without what leads to the item.
fn shown_path(path: &[String]) -> String {
    let leads = path.iter().position(|part| part.starts_with(char::is_uppercase));
    path[leads.unwrap_or(path.len() - 1)..].join("::")
}

/// The first part of a path: a folder of `src`, or a file in it.
fn top_module(file: &Path) -> PathBuf {
    file.components().next().map(|first| Path::new(&first).with_extension("")).unwrap_or_default()
}

/// Whether they are the same file, or one is the module above the other.
fn is_family(one: &Path, other: &Path) -> bool {
    let folder = |file: &Path| match file.ends_with("mod.rs") {
        true => file.parent().unwrap_or(file).to_owned(),
        false => file.with_extension(""),
    };
    folder(one).starts_with(folder(other)) || folder(other).starts_with(folder(one))
}

/// The sets of files each of which leads to all the others.
fn circles(graph: &Graph) -> Vec<BTreeSet<PathBuf>> {
    let reached: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        graph.keys().map(|file| (file, reached(graph, file))).collect();
    let mut circles: Vec<BTreeSet<PathBuf>> = Vec::new();
    for (file, others) in &reached {
        if others.contains(file) && !circles.iter().any(|circle| circle.contains(*file)) {
            let back = others.iter().filter(|other| reached[**other].contains(file));
            circles.push(back.map(|other| (*other).clone()).collect());
        }
    }
    circles
}

/// All files to which one leads; itself only if there is a way back.
fn reached<'a>(graph: &'a Graph, file: &PathBuf) -> BTreeSet<&'a PathBuf> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&PathBuf> = graph[file].keys().collect();
    while let Some(next) = open.pop() {
        if found.insert(next) {
            open.extend(graph[next].keys());
        }
    }
    found
}

/// The edges of a circle, one a line.
fn shown(circle: &BTreeSet<PathBuf>, graph: &Graph) -> String {
    let mut lines = Vec::new();
    for file in circle {
        for (other, names) in graph[file].iter().filter(|(other, _)| circle.contains(*other)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            lines.push(format!("  {} uses {}: {}", file.display(), other.display(), names.join(", ")));
        }
    }
    lines.join("\n")
}

/// Collects the paths of code.
struct Uses {
    paths: BTreeSet<Vec<String>>,
}

impl Uses {
    fn imports(&mut self, path: &mut Vec<String>, tree: &UseTree) {
        match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                self.imports(path, &part.tree);
                path.pop();
            }
            UseTree::Name(name) if name.ident == "self" => self.path(path.clone()),
            UseTree::Name(UseName { ident }) | UseTree::Rename(UseRename { ident, .. }) => {
                self.path([path.as_slice(), &[ident.to_string()]].concat());
            }
            UseTree::Glob(_) => {}
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.imports(path, tree)),
        }
    }

    /// The paths among the tokens of a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.path(std::mem::take(&mut path));
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => colons += 1,
                other => {
                    self.path(std::mem::take(&mut path));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.path(path);
    }

    fn path(&mut self, path: Vec<String>) {
        if !path.is_empty() {
            self.paths.insert(path);
        }
    }
}

impl<'ast> Visit<'ast> for Uses {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            // What is passed on is used by others.
            Item::Use(item) if !is_visible(&item.vis) => {
                self.imports(&mut Vec::new(), &item.tree);
            }
            Item::Use(_) => {}
            item if is_for_tests(attributes(item)) => {}
            item => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let own = match item {
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Fn(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !is_for_tests(own) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.path(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        self.tokens(item.tokens.clone());
        visit::visit_macro(self, item);
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}
