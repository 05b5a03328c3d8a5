//! Editing a document: its old text with the changed nodes replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::value::{Map, Text, Value};
use crate::yaml::document::DocumentRanges;
use crate::yaml::event::{Chomping, Style};
use crate::yaml::keys::Keys;
use crate::yaml::parse_value;
use crate::yaml::scalar::Resolved;

use super::Fallback;
use super::formatting::{Formatting, StyleCounts};
use super::layout::KEY;
use super::matching::{Origin, origins};
use super::order::{Member, placed};
use super::outline::{Child, Node, Outline, is_bracketed};
use super::whitespace::{CommentsBelow, empty_lines, line_start, skip};
use super::writer::{Context, FlowLayout, is_nested};

/// The maximum number of merge keys of a mapping.
const MAX_MERGES: usize = 16;

/// Writes a document with another value.
pub(super) struct Editor<'a> {
    pub(super) text: &'a str,
    /// The end of the document.
    pub(super) limit: usize,
    whole: Range<usize>,
    /// Whether both `\n` and `\r\n` occur.
    pub(super) mixed: bool,
    pub(super) outline: Outline<'a>,
    pub(super) json: bool,
    /// The text after a colon in flow style.
    pub(super) blank: &'static str,
    pub(super) formatting: Formatting,
    pub(super) out: String,
    /// The chomping of the block scalar at the end of the output.
    pub(super) breaks: Chomping,
    /// The values of the anchors written so far.
    pub(super) anchors: BTreeMap<&'a str, Value>,
    pub(super) expanded: usize,
    /// The number of open brackets.
    pub(super) depth: usize,
    /// The comments below entries, by the end of the entry's last line.
    pub(super) below: BTreeMap<usize, CommentsBelow>,
    pub(super) path: Vec<Option<Text>>,
}

/// An entry of the new list or mapping.
pub(super) struct PlannedEntry<'v> {
    /// The index of the old entry, and whether it keeps its place.
    pub(super) origin: Option<(usize, bool)>,
    pub(super) key: Option<&'v Text>,
    /// The old value; `None` for a new entry or a merge key.
    pub(super) before: Option<&'v Value>,
    pub(super) after: &'v Value,
}

impl<'a> Editor<'a> {
    pub(super) fn new(text: &'a str, ranges: &DocumentRanges, json: bool, outline: Outline<'a>) -> Self {
        let own = &text[ranges.text.clone()];
        let crlf = own.find('\n').is_some_and(|at| own[..at].ends_with('\r'));
        let mixed = if crlf { own.replace("\r\n", "").contains('\n') } else { own.contains("\r\n") };
        Self {
            text,
            limit: ranges.body.end,
            whole: ranges.text.clone(),
            mixed,
            outline,
            json,
            blank: if json && is_tight(text, &outline) { "" } else { " " },
            formatting: StyleCounts::of(text, &outline).formatting(if crlf { "\r\n" } else { "\n" }),
            out: String::with_capacity(ranges.text.len() + 256),
            breaks: Chomping::Strip,
            anchors: BTreeMap::new(),
            expanded: 0,
            depth: 0,
            below: BTreeMap::new(),
            path: Vec::new(),
        }
    }

    /// Writes the whole document.
    pub(super) fn root(&mut self, before: &Value, after: &Value) -> Result<(), Fallback> {
        let root = &self.outline.root()?;
        if !is_nested(before) || !is_nested(after) || root.list != matches!(after, Value::Array(_)) {
            return Err(Fallback::Root);
        }
        let end = if root.style == Style::BlockCollection {
            let line = line_start(self.text, root.content);
            let blank = self.text[line..root.content].trim_matches(' ').is_empty();
            // Comments above the first entry belong to the document.
            let body = if blank { line.max(self.whole.start) } else { root.content };
            self.copy(self.whole.start..body);
            self.lines(root, before, after, body)?
        } else if is_bracketed(self.text, root) {
            self.copy(self.whole.start..root.content);
            self.brackets(root, before, after)?
        } else {
            return Err(Fallback::Layout);
        };
        self.copy_below(end..self.whole.end);
        // No final line break is added, unless it belongs to a block scalar.
        if !self.text[self.whole.clone()].ends_with('\n') && self.breaks == Chomping::Strip {
            self.out.truncate(self.out.trim_end_matches('\n').trim_end_matches('\r').len());
        }
        Ok(())
    }

    pub(super) fn finish(self) -> (String, usize) {
        (self.out, self.expanded)
    }

    /// Copies a part of the old text.
    pub(super) fn copy(&mut self, piece: Range<usize>) {
        if piece.start < piece.end {
            self.out.push_str(&self.text[piece]);
            self.breaks = Chomping::Strip;
        }
    }

    /// Copies the text below an entry, without empty lines that would belong to the block scalar at its end.
    pub(super) fn copy_below(&mut self, piece: Range<usize>) {
        let empty = if self.breaks == Chomping::Keep { empty_lines(&self.text[piece.clone()]) } else { 0 };
        self.copy(piece.start + empty..piece.end);
    }

    /// Writes an empty line, unless it would belong to the block scalar above.
    pub(super) fn empty_line(&mut self, newline: &str) {
        if self.breaks != Chomping::Keep {
            self.out.push_str(newline);
        }
    }

    /// Starts a line, unless one has just started.
    pub(super) fn begin_line(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with(['\n', '\u{feff}']) {
            self.out.push_str(self.formatting.newline);
        }
    }

    /// The name of the anchor of a node, or of an alias.
    pub(super) fn anchor_name(&self, node: &Node) -> Option<&'a str> {
        let indicator = if node.style == Style::Alias { '*' } else { '&' };
        let end = if node.style == Style::Alias { node.end } else { node.content };
        let text = self.text.get(node.start..end)?;
        let name = text.split(['\n', '\r', ' ', '\t']).find_map(|word| word.strip_prefix(indicator))?;
        Some(name).filter(|name| !name.is_empty())
    }

    /// Records the value of the anchor of a node.
    pub(super) fn record_anchor(&mut self, node: &Node, value: &Value) {
        if node.anchored
            && let Some(name) = self.anchor_name(node)
        {
            self.anchors.insert(name, value.clone());
        }
    }

    /// Records the value of the anchor of a key.
    pub(super) fn record_key_anchor(&mut self, child: &Child) {
        if let Some(key) = child.key.filter(|key| key.anchored)
            && let Some(name) = self.anchor_name(&key)
            && let Some(value) = self.text.get(key.start..key.end).and_then(|text| parse_value(text).ok())
        {
            self.anchors.insert(name, value);
        }
    }

    /// Whether an alias has this value now.
    pub(super) fn is_alias_of(&self, node: &Node, value: &Value) -> bool {
        self.anchor_name(node).and_then(|name| self.anchors.get(name)) == Some(value)
    }

    /// Whether the children of a node can be edited: old and new value are of the same type and not empty.
    pub(super) fn is_editable(node: &Node, before: &Value, after: &Value) -> bool {
        is_nested(before) && is_nested(after) && node.list == matches!(after, Value::Array(_))
    }

    /// The entries of the new list or mapping.
    pub(super) fn planned<'v>(
        &self,
        at: &Node,
        entries: &[impl AsRef<Child>],
        before: &'v Value,
        after: &'v Value,
    ) -> Result<Vec<PlannedEntry<'v>>, Fallback> {
        match (before, after) {
            (Value::Array(old), Value::Array(new)) if at.list && entries.len() == old.len() => {
                let planned = origins(old, new).into_iter().zip(new.iter()).map(|(origin, after)| {
                    let origin = match origin {
                        Origin::Stays(index) => Some((index, true)),
                        Origin::Moved(index) => Some((index, false)),
                        Origin::New => None,
                    };
                    let before = origin.map(|(index, _)| &old[index]);
                    PlannedEntry { origin, key: None, before, after }
                });
                Ok(planned.collect())
            }
            (Value::Object(old), Value::Object(new)) if !at.list => self.members(entries, old, new),
            _ => Err(Fallback::Layout),
        }
    }

    fn members<'v>(
        &self,
        entries: &[impl AsRef<Child>],
        old: &'v Map,
        new: &'v Map,
    ) -> Result<Vec<PlannedEntry<'v>>, Fallback> {
        let is_plain = |entry: &Child| entry.key.is_some_and(|key| !key.merge);
        let keeps = |((was, _), (is, _)): ((&Text, _), (&Text, _))| was == is;
        if entries.len() == old.len()
            && old.len() <= new.len()
            && entries.iter().map(AsRef::as_ref).all(is_plain)
            && old.iter().zip(new).all(keeps)
        {
            return self.appended(old, new);
        }
        let keys: Vec<&Node> = entries.iter().filter_map(|entry| entry.as_ref().key.as_ref()).collect();
        let merges = keys.iter().any(|key| key.merge);
        if keys.len() != entries.len() || (!merges && keys.len() != old.len()) {
            return Err(Fallback::Layout);
        }
        // Without merge keys, the members are in the order of the text.
        let names: Vec<Option<Text>> = if merges {
            keys.iter().map(|key| if key.merge { None } else { self.name(key) }).collect()
        } else {
            old.keys().cloned().map(Some).collect()
        };
        let (brought, keep) =
            if merges { self.merged(entries, &names, new)? } else { (Map::default(), false) };
        let written: BTreeSet<&Text> =
            if merges { names.iter().flatten().collect() } else { BTreeSet::new() };
        let explicit = |name: &Text| if merges { written.contains(name) } else { old.contains_key(name) };
        let fresh: Vec<(&Text, &Value)> = new
            .iter()
            .filter(|(name, value)| !(explicit(name) || keep && brought.get(name) == Some(value)))
            .collect();
        let kept: Vec<usize> = (0..keys.len())
            .filter(|index| match &names[*index] {
                _ if keys[*index].merge => keep,
                Some(name) => new.contains_key(name),
                None => false,
            })
            .collect();
        let order = if merges {
            // Merged members can be overridden only after the merge key.
            let old = (0..kept.len()).map(Member::Old);
            old.chain((0..fresh.len()).map(Member::New)).collect()
        } else {
            let names: Vec<Option<&str>> = kept.iter().map(|index| names[*index].as_deref()).collect();
            let fresh: Vec<&str> = fresh.iter().map(|(name, _)| &***name).collect();
            placed(&self.path, &names, &fresh)
        };
        let piece = |member: &Member| {
            Some(match member {
                Member::Old(index) => {
                    let origin = Some((kept[*index], true));
                    match &names[kept[*index]] {
                        Some(name) => {
                            let (name, before) = old.get_key_value(name)?;
                            PlannedEntry {
                                origin,
                                key: Some(name),
                                before: Some(before),
                                after: new.get(name)?,
                            }
                        }
                        None => PlannedEntry { origin, key: None, before: None, after: &Value::Null },
                    }
                }
                Member::New(index) => {
                    let (key, after) = fresh[*index];
                    PlannedEntry { origin: None, key: Some(key), before: None, after }
                }
            })
        };
        order.iter().map(|member| piece(member).ok_or(Fallback::Layout)).collect()
    }

    /// The members of a mapping to which some are appended and none removed.
    fn appended<'v>(&self, old: &'v Map, new: &'v Map) -> Result<Vec<PlannedEntry<'v>>, Fallback> {
        let count = old.len();
        let order = if new.len() == count {
            (0..count).map(Member::Old).collect()
        } else {
            let names: Vec<Option<&str>> = old.keys().map(|name| Some(&**name)).collect();
            let fresh: Vec<&str> = new.keys().skip(count).map(|name| &**name).collect();
            placed(&self.path, &names, &fresh)
        };
        let piece = |member: Member| {
            let (origin, index) = match member {
                Member::Old(index) => (Some((index, true)), index),
                Member::New(index) => (None, count + index),
            };
            let (key, after) = new.get_index(index)?;
            let before = origin.and_then(|(index, _)| Some(old.get_index(index)?.1));
            Some(PlannedEntry { origin, key: Some(key), before, after })
        };
        order.into_iter().map(|member| piece(member).ok_or(Fallback::Layout)).collect()
    }

    /// The members of the merge keys of a mapping, and whether the merge keys can stay.
    fn merged(
        &self,
        entries: &[impl AsRef<Child>],
        names: &[Option<Text>],
        new: &Map,
    ) -> Result<(Map, bool), Fallback> {
        let merges = |entry: &Child| entry.key.is_some_and(|key| key.merge);
        let entries = || entries.iter().map(AsRef::as_ref);
        if entries().filter(|entry| merges(entry)).count() > MAX_MERGES {
            return Err(Fallback::Merge);
        }
        let mut brought = Map::default();
        let mut keep = true;
        for (index, entry) in entries().enumerate().filter(|(_, entry)| merges(entry)) {
            let value = entry.node;
            let maps: Vec<Node> = match value.style {
                Style::Alias => vec![value],
                _ if value.list => self.outline.children(&value)?.iter().map(|child| child.node).collect(),
                _ => return Err(Fallback::Merge),
            };
            for map in maps.into_iter().rev() {
                let known = self.anchor_name(&map).filter(|_| map.style == Style::Alias);
                match known.and_then(|name| self.anchors.get(name)).and_then(Value::as_object) {
                    Some(map) => {
                        brought.extend(map.iter().map(|(name, value)| (name.clone(), value.clone())));
                    }
                    // The anchor was removed.
                    None => keep = false,
                }
            }
            // A merge key overrides the members before it.
            let mut above = names[..index].iter().flatten();
            if above.any(|name| brought.get(name).is_some_and(|value| new.get(name) != Some(value))) {
                return Err(Fallback::Merge);
            }
        }
        keep &= brought.keys().all(|name| new.contains_key(name));
        Ok((brought, keep))
    }

    /// The name of a key.
    fn name(&self, key: &Node) -> Option<Text> {
        let text = self.text.get(key.start..key.end).filter(|_| key.style != Style::Alias)?;
        let resolved = match parse_value(text).ok()? {
            Value::String(text) => return Some(text),
            Value::Bool(value) => Resolved::Bool(value),
            Value::Number(number) => Resolved::Number(number),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Keys::default().of(&resolved).ok()
    }

    /// The layout of new flow collections.
    pub(super) const fn one_line(&self) -> FlowLayout {
        let context = if self.json { Context::Json } else { Context::Flow };
        FlowLayout { context, lines: None, blank: self.blank }
    }
}

/// Whether the first member has no blank after its colon.
fn is_tight(text: &str, outline: &Outline<'_>) -> bool {
    let (steps, base) = outline.steps();
    let member = steps.windows(2).find(|pair| pair[0].has(KEY));
    member.is_some_and(|pair| skip(text, base + pair[0].end()) + 1 == base + pair[1].start())
}
