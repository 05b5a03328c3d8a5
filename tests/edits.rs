//! Edited documents: what did not change stays byte for byte, over documents and changes made at random.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use kyv::value::Value;
use kyv::yaml::{Document, Limits, Source, read};
use proptest::prelude::*;

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
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }
}

struct Maker {
    dice: Dice,
    next: usize,
}

impl Maker {
    fn id(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    fn scalar(&mut self) -> Value {
        let id = self.next;
        match self.dice.roll(9) {
            0 => Value::from(i64::try_from(id).unwrap()),
            1 => Value::from(format!("first {id}\n  second\nthird\n")),
            2 => Value::from(format!("one {id}\ntwo")),
            3 => Value::from(format!("true: {id}")),
            4 => Value::from(format!("{id}")),
            5 => Value::from(format!("it's #{id} \"so\"")),
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
        let members = (0..2 + self.dice.roll(4)).map(|_| self.tree(4));
        let content = Content::Mapping(members.map(|tree| (format!("k{}", tree.id), tree)).collect());
        Tree { id: 0, content }
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
        if self.dice.one_in(6) {
            self.out.push('\n');
        }
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
        for (key, tree) in entries {
            if !std::mem::take(&mut joins) {
                self.above(tree.id, column);
                self.pad(column);
            }
            match key {
                Some(key) => self.out.push_str(&match self.dice.roll(8) {
                    0 => format!("\"{key}\":"),
                    _ => format!("{key}:"),
                }),
                None => self.out.push('-'),
            }
            self.node(tree, column, key.is_none());
        }
    }

    fn node(&mut self, tree: &Tree, column: usize, element: bool) {
        let gap = if element { self.dash - 1 } else { 1 };
        let nested = match &tree.content {
            Content::Scalar(_) => false,
            Content::List(items) => !items.is_empty(),
            Content::Mapping(members) => !members.is_empty(),
        };
        if nested && !self.dice.one_in(6) {
            let inner = match (&tree.content, element) {
                (_, true) => self.dash,
                (Content::List(_), _) => self.list_step,
                _ => self.step,
            };
            let joins = element && !self.dice.one_in(5);
            if joins {
                self.pad(gap);
            } else {
                if self.dice.one_in(4) {
                    let comment = self.comment(tree.id);
                    write!(self.out, " {comment}").unwrap();
                }
                self.out.push('\n');
            }
            self.entries(tree, column + inner, joins);
            return;
        }
        if let Content::Scalar(Value::String(text)) = &tree.content
            && text.contains('\n')
            && !self.dice.one_in(4)
        {
            self.pad(gap);
            self.out.push_str(if text.ends_with('\n') { "|" } else { "|-" });
            self.trailing(tree.id);
            for line in text.trim_end_matches('\n').split('\n') {
                self.pad(column + self.step);
                self.out.push_str(line);
                self.out.push('\n');
            }
            return;
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

    fn trailing(&mut self, id: usize) {
        if self.dice.one_in(5) {
            let comment = self.comment(id);
            write!(self.out, " {comment}").unwrap();
        }
        self.out.push('\n');
    }
}

fn document(text: &str) -> Result<Document, TestCaseError> {
    let source = Arc::new(Source::new("t", text));
    let documents = read(&source, &Limits::default())
        .map_err(|errors| TestCaseError::fail(format!("{}\n{text}", errors[0])))?;
    prop_assert_eq!(documents.len(), 1, "{}", text);
    Ok(documents.into_iter().next().unwrap())
}

/// The lines of a text, each without indentation and dashes.
fn lines(text: &str) -> BTreeSet<&str> {
    text.lines().map(|line| line.trim_start_matches([' ', '-'])).collect()
}

fn check(seed: u64) -> Result<(), TestCaseError> {
    let mut maker = Maker { dice: Dice(seed), next: 0 };
    maker.dice.roll(2);
    let before = maker.root();
    let step = 1 + maker.dice.roll(4);
    let mut writer = Writer {
        step,
        list_step: maker.dice.roll(step + 1),
        dash: 2 + maker.dice.roll(2),
        out: String::new(),
        comments: BTreeSet::new(),
        dice: Dice(seed ^ 0x5555),
    };
    writer.entries(&before, 0, false);
    let mut text = writer.out;
    if maker.dice.one_in(8) {
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
        edited.text,
        after.value().to_json()
    );
    prop_assert_eq!(edited.fallback, None, "{}", shown);
    let again = document(&edited.text)?;
    prop_assert_eq!(again.value(), Some(&after.value()), "{}", shown);
    prop_assert_eq!(&again.edited(&after.value()).text, &edited.text, "{}", shown);
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
        if same && is_clear(&id) && !line.contains(['{', '[']) {
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
