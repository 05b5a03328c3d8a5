//! How the nodes of a document are written, and where.

use std::ops::Range;

use crate::value::{Text, Value};
use crate::yaml::event::{Form, Kind, Look, Scalar, Sink, Stop};
use crate::yaml::keys::Keys;

use super::gap::{line_start, skip};
use super::habit::Votes;

/// An offset that does not exist.
pub(super) const NOWHERE: usize = usize::MAX;

/// The nodes of a document in the order of the text, keys and values in turn.
#[derive(Debug)]
pub(super) struct Outline {
    pub(super) nodes: Vec<Node>,
    pub(super) votes: Votes,
}

/// How a node is written.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) form: Form,
    /// Whether it is a list.
    pub(super) list: bool,
    /// Where its entry starts: the dash of an element, the first sign of a key; of the value of a member
    /// the colon, [`NOWHERE`] if there is none.
    pub(super) lead: usize,
    /// Where it starts, its anchor and tag included.
    pub(super) start: usize,
    /// Where it starts without them.
    pub(super) content: usize,
    /// Where it ends, without the line break of its last line.
    pub(super) end: usize,
    /// The node behind it and everything in it.
    pub(super) next: usize,
    /// The name, of a key.
    pub(super) name: Option<Text>,
    /// Whether it is the key that merges.
    pub(super) merge: bool,
    pub(super) anchored: bool,
    pub(super) tagged: bool,
    /// Whether an anchor or alias is in it.
    pub(super) shared: bool,
    /// The column of the entries of a list or mapping of lines; [`NOWHERE`] if blanks do not tell it.
    pub(super) column: usize,
}

impl Outline {
    /// The nodes right below one.
    pub(super) fn children(&self, at: usize) -> impl Iterator<Item = usize> {
        let end = self.nodes[at].next;
        let first = Some(at + 1).filter(|first| *first < end);
        std::iter::successors(first, move |child| Some(self.nodes[*child].next).filter(|next| *next < end))
    }
}

/// What comes next in an open list or mapping.
#[derive(Clone, Copy, PartialEq)]
enum Turn {
    Element,
    Key,
    Value,
}

/// Notes how nodes are written.
pub(super) struct Recorder<'t, 'k> {
    text: &'t str,
    keys: &'k mut Keys,
    start: usize,
    json: bool,
    nodes: Vec<Node>,
    open: Vec<(usize, Turn)>,
    cursor: usize,
    look: Option<Look>,
    votes: Votes,
    /// Whether the text is other than the events say.
    broken: bool,
}

impl<'t, 'k> Recorder<'t, 'k> {
    /// Reads what starts at an offset of a text.
    pub(super) fn new(text: &'t str, start: usize, json: bool, keys: &'k mut Keys) -> Self {
        let cursor = if json { start } else { prologue(text, start) };
        Self {
            text,
            keys,
            start,
            json,
            nodes: Vec::new(),
            open: Vec::new(),
            cursor,
            look: None,
            votes: Votes::default(),
            broken: false,
        }
    }

    /// The outline, if the text is what it was taken for.
    pub(super) fn finish(self) -> Option<Outline> {
        (!self.broken && self.open.is_empty() && !self.nodes.is_empty())
            .then_some(Outline { nodes: self.nodes, votes: self.votes })
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.cursor).copied()
    }

    fn expect(&mut self, right: bool) {
        self.broken |= !right;
    }

    fn skip(&mut self) {
        self.cursor = skip(self.text, self.cursor);
    }

    /// Skips a separator in brackets.
    fn skip_comma(&mut self) {
        self.skip();
        if self.byte() == Some(b',') {
            self.cursor += 1;
            self.skip();
        }
    }

    /// Goes to the content of the next node.
    fn enter(&mut self, list: bool, anchor: usize, fallback: Form) -> usize {
        let look = self.look.take().unwrap_or(Look { form: fallback, tagged: false });
        let parent = self.open.last().map(|(node, turn)| (*node, *turn));
        let mut lead = NOWHERE;
        let mut is_key = false;
        if let Some((node, turn)) = parent {
            let lines = self.nodes[node].form == Form::Lines;
            match turn {
                Turn::Element if lines => {
                    self.skip();
                    lead = self.cursor;
                    self.expect(self.byte() == Some(b'-'));
                    self.cursor += 1;
                }
                Turn::Element => {
                    self.skip_comma();
                    lead = self.cursor;
                }
                Turn::Key => {
                    if lines {
                        self.skip();
                    } else {
                        self.skip_comma();
                    }
                    lead = self.cursor;
                    is_key = true;
                    let rest = &self.text.as_bytes()[self.cursor.min(self.text.len())..];
                    let blank = rest.get(1).is_none_or(|byte| b" \t\r\n".contains(byte));
                    if rest.first() == Some(&b'?') && blank {
                        self.cursor += 1;
                    }
                }
                Turn::Value => {
                    let before = self.cursor;
                    self.skip();
                    if self.byte() == Some(b':') {
                        lead = self.cursor;
                        self.cursor += 1;
                    } else {
                        self.cursor = before;
                    }
                }
            }
            let turn = match turn {
                Turn::Element => Turn::Element,
                Turn::Key => Turn::Value,
                Turn::Value => Turn::Key,
            };
            if let Some(open) = self.open.last_mut() {
                open.1 = turn;
            }
        }
        let properties = usize::from(anchor > 0) + usize::from(look.tagged);
        if look.form != Form::Absent || properties > 0 {
            self.skip();
        }
        let start = self.cursor;
        let mut end = start;
        for index in 0..properties {
            self.expect(matches!(self.byte(), Some(b'&' | b'!')));
            self.cursor = property_end(self.text, self.cursor);
            end = self.cursor;
            if look.form != Form::Absent || index + 1 < properties {
                self.skip();
            }
        }
        let content = self.cursor;
        if look.form == Form::Absent {
            self.cursor = end;
        }
        let column = if look.form == Form::Lines { column(self.text, content) } else { NOWHERE };
        let index = self.nodes.len();
        self.nodes.push(Node {
            form: look.form,
            list,
            lead,
            start,
            content,
            end: self.cursor,
            next: index + 1,
            name: None,
            merge: false,
            anchored: anchor > 0,
            tagged: look.tagged,
            shared: anchor > 0 || look.form == Form::Alias,
            column,
        });
        if look.form == Form::Lines
            && let Some((parent, _)) = parent
        {
            let holder = &self.nodes[parent];
            if holder.form == Form::Lines && column != NOWHERE && holder.column != NOWHERE && !is_key {
                self.votes.nested(
                    holder.list,
                    list,
                    holder.column,
                    column,
                    line_start(self.text, content) > lead,
                );
            }
        }
        index
    }

    /// Ends a scalar.
    fn leaf(&mut self, index: usize, at: &Range<usize>) {
        let node = &self.nodes[index];
        let (form, content) = (node.form, node.content);
        match form {
            Form::Absent => return,
            Form::Block => {
                self.expect(matches!(self.byte(), Some(b'|' | b'>')));
                self.cursor = block_end(self.text, content, at.end);
            }
            Form::Plain | Form::Single | Form::Double | Form::Flow | Form::Lines | Form::Alias => {
                self.expect(at.start == content);
                self.cursor = at.end;
            }
        }
        self.nodes[index].end = self.cursor;
        self.share(index);
    }

    /// Tells the node that holds this one of an anchor or alias.
    fn share(&mut self, index: usize) {
        if self.nodes[index].shared
            && let Some((parent, _)) = self.open.last()
        {
            self.nodes[*parent].shared = true;
        }
    }

    fn is_key(&self) -> bool {
        matches!(self.open.last(), Some((_, Turn::Key)))
    }
}

impl Sink for Recorder<'_, '_> {
    fn scalar(&mut self, scalar: Scalar<'_>, anchor: usize, at: Range<usize>) -> Result<(), Stop> {
        let key = self.is_key();
        let fallback = if self.json { Form::Double } else { Form::Plain };
        let index = self.enter(false, anchor, fallback);
        if key {
            self.nodes[index].merge = scalar.is_merge();
            self.nodes[index].name = scalar.resolve().ok().and_then(|text| self.keys.of(&text).ok());
        } else {
            self.votes.scalar(self.nodes[index].form, &scalar.text);
        }
        self.leaf(index, &at);
        Ok(())
    }

    fn literal(&mut self, _: Value, at: Range<usize>) -> Result<(), Stop> {
        let index = self.enter(false, 0, Form::Plain);
        self.leaf(index, &at);
        Ok(())
    }

    fn alias(&mut self, _: usize, at: Range<usize>) -> Result<(), Stop> {
        self.look = Some(Look { form: Form::Alias, tagged: false });
        let index = self.enter(false, 0, Form::Alias);
        self.leaf(index, &at);
        Ok(())
    }

    fn open(&mut self, kind: Kind, anchor: usize, offset: usize) -> Result<(), Stop> {
        let index = self.enter(kind == Kind::List, anchor, Form::Flow);
        if self.nodes[index].form == Form::Flow {
            self.expect(self.nodes[index].content == offset);
            let bracket = matches!(self.byte(), Some(b'[' | b'{'));
            // A pair in a list has no brackets of its own.
            if bracket {
                self.cursor += 1;
            }
        }
        self.open.push((index, if kind == Kind::List { Turn::Element } else { Turn::Key }));
        Ok(())
    }

    fn close(&mut self, offset: usize) -> Result<(), Stop> {
        if let Some((index, _)) = self.open.pop() {
            if is_bracketed(self.text, &self.nodes[index]) {
                self.cursor = offset;
            }
            self.nodes[index].end = self.cursor;
            self.nodes[index].next = self.nodes.len();
            self.share(index);
        }
        Ok(())
    }

    fn restart(&mut self) {
        self.nodes.clear();
        self.open.clear();
        self.votes = Votes::default();
        self.look = None;
        self.broken = false;
        self.cursor = prologue(self.text, self.start);
    }

    fn look(&mut self, look: Look) {
        self.look = Some(look);
    }
}

/// Whether a list or mapping stands in brackets of its own.
pub(super) fn is_bracketed(text: &str, node: &Node) -> bool {
    let bracket = if node.list { b'[' } else { b'{' };
    node.form == Form::Flow && text.as_bytes().get(node.content) == Some(&bracket)
}

/// Where the document itself starts: behind its directives and the separator.
fn prologue(text: &str, start: usize) -> usize {
    let mut at = skip(text, start);
    while text[at..].starts_with('%') {
        let end = text[at..].find(['\n', '\r']).map_or(text.len(), |length| at + length);
        at = skip(text, end);
    }
    if text[at..].starts_with("---") && text[at + 3..].starts_with([' ', '\t', '\r', '\n']) {
        return skip(text, at + 3);
    }
    at
}

/// The end of an anchor or a tag.
fn property_end(text: &str, at: usize) -> usize {
    let rest = &text[at.min(text.len())..];
    let end = if rest.starts_with("!<") {
        rest.find('>').map(|end| end + 1)
    } else {
        rest.find([' ', '\t', '\r', '\n', ',', '[', ']', '{', '}'])
    };
    end.map_or(text.len(), |end| at + end)
}

/// The end of a block scalar, without what stands below it: comments, and empty lines unless they count.
fn block_end(text: &str, header: usize, end: usize) -> usize {
    let end = end.min(text.len());
    let header_end = text[header..].find(['\n', '\r']).map_or(text.len(), |length| header + length);
    if end <= header_end {
        return header_end;
    }
    let marks = text[header..header_end].split(" #").next().unwrap_or_default();
    let keeps = marks.contains('+');
    let mut end = end;
    // What starts the line of a comment is no part of it.
    let last = line_start(text, end);
    if last > header_end && text[last..end].trim_matches([' ', '\t']).is_empty() && last < end {
        end = last;
    }
    let mut body = strip_break(text, header_end, end);
    if keeps {
        return body.max(header_end);
    }
    loop {
        let line = line_start(text, body);
        if line <= header_end || !text[line..body].trim_matches([' ', '\t']).is_empty() {
            break;
        }
        body = strip_break(text, header_end, line);
    }
    body.max(header_end)
}

/// The offset without one line break before it.
fn strip_break(text: &str, floor: usize, end: usize) -> usize {
    let part = &text[floor..end];
    let stripped = part.strip_suffix("\r\n").or_else(|| part.strip_suffix('\n')).unwrap_or(part);
    floor + stripped.len()
}

/// The column of an offset, if only blanks and the signs of entries stand before it on its line.
fn column(text: &str, at: usize) -> usize {
    let start = line_start(text, at);
    let lead = &text[start..at.min(text.len())];
    let lead = lead.trim_start_matches('\u{feff}');
    if lead.bytes().all(|byte| b" -?:".contains(&byte)) && !lead.starts_with("---") {
        lead.len()
    } else {
        NOWHERE
    }
}
