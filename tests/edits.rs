//! Edited documents: what did not change stays byte for byte, over documents and changes made at random.

#[path = "edits/places.rs"]
mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kyv::engine::{EmptyWorld, Engine, Settings};
use kyv::policy::{self, DocumentKind, Policy, PolicySet};
use kyv::semantics::Semantics;
use kyv::value::{Pointer, Segment, Value};
use kyv::yaml::{Document, Limits, Source, parse_value, read};
use proptest::prelude::*;

use places::{at, is_shared, lines_of, lost_comments, places, with_above, with_below};

/// A node of a generated document; its number stays with it through all changes.
#[derive(Clone, Debug)]
struct Tree {
    id: usize,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    Scalar(Value),
    List(Vec<Tree>),
    Mapping(Vec<(String, Tree)>),
}

/// Numbers at random, from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }
}

struct Maker {
    dice: Dice,
    next: usize,
    /// Nodes that are written as aliases, and what they stand for.
    aliases: BTreeMap<usize, usize>,
    /// Mappings that merge another one: which one, and how many of its members come first.
    merges: BTreeMap<usize, (usize, usize)>,
}

impl Maker {
    fn id(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    fn scalar(&mut self) -> Value {
        let id = self.next;
        match self.dice.roll(13) {
            0 => Value::from(id as i64),
            1 => Value::from(format!("first {id}\n  second\nthird\n")),
            2 => Value::from(format!("one {id}\ntwo")),
            3 => Value::from(format!("true: {id}")),
            4 => Value::from(format!("{id}")),
            5 => Value::from(format!("it's #{id} \"so\"")),
            6 => Value::from(format!("kept {id}\n\n")),
            7 => Value::from(format!("some words {id} to be\nfolded in\n\nlines\n")),
            8 => Value::from(format!("some more words {id} on one line")),
            9 => Value::from(format!("folded words {id} and no end\n")),
            _ => Value::from(format!("v{id}")),
        }
    }

    fn tree(&mut self, depth: usize) -> Tree {
        let id = self.id();
        let content = match if depth == 0 { 9 } else { self.dice.roll(6) } {
            0 | 1 => Content::Mapping(
                (0..self.dice.roll(5))
                    .map(|_| self.tree(depth - 1))
                    .map(|tree| (format!("k{}", tree.id), tree))
                    .collect(),
            ),
            2 => {
                // Elements with names, as containers are.
                let items = (0..self.dice.roll(4)).map(|_| {
                    let id = self.id();
                    let name =
                        Tree { id: self.id(), content: Content::Scalar(Value::from(format!("n{id}"))) };
                    let other = self.tree(depth - 1);
                    let members = vec![("name".to_owned(), name), (format!("k{}", other.id), other)];
                    Tree { id, content: Content::Mapping(members) }
                });
                Content::List(items.collect())
            }
            3 => Content::List((0..self.dice.roll(5)).map(|_| self.tree(depth - 1)).collect()),
            _ => Content::Scalar(self.scalar()),
        };
        Tree { id, content }
    }

    fn root(&mut self) -> Tree {
        let mut members: Vec<Tree> = (0..2 + self.dice.roll(4)).map(|_| self.tree(4)).collect();
        for _ in 0..self.dice.roll(12).saturating_sub(8) {
            let target = members[self.dice.roll(members.len())].clone();
            if self.aliases.contains_key(&target.id) || self.merges.contains_key(&target.id) {
                continue;
            }
            let mut copy = self.copy(&target);
            match &mut copy.content {
                Content::Mapping(of) if !of.is_empty() && self.dice.one_in(2) => {
                    self.merges.insert(copy.id, (target.id, of.len()));
                    let own = (0..self.dice.roll(3)).map(|_| self.tree(2)).collect::<Vec<_>>();
                    of.extend(own.into_iter().map(|tree| (format!("k{}", tree.id), tree)));
                }
                _ => drop(self.aliases.insert(copy.id, target.id)),
            }
            members.push(copy);
        }
        let members = members.into_iter().map(|tree| (format!("k{}", tree.id), tree));
        Tree { id: 0, content: Content::Mapping(members.collect()) }
    }

    /// The same content with numbers of its own.
    fn copy(&mut self, tree: &Tree) -> Tree {
        let id = self.id();
        let content = match &tree.content {
            Content::Scalar(value) => Content::Scalar(value.clone()),
            Content::List(items) => Content::List(items.iter().map(|item| self.copy(item)).collect()),
            Content::Mapping(members) => Content::Mapping(
                members.iter().map(|(key, member)| (key.clone(), self.copy(member))).collect(),
            ),
        };
        Tree { id, content }
    }

    /// Changes something in a tree.
    fn change(&mut self, tree: &mut Tree, member: bool) {
        if self.dice.one_in(4) && tree.id != 0 {
            let id = tree.id;
            *tree = self.tree(2);
            // An element that becomes something else is another one.
            if member {
                tree.id = id;
            }
            return;
        }
        let index = |dice: &mut Dice, length: usize| dice.roll(length.max(1));
        match &mut tree.content {
            Content::Scalar(value) => {
                self.next += 1;
                *value = self.scalar();
            }
            Content::List(items) if items.is_empty() || self.dice.one_in(3) => {
                let at = self.dice.roll(items.len() + 1);
                items.insert(at, self.tree(2));
            }
            Content::Mapping(members) if members.is_empty() || self.dice.one_in(3) => {
                let new = self.tree(2);
                members.push((format!("k{}", new.id), new));
            }
            Content::List(items) => {
                let at = index(&mut self.dice, items.len());
                match self.dice.roll(3) {
                    0 => drop(items.remove(at)),
                    1 => {
                        let item = items.remove(at);
                        let to = self.dice.roll(items.len() + 1);
                        items.insert(to, item);
                    }
                    _ => self.change(&mut items[at], false),
                }
            }
            Content::Mapping(members) => {
                let at = index(&mut self.dice, members.len());
                if self.dice.one_in(4) && members.len() > 1 {
                    members.remove(at);
                } else if members[at].0 != "name" {
                    self.change(&mut members[at].1, true);
                }
            }
        }
    }
}

impl Tree {
    fn value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(items) => Value::array(items.iter().map(Self::value).collect()),
            Content::Mapping(members) => {
                members.iter().map(|(key, tree)| (key.as_str(), tree.value())).collect()
            }
        }
    }

    /// All nodes by number, with what they say, and the lists around them whose elements have no names.
    fn nodes(&self, lists: &mut Vec<usize>, found: &mut BTreeMap<usize, (Value, Vec<usize>)>) {
        found.insert(self.id, (self.value(), lists.clone()));
        match &self.content {
            Content::Scalar(_) => {}
            Content::List(items) => {
                let named = items.iter().all(|item| item.value().get("name").is_some());
                lists.extend((!named).then_some(self.id));
                items.iter().for_each(|item| item.nodes(lists, found));
                lists.truncate(lists.len() - usize::from(!named));
            }
            Content::Mapping(members) => members.iter().for_each(|(_, tree)| tree.nodes(lists, found)),
        }
    }
}

/// Writes a tree in a style of its own, with comments that name their node.
struct Writer {
    dice: Dice,
    step: usize,
    list_step: usize,
    dash: usize,
    out: String,
    comments: BTreeSet<(usize, String)>,
    aliases: BTreeMap<usize, usize>,
    merges: BTreeMap<usize, (usize, usize)>,
    /// The nodes in brackets of several lines.
    in_brackets: BTreeSet<usize>,
    /// Whether an empty line would belong to the text above.
    keeps: bool,
}

impl Writer {
    fn pad(&mut self, column: usize) {
        self.out.extend(std::iter::repeat_n(' ', column));
    }

    fn comment(&mut self, id: usize) -> String {
        let comment = format!("# c{} of {id}.", self.comments.len());
        self.comments.insert((id, comment.clone()));
        comment
    }

    /// Comments and empty lines above an entry.
    fn above(&mut self, id: usize, column: usize) {
        if !self.keeps && self.dice.one_in(6) {
            self.out.push('\n');
        }
        self.keeps = false;
        if self.dice.one_in(5) {
            self.pad(column);
            let comment = self.comment(id);
            self.out.push_str(&comment);
            self.out.push('\n');
        }
    }

    fn entries(&mut self, tree: &Tree, column: usize, mut joins: bool) {
        let entries: Vec<(Option<&str>, &Tree)> = match &tree.content {
            Content::Scalar(_) => return,
            Content::List(items) => items.iter().map(|item| (None, item)).collect(),
            Content::Mapping(members) => {
                members.iter().map(|(key, tree)| (Some(key.as_str()), tree)).collect()
            }
        };
        let merge = self.merges.get(&tree.id).copied();
        if let Some((target, _)) = merge {
            if !std::mem::take(&mut joins) {
                self.above(usize::MAX, column);
                self.pad(column);
            }
            // It goes where it cannot stay, and its comments with it.
            self.out.push_str(&format!("<<: *a{target}"));
            self.trailing(usize::MAX);
        }
        for (key, tree) in entries.into_iter().skip(merge.map_or(0, |(_, count)| count)) {
            if !std::mem::take(&mut joins) {
                self.above(tree.id, column);
                self.pad(column);
            }
            match key {
                Some(key) => {
                    let quote = if self.dice.one_in(8) { "\"" } else { "" };
                    for part in [quote, key, quote, ":"] {
                        self.out.push_str(part);
                    }
                }
                None => self.out.push('-'),
            }
            self.node(tree, column, key.is_none());
        }
    }

    fn node(&mut self, tree: &Tree, column: usize, element: bool) {
        self.keeps = false;
        let mut gap = if element { self.dash - 1 } else { 1 };
        if let Some(target) = self.aliases.get(&tree.id) {
            let alias = format!(" *a{target}");
            self.out.push_str(&alias);
            return self.trailing(tree.id);
        }
        let is_anchored = self.aliases.values().chain(self.merges.values().map(|(target, _)| target));
        let is_anchored = is_anchored.into_iter().any(|target| *target == tree.id);
        if is_anchored {
            self.pad(std::mem::replace(&mut gap, 1));
            self.out.push_str(&format!("&a{}", tree.id));
        }
        let nested = match &tree.content {
            Content::Scalar(_) => false,
            Content::List(items) => !items.is_empty(),
            Content::Mapping(members) => !members.is_empty(),
        };
        let merges = self.merges.contains_key(&tree.id);
        if nested && !merges && self.dice.one_in(8) {
            self.pad(gap);
            return self.brackets(tree, column);
        }
        if nested && (merges || !self.dice.one_in(6)) {
            let inner = match (&tree.content, element) {
                (_, true) => self.dash,
                (Content::List(_), _) => self.list_step,
                _ => self.step,
            };
            let joins = element && !is_anchored && !self.dice.one_in(5);
            if joins {
                self.pad(gap);
            } else {
                if self.dice.one_in(4) {
                    let comment = self.comment(tree.id);
                    self.out.push(' ');
                    self.out.push_str(&comment);
                }
                self.out.push('\n');
            }
            self.entries(tree, column + inner, joins);
            return;
        }
        if let Content::Scalar(Value::String(text)) = &tree.content
            && (text.contains('\n') || text.starts_with("some "))
            && !self.dice.one_in(4)
        {
            self.pad(gap);
            return self.text(text, tree.id, column);
        }
        let wide = usize::from(self.dice.one_in(9));
        self.pad(gap + wide);
        let inline = tree.value().to_json();
        let plain = match &tree.content {
            Content::Scalar(Value::String(text)) if text.starts_with('v') => match self.dice.roll(3) {
                0 => Some(text.to_string()),
                1 => Some(format!("'{text}'")),
                _ => None,
            },
            _ => None,
        };
        self.out.push_str(&plain.unwrap_or(inline));
        self.trailing(tree.id);
    }

    /// A text of several lines.
    fn text(&mut self, text: &str, id: usize, column: usize) {
        let content = text.trim_end_matches('\n');
        let breaks = text.len() - content.len();
        let is_folded = !content.contains("\n ") && self.dice.one_in(2);
        if breaks == 0 && !content.contains('\n') && (!is_folded || self.dice.one_in(2)) {
            // Plain words, broken anywhere.
            for (number, word) in content.split(' ').enumerate() {
                if number > 0 && self.dice.one_in(3) {
                    self.out.push('\n');
                    self.pad(column + self.step);
                } else if number > 0 {
                    self.out.push(' ');
                }
                self.out.push_str(word);
            }
            return self.trailing(id);
        }
        self.out.push(if is_folded { '>' } else { '|' });
        self.keeps = breaks > 1 || breaks == 1 && self.dice.one_in(4);
        self.out.push_str(match breaks {
            0 => "-",
            _ if self.keeps => "+",
            _ => "",
        });
        self.trailing(id);
        for (number, line) in content.split('\n').enumerate() {
            if is_folded && number > 0 && !line.is_empty() {
                self.out.push('\n');
            }
            if !line.is_empty() {
                self.pad(column + self.step);
            }
            for (number, word) in line.split(' ').enumerate() {
                let breaks = is_folded && number > 0 && self.dice.one_in(3);
                if breaks {
                    self.out.push('\n');
                    self.pad(column + self.step);
                } else if number > 0 {
                    self.out.push(' ');
                }
                self.out.push_str(word);
            }
            self.out.push('\n');
        }
        for _ in 1..breaks {
            self.out.push('\n');
        }
    }

    /// A list or mapping in brackets of several lines.
    fn brackets(&mut self, tree: &Tree, column: usize) {
        let inner = column + self.step + 1;
        let entries: Vec<(Option<&str>, &Tree)> = match &tree.content {
            Content::Scalar(_) => return,
            Content::List(items) => items.iter().map(|item| (None, item)).collect(),
            Content::Mapping(members) => {
                members.iter().map(|(key, tree)| (Some(key.as_str()), tree)).collect()
            }
        };
        let ends = if matches!(tree.content, Content::List(_)) { ('[', ']') } else { ('{', '}') };
        self.out.push(ends.0);
        let mut breaks = self.dice.one_in(2);
        let count = entries.len();
        for (number, (key, entry)) in entries.into_iter().enumerate() {
            if std::mem::take(&mut breaks) {
                self.out.push('\n');
                self.pad(inner);
            } else if number > 0 {
                self.out.push(' ');
            }
            if let Some(key) = key {
                self.out.push_str(key);
                self.out.push_str(": ");
            }
            self.out.push_str(&entry.value().to_json());
            self.note_brackets(entry);
            if number + 1 < count || self.dice.one_in(5) {
                self.out.push(',');
            }
            breaks = self.dice.one_in(2);
            if self.dice.one_in(4) {
                let comment = self.comment(entry.id);
                self.out.push(' ');
                self.out.push_str(&comment);
                breaks = true;
            }
        }
        if breaks {
            self.out.push('\n');
            self.pad(inner - 1);
        }
        self.out.push(ends.1);
        self.trailing(tree.id);
    }

    fn note_brackets(&mut self, tree: &Tree) {
        self.in_brackets.insert(tree.id);
        match &tree.content {
            Content::Scalar(_) => {}
            Content::List(items) => items.iter().for_each(|item| self.note_brackets(item)),
            Content::Mapping(members) => members.iter().for_each(|(_, member)| self.note_brackets(member)),
        }
    }

    fn trailing(&mut self, id: usize) {
        if self.dice.one_in(5) {
            let comment = self.comment(id);
            self.out.push(' ');
            self.out.push_str(&comment);
        }
        self.out.push('\n');
    }
}

fn document(text: &str) -> Result<Document, TestCaseError> {
    let source = Arc::new(Source::new("t", text));
    let documents = read(&source, &Limits::default())
        .map_err(|errors| TestCaseError::fail(format!("{}\n{text}", errors[0])))?;
    prop_assert_eq!(documents.len(), 1, "{}", text);
    documents.into_iter().next().ok_or_else(|| TestCaseError::fail("no document"))
}

/// The lines of a text, each without indentation and dashes.
fn lines(text: &str) -> BTreeSet<&str> {
    text.lines().map(|line| line.trim_start_matches([' ', '-'])).collect()
}

/// Writes a tree in some layout.
fn written(maker: &mut Maker, tree: &Tree, seed: u64) -> Writer {
    let step = 1 + maker.dice.roll(4);
    let mut writer = Writer {
        step,
        list_step: maker.dice.roll(step + 1),
        dash: 2 + maker.dice.roll(2),
        out: String::new(),
        comments: BTreeSet::new(),
        aliases: maker.aliases.clone(),
        merges: maker.merges.clone(),
        in_brackets: BTreeSet::new(),
        keeps: false,
        dice: Dice(seed ^ 0x5555),
    };
    writer.entries(tree, 0, false);
    writer
}

fn check(seed: u64) -> Result<(), TestCaseError> {
    let mut maker = Maker { dice: Dice(seed), next: 0, aliases: BTreeMap::new(), merges: BTreeMap::new() };
    maker.dice.roll(2);
    let before = maker.root();
    let writer = written(&mut maker, &before, seed);
    let mut text = writer.out.clone();
    if maker.dice.one_in(8) && !text.ends_with("\n\n") {
        text = text.trim_end_matches('\n').to_owned();
    }
    if maker.dice.one_in(6) {
        text.insert_str(
            0,
            ["---\n", "--- # head\n", "\u{feff}", "# head\n---\n", "%YAML 1.1\n---\n"][maker.dice.roll(5)],
        );
    }
    if maker.dice.one_in(6) {
        text = text.replace('\n', "\r\n");
    }
    let original = document(&text)?;
    prop_assert_eq!(original.value(), Some(&before.value()), "{}", text);
    prop_assert_eq!(&original.edited(&before.value()).text, &text);

    let mut after = before.clone();
    for _ in 0..=maker.dice.roll(4) {
        maker.change(&mut after, true);
    }
    let edited = original.edited(&after.value());
    let shown = format!(
        "seed {seed}\n--- before\n{text}\n--- after\n{}\n--- wanted\n{}",
        original.edited_unchecked(&after.value()).text,
        after.value().to_json()
    );
    prop_assert_eq!(edited.fallback, None, "{}", shown);
    let again = document(&edited.text)?;
    prop_assert_eq!(again.value(), Some(&after.value()), "{}", shown);
    prop_assert_eq!(&again.edited(&after.value()).text, &edited.text, "{}", shown);
    // kubectl gives the last line of a file a line break if it has none; other readers say the same unless they
    // said something else before.
    if parse_value(&text).ok().as_ref() == Some(&before.value()) {
        prop_assert_eq!(parse_value(&edited.text).ok(), Some(after.value()), "{}", shown);
    }
    prop_assert!(text.contains("\r\n") || !edited.text.contains("\r\n"), "{}", shown);
    prop_assert!(!edited.text.replace("\r\n", "").contains('\r'), "{}", shown);
    prop_assert!(!text.contains("\r\n") || !edited.text.replace("\r\n", "").contains('\n'), "{}", shown);

    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    before.nodes(&mut Vec::new(), &mut old);
    after.nodes(&mut Vec::new(), &mut new);
    // Which elements without names are the same is for nobody to say.
    let is_unclear =
        |list: &usize| new.get(list).map(|(value, _)| value) != old.get(list).map(|(value, _)| value);
    let is_clear =
        |id: &usize| new.get(id).is_some_and(|(_, lists)| !old[id].1.iter().chain(lists).any(is_unclear));
    for (id, comment) in &writer.comments {
        prop_assert!(!is_clear(id) || edited.text.contains(comment), "{} is lost, {}", comment, shown);
    }
    let result = lines(&edited.text);
    for line in text.lines() {
        // A line with a scalar of its own that is still there and still says the same.
        let Some(id) = line.split_once('v').and_then(|(_, rest)| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<usize>().ok()
        }) else {
            continue;
        };
        let said = old.get(&id).map(|(value, _)| value);
        let same = said.is_some_and(|value| value.as_str().is_some())
            && new.get(&id).map(|(value, _)| value) == said;
        if same && is_clear(&id) && !line.contains(['{', '[']) && !writer.in_brackets.contains(&id) {
            let line = line.trim_start_matches([' ', '-']);
            let line = line.strip_prefix("\u{feff}").unwrap_or(line);
            let there = result.contains(line) || result.iter().any(|other| other.ends_with(line));
            prop_assert!(there, "{:?} is not there, {}", line, shown);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn generated_documents_are_edited(seed in any::<u64>()) {
        check(seed)?;
    }
}

/// What is done to a document of somebody.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Label,
    Scalar,
    Remove,
    Append,
    Move,
}

/// A value with something done to it.
struct Done {
    after: Value,
    /// How many lines of its document may go.
    lines: usize,
    /// The part whose comments may go.
    gone: Range<usize>,
    /// Whether other users of an anchor are concerned.
    is_shared: bool,
}

fn done(deed: Deed, document: &Document, value: &Value, dice: &mut Dice) -> Option<Done> {
    let mut after = value.clone();
    if matches!(deed, Deed::Label) {
        let metadata = value.get("metadata")?.as_object()?;
        let mut metadata = Value::object(metadata.clone());
        let mut labels = metadata.get("labels").filter(|labels| labels.as_object().is_some()).cloned();
        // Brackets and scalars are written anew.
        let of = |pointer: &Pointer| document.span(pointer).map_or(0, |span| rewritten(document, span));
        let metadata_at = Pointer::ROOT.key("metadata");
        let may_go = of(&metadata_at) + of(&metadata_at.key("labels"));
        let labels = labels.get_or_insert_with(Value::empty_object);
        labels.insert("kyv.dev/edited", Value::from("yes"));
        metadata.insert("labels", labels.clone());
        after.insert("metadata", metadata);
        let part = lines_of(document, &metadata_at)?;
        let is_shared = is_shared(document, &metadata_at, &part);
        return Some(Done { after, lines: may_go, gone: 0..0, is_shared });
    }
    let pointers = places(value);
    let fits = |pointer: &&Pointer| {
        let node = value.pointed(pointer);
        match deed {
            Deed::Label => false,
            Deed::Scalar => node.is_some_and(|node| node.as_array().is_none() && node.as_object().is_none()),
            Deed::Remove => !pointer.is_root(),
            Deed::Append => node.and_then(Value::as_array).is_some_and(|items| !items.is_empty()),
            Deed::Move => node
                .and_then(Value::as_array)
                .is_some_and(|items| items.len() > 1 && items.first() != items.last()),
        }
    };
    let fitting: Vec<&Pointer> = pointers.iter().filter(fits).collect();
    let pointer = *fitting.get(dice.roll(fitting.len().max(1)))?;
    let span = |pointer: &Pointer| {
        let span = document.span(pointer).unwrap_or(0..0);
        document.source().text()[span].lines().count().max(1)
    };
    let length = value.pointed(pointer).and_then(Value::as_array).map_or(0, <[Value]>::len);
    let lines = match deed {
        Deed::Label => 0,
        Deed::Append => document.span(pointer).map_or(0, |span| rewritten(document, span)),
        // The first line of a text of several lines stands above it.
        Deed::Scalar => span(pointer) + 1,
        Deed::Remove => usize::MAX,
        Deed::Move => span(&pointer.index(length - 1)) + 1,
    };
    let parent = pointer.parent();
    match deed {
        Deed::Remove => {
            let holder = at(&mut after, &parent)?;
            match pointer.segments().last()? {
                Segment::Key(key) => drop(holder.remove(key)),
                Segment::Index(index) => drop(holder.as_array_mut()?.remove(*index)),
            }
        }
        Deed::Scalar => *at(&mut after, pointer)? = Value::from("edited: #1"),
        Deed::Append => at(&mut after, pointer)?
            .as_array_mut()?
            .push([("name", Value::from("new"))].into_iter().collect()),
        Deed::Move => {
            let items = at(&mut after, pointer)?.as_array_mut()?;
            let last = items.pop()?;
            items.insert(0, last);
        }
        Deed::Label => {}
    }
    let part = lines_of(document, pointer)?;
    let is_shared = is_shared(document, pointer, &part);
    // An element with another name is another element.
    let names_element = matches!(pointer.segments(), [.., Segment::Index(_), Segment::Key(_)]);
    let gone = match deed {
        Deed::Remove => with_below(document, with_above(document, part)),
        Deed::Scalar if names_element => {
            with_below(document, with_above(document, lines_of(document, &parent)?))
        }
        Deed::Scalar => part,
        Deed::Label | Deed::Append | Deed::Move => 0..0,
    };
    Some(Done { after, lines, gone, is_shared })
}

/// How many lines of a node go when something is added to it: none of one that consists of lines.
fn rewritten(document: &Document, span: Range<usize>) -> usize {
    let text = &document.source().text()[span];
    let in_lines = text.starts_with("- ") || (!text.starts_with(['{', '[']) && text.contains(": "));
    if in_lines || text.contains(":\n") { 0 } else { text.lines().count().max(1) }
}

fn yaml_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut paths: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            yaml_files(&path, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml" || extension == "json")
        {
            found.push(path);
        }
    }
}

#[test]
fn documents_of_people_keep_what_did_not_change() {
    let mut files = Vec::new();
    for folder in ["corpus", "suites", "krm", "explain", "cli"] {
        yaml_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder), &mut files);
    }
    if let Some(folder) = std::env::var_os("KYV_CONFORMANCE") {
        yaml_files(Path::new(&folder), &mut files);
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    let mut dice = Dice(7);
    for path in files {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let source = Arc::new(Source::new(path.display().to_string(), text));
        let Ok(documents) = read(&source, &Limits::default()) else { continue };
        for original in &documents {
            let Some(value) =
                original.value().filter(|value| value.as_object().is_some_and(|map| !map.is_empty()))
            else {
                continue;
            };
            let all = [Deed::Label, Deed::Scalar, Deed::Remove, Deed::Append, Deed::Move];
            let deeds = [all[dice.roll(5)], all[dice.roll(5)]];
            for deed in deeds {
                let Some(Done { after, lines: may_go, gone: part, is_shared }) =
                    done(deed, original, value, &mut dice)
                else {
                    continue;
                };
                let edited = original.edited(&after);
                *counts
                    .entry(edited.fallback.map_or("edited".into(), |class| class.to_string()))
                    .or_default() += 1;
                if edited.fallback.is_some() {
                    if counts.len() < 30 {
                        writeln!(std::io::stderr(), "{}: {deed:?}: {:?}", path.display(), edited.fallback)
                            .ok();
                    }
                    continue;
                }
                let diff = similar::TextDiff::from_lines(original.text(), &edited.text);
                let gone = diff
                    .iter_all_changes()
                    .filter(|change| change.tag() == similar::ChangeTag::Delete)
                    .count();
                let new = diff
                    .iter_all_changes()
                    .filter(|change| change.tag() == similar::ChangeTag::Insert)
                    .count();
                let again = Arc::new(Source::new("t", edited.text.as_str()));
                let again = read(&again, &Limits::default()).map_err(|errors| errors[0].to_string());
                let again = again.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                let again: Vec<_> = again.iter().filter(|document| document.value().is_some()).collect();
                assert_eq!(again.len(), 1, "{}", path.display());
                assert_eq!(again[0].value(), Some(&after), "{}", path.display());
                assert_eq!(again[0].edited(&after).text, again[0].text(), "{}", path.display());
                let lost = lost_comments(original, again[0], &part);
                // A last line without an end may get one.
                let may_go = may_go.saturating_add(usize::from(!original.text().ends_with('\n')));
                let much = gone > may_go || (matches!(deed, Deed::Remove) && new > 2);
                // Where an anchor changes, its other users do, too.
                if !lost.is_empty() || much && !is_shared {
                    faults.push(format!(
                        "{}: {deed:?}: {gone} of {may_go} gone, {new} new, {lost:?} lost\n{}",
                        path.display(),
                        diff.unified_diff().context_radius(3)
                    ));
                }
            }
        }
    }
    for (class, count) in &counts {
        writeln!(std::io::stderr(), "{count:6} {class}").ok();
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

/// How far the lists of a document are indented behind their keys, if all of them equally.
fn list_step(document: &Document, value: &Value) -> Option<usize> {
    let text = document.source().text();
    let column = |at: usize| {
        let line = text[..at].rfind('\n').map_or(0, |line| line + 1);
        (line, at - line)
    };
    let mut steps = BTreeSet::new();
    for at in places(value) {
        let Some(Segment::Key(_)) = at.segments().last() else { continue };
        if value.pointed(&at).and_then(Value::as_array).is_none_or(<[Value]>::is_empty) {
            continue;
        }
        let (key, first) = (document.key_span(&at)?, document.span(&at.index(0))?);
        let ((key_line, key_column), (line, _)) = (column(key.start), column(first.start));
        let dash = text[line..].trim_start_matches(' ');
        let behind = dash.strip_prefix('-').map(|rest| rest.trim_start_matches(' ').len());
        // Brackets, and elements that start below their dash.
        if line <= key_line || behind != Some(text.len() - first.start) {
            return None;
        }
        steps.insert((text.len() - dash.len() - line).checked_sub(key_column)?);
    }
    steps.first().copied().filter(|_| steps.len() == 1)
}

#[test]
fn new_lists_stand_where_those_of_people_do() {
    let mut files = Vec::new();
    yaml_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus"), &mut files);
    if let Some(folder) = std::env::var_os("KYV_CONFORMANCE") {
        yaml_files(Path::new(&folder), &mut files);
    }
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for path in files {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let source = Arc::new(Source::new(path.display().to_string(), text));
        let Ok(documents) = read(&source, &Limits::default()) else { continue };
        for original in documents.iter().filter(|document| !document.is_json()) {
            let Some(value) = original.value() else { continue };
            let Some(step) = list_step(original, value) else { continue };
            let mut after = value.clone();
            after.insert("new lists", [("of", Value::array(vec![Value::from(1)]))].into_iter().collect());
            let edited = original.edited(&after);
            let (_, new) = edited.text.split_once("new lists").unwrap_or_default();
            let column = |sign: &str| {
                let (above, _) = new.split_once(sign)?;
                Some(above.len() - above.rfind('\n')? - 1)
            };
            let found = column("-").zip(column("of:")).map(|(dash, key)| dash.wrapping_sub(key));
            assert_eq!((edited.fallback, found), (None, Some(step)), "{}\n{}", path.display(), edited.text);
            *counts.entry(step).or_default() += 1;
        }
    }
    writeln!(std::io::stderr(), "documents by the step of their lists: {counts:?}").ok();
    assert!(counts.values().sum::<usize>() > 100, "{counts:?}");
}

/// The policies of a text that can be evaluated.
fn compiled(text: &str) -> Vec<Policy> {
    let Ok(documents) = read(&Arc::new(Source::new("", text)), &Limits::default()) else { return Vec::new() };
    let values = documents.iter().filter_map(Document::value);
    let classic = values.filter(|value| policy::kind_of(value) == DocumentKind::Classic);
    classic.filter_map(|value| policy::parse(value, Semantics::Documented).ok()).collect()
}

/// What came of running policies twice.
#[derive(Debug, Default)]
struct Runs {
    edited: usize,
    /// How many results a second evaluation leaves as they are.
    at_rest: usize,
    printed: Vec<String>,
    faults: Vec<String>,
}

impl Runs {
    /// Runs policies on a document and on what came of it.
    fn run(&mut self, name: &str, engine: &Engine, document: &Document) {
        let Some(value) = document.value() else { return };
        let first = engine.mutate(value, None, &EmptyWorld);
        if !first.is_changed() {
            return;
        }
        let edited = document.edited(&first.after);
        if let Some(fallback) = edited.fallback {
            self.printed.push(format!("{name}: {fallback}"));
            return;
        }
        self.edited += 1;
        let source = Arc::new(Source::new("", edited.text.as_str()));
        let documents = read(&source, &Limits::default()).unwrap_or_default();
        let mut again = documents.iter().filter(|document| document.value().is_some());
        let (Some(again), None) = (again.next(), again.next()) else {
            return self.faults.push(format!("{name}: not one document\n{}", edited.text));
        };
        let said = again.value();
        let is_at_rest = !engine.mutate(&first.after, None, &EmptyWorld).is_changed();
        let changes = said.is_none_or(|said| engine.mutate(said, None, &EmptyWorld).is_changed());
        self.at_rest += usize::from(is_at_rest);
        if said != Some(&first.after)
            || is_at_rest == changes
            || again.edited(&first.after).text != again.text()
        {
            self.faults.push(format!("{name}: at rest: {is_at_rest}, changes: {changes}\n{}", edited.text));
        }
        let lost = lost_comments(document, again, &(0..0));
        if !lost.is_empty() {
            self.faults.push(format!("{name}: {lost:?} is lost\n{}", edited.text));
        }
    }

    fn finish(self, what: &str) {
        let Self { edited, at_rest, printed, faults } = self;
        let canonical = printed.len();
        writeln!(
            std::io::stderr(),
            "{what}: {edited} edited, {at_rest} at rest, {canonical} printed canonically"
        )
        .ok();
        assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
        assert!(at_rest > 0 && printed.is_empty(), "{}", printed.join("\n"));
    }
}

#[test]
fn a_second_run_on_documents_of_people_changes_nothing() {
    let Some(root) = std::env::var_os("KYV_CONFORMANCE") else {
        writeln!(std::io::stderr(), "left out: KYV_CONFORMANCE names no folder of policies and suites").ok();
        return;
    };
    let mut files = Vec::new();
    yaml_files(Path::new(&root), &mut files);
    let texts: Vec<(String, String)> = files
        .iter()
        .filter_map(|path| Some((path.display().to_string(), fs::read_to_string(path).ok()?)))
        .collect();
    let policies: Vec<Policy> = texts.iter().flat_map(|(_, text)| compiled(text)).collect();
    let engine = |some: &[Policy]| Engine::new(PolicySet::new(some.to_vec()), Settings::default());
    let engines: Vec<Engine> = policies.chunks(20).map(engine).collect();
    assert!(engines.len() > 1, "{} policies", policies.len());
    let mut dice = Dice(11);
    let mut runs = Runs::default();
    for (name, text) in &texts {
        let Ok(documents) = read(&Arc::new(Source::new(name.as_str(), text.as_str())), &Limits::default())
        else {
            continue;
        };
        for document in &documents {
            for _ in 0..4 {
                runs.run(name, &engines[dice.roll(engines.len())], document);
            }
        }
    }
    runs.finish("documents of people");
}

const POLICIES: &str = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: labels}
spec:
  rules:
  - name: labels
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate:
      patchStrategicMerge:
        metadata: {labels: {+(team): shop, "a/b": "yes", tier: "back: end"}, annotations: {note: "one\ntwo\n"}}
        other: {+(list): [{name: a, value: 1}]}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: patches}
spec:
  rules:
  - name: replace
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate:
      patchesJson6902: |-
        - {op: replace, path: /metadata/name, value: other}
        - {op: add, path: /data, value: {x: "1", z: "a: b"}}
        - {op: add, path: /immutable, value: true}
"#;

#[test]
fn a_second_run_on_generated_documents_changes_nothing() {
    let engine = Engine::new(PolicySet::new(compiled(POLICIES)), Settings::default());
    let mut runs = Runs::default();
    for seed in 0..1000 {
        let mut maker =
            Maker { dice: Dice(seed), next: 0, aliases: BTreeMap::new(), merges: BTreeMap::new() };
        maker.dice.roll(2);
        let tree = maker.root();
        let body = written(&mut maker, &tree, seed).out;
        let head = [
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x # name\n",
            "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x, labels: {app: y}}\n",
            "# head\nmetadata:\n    # labels\n    labels:\n        # app\n        app: x\n    name: x\nkind: ConfigMap\napiVersion: v1\n",
        ][maker.dice.roll(3)];
        let mut text = if maker.dice.one_in(2) { format!("{head}{body}") } else { format!("{body}{head}") };
        if maker.dice.one_in(4) {
            text = text.replace('\n', "\r\n");
        }
        let documents = read(&Arc::new(Source::new("", text.as_str())), &Limits::default());
        let documents = documents.unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]));
        documents.iter().for_each(|document| runs.run(&format!("seed {seed}"), &engine, document));
    }
    runs.finish("generated documents");
}
