//! Random documents: trees to change, written as text in many styles.

use std::collections::{BTreeMap, BTreeSet};

use kyv::value::Value;

/// A node of a generated document; its number stays with it through all changes.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    id: usize,
    content: Content,
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Scalar(Value),
    List(Vec<Tree>),
    Mapping(Vec<(String, Tree)>),
}

/// Numbers at random, from a seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    pub(crate) fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }
}

pub(crate) struct Generator {
    pub(crate) dice: Dice,
    next: usize,
    /// Nodes that are written as aliases, and what they stand for.
    aliases: BTreeMap<usize, usize>,
    /// Mappings that merge another one: which one, and how many of its members come first.
    merges: BTreeMap<usize, (usize, usize)>,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { dice: Dice(seed), next: 0, aliases: BTreeMap::new(), merges: BTreeMap::new() }
    }

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

    pub(crate) fn root(&mut self) -> Tree {
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
    pub(crate) fn change(&mut self, tree: &mut Tree, member: bool) {
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
    pub(crate) fn value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(items) => Value::array(items.iter().map(Self::value).collect()),
            Content::Mapping(members) => {
                members.iter().map(|(key, tree)| (key.as_str(), tree.value())).collect()
            }
        }
    }

    /// All nodes by number, with what they say, and the lists around them whose elements have no names.
    pub(crate) fn nodes(&self, lists: &mut Vec<usize>, found: &mut BTreeMap<usize, (Value, Vec<usize>)>) {
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
pub(crate) struct Writer {
    dice: Dice,
    step: usize,
    list_step: usize,
    dash: usize,
    pub(crate) out: String,
    /// The comments, and whose they are.
    pub(crate) comments: BTreeSet<(usize, String)>,
    aliases: BTreeMap<usize, usize>,
    merges: BTreeMap<usize, (usize, usize)>,
    /// The nodes in brackets of several lines.
    pub(crate) in_brackets: BTreeSet<usize>,
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
            let merge = format!("<<: *a{target}");
            self.out.push_str(&merge);
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
            let anchor = format!("&a{}", tree.id);
            self.out.push_str(&anchor);
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

/// Writes a tree in some layout.
pub(crate) fn write_document(generator: &mut Generator, tree: &Tree, seed: u64) -> Writer {
    let step = 1 + generator.dice.roll(4);
    let mut writer = Writer {
        step,
        list_step: generator.dice.roll(step + 1),
        dash: 2 + generator.dice.roll(2),
        out: String::new(),
        comments: BTreeSet::new(),
        aliases: generator.aliases.clone(),
        merges: generator.merges.clone(),
        in_brackets: BTreeSet::new(),
        keeps: false,
        dice: Dice(seed ^ 0x5555),
    };
    writer.entries(tree, 0, false);
    writer
}
