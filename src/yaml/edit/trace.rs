//! Where the nodes of a document stand, noted while it is read, so that an edit need not read it again.

use std::ops::Range;

use crate::value::Value;
use crate::yaml::event::{Form, Kind, Look, Scalar, Sink, Stop};

use super::gap::{line_start, skip};

/// An offset that does not exist.
pub(super) const NOWHERE: usize = usize::MAX;

/// The nodes of a document in the order of the text, keys and values in turn.
#[derive(Debug, Default)]
pub(in crate::yaml) struct Trace {
    pub(super) steps: Vec<Step>,
    /// Where the text starts that the offsets are counted from.
    pub(super) base: usize,
}

impl Trace {
    /// Where the root starts, if it is a list or a mapping.
    pub(in crate::yaml) fn root(&self) -> Option<usize> {
        let root = self.steps.first().filter(|root| matches!(root.form, Form::Lines | Form::Flow))?;
        Some(self.base + root.start())
    }
}

/// A node, in few bytes: every document that is read has them. Offsets count from the start of its text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    start: u32,
    end: u32,
    next: u32,
    pub(super) form: Form,
    marks: u8,
}

const LIST: u8 = 1;
const KEY: u8 = 1 << 1;
const MERGE: u8 = 1 << 2;
const ANCHORED: u8 = 1 << 3;
const TAGGED: u8 = 1 << 4;
const SHARED: u8 = 1 << 5;
const CLIPS: u8 = 1 << 6;
const KEEPS: u8 = 1 << 7;

impl Step {
    /// Where a scalar or a bracket starts, behind anchor and tag.
    pub(super) const fn start(self) -> usize {
        self.start as usize
    }

    /// Where the node ends, without the line break of its last line.
    pub(super) const fn end(self) -> usize {
        self.end as usize
    }

    /// The step behind this node and everything in it.
    pub(super) const fn next(self) -> usize {
        self.next as usize
    }

    pub(super) const fn is_list(self) -> bool {
        self.marks & LIST > 0
    }

    pub(super) const fn is_key(self) -> bool {
        self.marks & KEY > 0
    }

    /// Whether it is the key that merges.
    pub(super) const fn merges(self) -> bool {
        self.marks & MERGE > 0
    }

    pub(super) const fn is_anchored(self) -> bool {
        self.marks & ANCHORED > 0
    }

    pub(super) const fn is_tagged(self) -> bool {
        self.marks & TAGGED > 0
    }

    /// Whether an anchor or alias is in it.
    pub(super) const fn is_shared(self) -> bool {
        self.marks & SHARED > 0
    }

    /// What the line breaks at the end of a text count for.
    pub(super) const fn breaks(self) -> Breaks {
        match self.marks & (CLIPS | KEEPS) {
            0 => Breaks::Nothing,
            CLIPS => Breaks::First,
            _ => Breaks::All,
        }
    }
}

/// What the line breaks at the end of a text of several lines count for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Breaks {
    /// Nothing, or there is no such text.
    #[default]
    Nothing,
    /// The first one counts.
    First,
    /// All of them count, those of empty lines below, too.
    All,
}

impl Breaks {
    /// What the header of a text says, which stands at the start.
    pub(super) fn of(header: &str) -> Self {
        let Some(signs) = header.strip_prefix(['|', '>']) else { return Self::Nothing };
        let mut signs = signs.chars().take_while(|sign| matches!(sign, '+' | '-' | '0'..='9'));
        match signs.find(|sign| matches!(sign, '+' | '-')) {
            Some('+') => Self::All,
            Some(_) => Self::Nothing,
            None => Self::First,
        }
    }
}

/// What comes next in an open list or mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Element,
    Key,
    Value,
}

impl Turn {
    /// What comes first.
    pub(super) const fn first(list: bool) -> Self {
        if list { Self::Element } else { Self::Key }
    }

    pub(super) const fn next(self) -> Self {
        match self {
            Self::Element => Self::Element,
            Self::Key => Self::Value,
            Self::Value => Self::Key,
        }
    }
}

/// Passes events on, and notes where they stand.
#[derive(Debug)]
pub(in crate::yaml) struct Tracer<'t, 's, S> {
    sink: &'s mut S,
    text: &'t str,
    base: usize,
    json: bool,
    steps: Vec<Step>,
    open: Vec<(usize, Turn)>,
    /// Where the last node ended or the innermost one started.
    cursor: usize,
    look: Option<Look>,
    /// Whether an offset is too large to be noted.
    broken: bool,
}

impl<'t, 's, S: Sink> Tracer<'t, 's, S> {
    /// Notes what starts at an offset of a text.
    pub(in crate::yaml) fn new(sink: &'s mut S, text: &'t str, base: usize, json: bool) -> Self {
        Self {
            sink,
            text,
            base,
            json,
            steps: Vec::new(),
            open: Vec::new(),
            cursor: base,
            look: None,
            broken: false,
        }
    }

    /// What was noted; empty where that is impossible.
    pub(in crate::yaml) fn finish(mut self) -> Trace {
        if self.broken || !self.open.is_empty() {
            self.steps.clear();
        }
        Trace { steps: self.steps, base: self.base }
    }

    fn offset(&mut self, at: usize) -> u32 {
        u32::try_from(at - self.base).unwrap_or_else(|_| {
            self.broken = true;
            0
        })
    }

    /// What the node is that comes now.
    fn turn(&mut self) -> Option<Turn> {
        let (_, turn) = self.open.last_mut()?;
        Some(std::mem::replace(turn, turn.next()))
    }

    fn push(&mut self, at: Range<usize>, form: Form, marks: u8) {
        let (start, end) = (self.offset(at.start), self.offset(at.end));
        let next = u32::try_from(self.steps.len() + 1).unwrap_or_else(|_| {
            self.broken = true;
            0
        });
        self.steps.push(Step { start, end, next, form, marks });
    }

    fn leaf(&mut self, at: Range<usize>, fallback: Form, marks: u8) {
        let look = self.look.take().unwrap_or(Look { form: fallback, tagged: false });
        let turn = self.turn();
        let mut marks = marks | if look.tagged { TAGGED } else { 0 };
        if turn == Some(Turn::Key) {
            marks |= KEY;
        } else {
            marks &= !MERGE;
        }
        let at = match look.form {
            Form::Absent => {
                let properties = usize::from(marks & ANCHORED > 0) + usize::from(marks & TAGGED > 0);
                let end = self.behind_sign(turn, properties);
                end..end
            }
            Form::Block => {
                let properties = usize::from(marks & ANCHORED > 0) + usize::from(marks & TAGGED > 0);
                let header = skip(self.text, self.behind_sign(turn, properties));
                let breaks = Breaks::of(self.text.get(header..).unwrap_or_default());
                marks |= match breaks {
                    Breaks::Nothing => 0,
                    Breaks::First => CLIPS,
                    Breaks::All => KEEPS,
                };
                // Only then do empty lines below a text belong to it.
                at.start..block_end(self.text, at.end, breaks == Breaks::All)
            }
            Form::Plain | Form::Single | Form::Double | Form::Lines | Form::Flow | Form::Alias => at,
        };
        self.cursor = at.end;
        self.push(at, look.form, marks);
        self.share(marks);
    }

    /// Tells the node that holds this one of an anchor or alias.
    fn share(&mut self, marks: u8) {
        if marks & SHARED > 0
            && let Some((parent, _)) = self.open.last()
        {
            self.steps[*parent].marks |= SHARED;
        }
    }

    /// Where the sign that leads to the next node ends, and its anchor and tag: where it ends if it is not there.
    fn behind_sign(&self, turn: Option<Turn>, properties: usize) -> usize {
        let holder = self.open.last().map(|(holder, _)| self.steps[*holder].form == Form::Lines);
        let mut at = match (turn, holder) {
            (Some(turn), Some(lines)) => Sign::of(self.text, self.cursor, turn, lines).end,
            _ => prologue(self.text, self.base),
        };
        for _ in 0..properties {
            at = property_end(self.text, skip(self.text, at));
        }
        at
    }
}

impl<S: Sink> Sink for Tracer<'_, '_, S> {
    fn scalar(&mut self, scalar: Scalar<'_>, anchor: usize, at: Range<usize>) -> Result<(), Stop> {
        let fallback = if self.json { Form::Double } else { Form::Plain };
        let mut marks = if anchor > 0 { ANCHORED | SHARED } else { 0 };
        if scalar.text == "<<" && scalar.is_merge() {
            marks |= MERGE;
        }
        self.leaf(at.clone(), fallback, marks);
        self.sink.scalar(scalar, anchor, at)
    }

    fn literal(&mut self, value: Value, at: Range<usize>) -> Result<(), Stop> {
        self.leaf(at.clone(), Form::Plain, 0);
        self.sink.literal(value, at)
    }

    fn alias(&mut self, anchor: usize, at: Range<usize>) -> Result<(), Stop> {
        self.look = Some(Look { form: Form::Alias, tagged: false });
        self.leaf(at.clone(), Form::Alias, SHARED);
        self.sink.alias(anchor, at)
    }

    fn open(&mut self, kind: Kind, anchor: usize, offset: usize) -> Result<(), Stop> {
        let look = self.look.take().unwrap_or(Look { form: Form::Flow, tagged: false });
        let turn = self.turn();
        let list = kind == Kind::List;
        let marks = if list { LIST } else { 0 }
            | if anchor > 0 { ANCHORED | SHARED } else { 0 }
            | if look.tagged { TAGGED } else { 0 };
        self.cursor = if look.form == Form::Lines {
            self.behind_sign(turn, usize::from(anchor > 0) + usize::from(look.tagged))
        } else {
            // A pair in a list has no brackets of its own.
            offset + usize::from(is_bracket(self.text, offset, list))
        };
        self.push(offset..offset, look.form, marks);
        self.open.push((self.steps.len() - 1, Turn::first(list)));
        self.sink.open(kind, anchor, offset)
    }

    fn close(&mut self, offset: usize) -> Result<(), Stop> {
        if let Some((index, _)) = self.open.pop() {
            let step = self.steps[index];
            if step.form == Form::Flow && is_bracket(self.text, self.base + step.start(), step.is_list()) {
                self.cursor = offset;
            }
            let (end, next) = (self.offset(self.cursor), u32::try_from(self.steps.len()).unwrap_or(0));
            self.steps[index] = Step { end, next, ..step };
            self.share(step.marks);
        }
        self.sink.close(offset)
    }

    fn restart(&mut self) {
        self.steps.clear();
        self.open.clear();
        self.look = None;
        self.cursor = self.base;
        self.sink.restart();
    }

    fn look(&mut self, look: Look) {
        self.look = Some(look);
        self.sink.look(look);
    }
}

/// The sign that leads to a node: a dash, a question mark, a colon, or nothing but the comma before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sign {
    /// Where the entry starts; [`NOWHERE`] for a value without a colon.
    pub(super) lead: usize,
    pub(super) end: usize,
}

impl Sign {
    /// The sign behind an offset at which the node before ended.
    pub(super) fn of(text: &str, from: usize, turn: Turn, lines: bool) -> Self {
        let byte = |at: usize| text.as_bytes().get(at).copied();
        let at = skip(text, from);
        if turn == Turn::Value {
            return match byte(at) {
                Some(b':') => Self { lead: at, end: at + 1 },
                _ => Self { lead: NOWHERE, end: from },
            };
        }
        let lead = if !lines && byte(at) == Some(b',') { skip(text, at + 1) } else { at };
        let blank = |at: usize| byte(at).is_none_or(|byte| b" \t\r\n".contains(&byte));
        let signed = match turn {
            Turn::Element => lines && byte(lead) == Some(b'-'),
            _ => byte(lead) == Some(b'?') && blank(lead + 1),
        };
        Self { lead, end: lead + usize::from(signed) }
    }
}

/// Whether the bracket that opens a list or mapping stands at an offset.
pub(super) fn is_bracket(text: &str, at: usize, list: bool) -> bool {
    text.as_bytes().get(at) == Some(if list { &b'[' } else { &b'{' })
}

/// Where the document itself starts: behind its directives and the separator.
pub(super) fn prologue(text: &str, start: usize) -> usize {
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
pub(super) fn property_end(text: &str, at: usize) -> usize {
    let rest = &text[at.min(text.len())..];
    let end = if rest.starts_with("!<") {
        rest.find('>').map(|end| end + 1)
    } else {
        rest.find([' ', '\t', '\r', '\n', ',', '[', ']', '{', '}'])
    };
    end.map_or(text.len(), |end| at + end)
}

/// The end of a block scalar, without what stands below it: comments, and empty lines unless they count.
fn block_end(text: &str, end: usize, keeps: bool) -> usize {
    let end = end.min(text.len());
    if keeps {
        // What starts the line of a comment is no part of it.
        let last = line_start(text, end);
        let end = if text[last..end].trim_matches([' ', '\t']).is_empty() { last } else { end };
        return without_break(text, end);
    }
    // The line above those that are empty; of a text without lines that is its header.
    let last = text[..end].trim_end_matches([' ', '\t', '\r', '\n']).len();
    let length = text[last..].find('\n').unwrap_or(text.len() - last);
    let line = last + length;
    if text[..line].ends_with('\r') { line - 1 } else { line }
}

/// The offset without one line break before it.
fn without_break(text: &str, end: usize) -> usize {
    let part = &text[..end];
    part.strip_suffix("\r\n").or_else(|| part.strip_suffix('\n')).unwrap_or(part).len()
}
