//! Comparing text with a value while it is read.

use std::ops::Range;
use std::slice;
use std::sync::Arc;

use crate::value::{Map, Value};
use crate::yaml::build::written_value;
use crate::yaml::event::{EventReceiver, Kind, ReadError, Scalar};
use crate::yaml::json::JsonText;
use crate::yaml::keys::Keys;
use crate::yaml::parser::YamlText;
use crate::yaml::scalar::Resolved;
use crate::yaml::split::chunks;
use crate::yaml::{Document, ErrorKind, Limits, Source, read};

/// Whether a text of any size is one document with this value.
///
/// No value is built unless the text has anchors, or may be either JSON or YAML.
pub fn parses_as(text: &str, value: &Value) -> bool {
    match verdict(text, value) {
        Verdict::Same => true,
        Verdict::Differs => false,
        Verdict::Open => is_read_as(text, value),
    }
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Same,
    Differs,
    /// Unknown unless the value is built.
    Open,
}

/// Compares a text without building its value.
fn verdict(text: &str, value: &Value) -> Verdict {
    let mut comparison = Comparison::new(value);
    for chunk in chunks(text) {
        comparison.roots_before = comparison.roots;
        let mut json = JsonText::new(text, chunk.parsed.clone());
        let is_json = json.starts().is_some();
        let read = if is_json {
            json.read(&mut comparison).is_ok() && json.rest().is_none()
        } else {
            let yaml = YamlText { text: &text[chunk.parsed.clone()], base: chunk.parsed.start, as_go: false };
            yaml.read(&Limits::unbounded(), &mut comparison).is_ok()
        };
        match comparison.verdict {
            Verdict::Same if read && chunk.stray.is_none() => {}
            // Further JSON may follow, or what starts as JSON may be YAML.
            Verdict::Same => return Verdict::Open,
            _ if is_json => return Verdict::Open,
            verdict => return verdict,
        }
    }
    if comparison.roots == 1 { Verdict::Same } else { Verdict::Differs }
}

/// Builds the value of a text and compares it.
fn is_read_as(text: &str, value: &Value) -> bool {
    let source = Arc::new(Source::new("", text));
    let mut values = match read(&source, &Limits::unbounded()) {
        Ok(documents) => documents.into_iter().filter_map(Document::into_value),
        Err(_) => return false,
    };
    values.next().as_ref() == Some(value) && values.next().is_none()
}

/// Compares a value with the events of a text.
#[derive(Debug)]
struct Comparison<'v> {
    root: &'v Value,
    /// The number of documents with a value, and of those before the one that is read.
    roots: usize,
    roots_before: usize,
    open: Vec<Open<'v>>,
    keys: Keys,
    verdict: Verdict,
}

/// A list or mapping that is being read.
#[derive(Debug)]
enum Open<'v> {
    List(slice::Iter<'v, Value>),
    Mapping(Members<'v>),
}

#[derive(Debug)]
struct Members<'v> {
    map: &'v Map,
    /// The value after the last key.
    value: Option<&'v Value>,
    /// The number of members read in order, from the start.
    read: usize,
    /// The indexes of those read out of order.
    others: Vec<usize>,
}

impl<'v> Members<'v> {
    /// The member with a name, unless it was read before.
    fn take(&mut self, name: &str) -> Option<&'v Value> {
        if let Some((_, value)) = self.map.get_index(self.read).filter(|(key, _)| &***key == name)
            && self.others.is_empty()
        {
            self.read += 1;
            return Some(value);
        }
        let (index, _, value) = self.map.get_full(name)?;
        if index < self.read {
            return None;
        }
        self.others.push(index);
        Some(value)
    }

    fn is_complete(&mut self) -> bool {
        self.others.sort_unstable();
        self.value.is_none()
            && self.read + self.others.len() == self.map.len()
            && self.others.windows(2).all(|pair| pair[0] < pair[1])
    }
}

impl<'v> Comparison<'v> {
    fn new(root: &'v Value) -> Self {
        Self {
            root,
            roots: 0,
            roots_before: 0,
            open: Vec::new(),
            keys: Keys::default(),
            verdict: Verdict::Same,
        }
    }

    /// Ends the reading.
    fn end<T>(&mut self, verdict: Verdict, offset: usize) -> Result<T, ReadError> {
        if self.verdict == Verdict::Same {
            self.verdict = verdict;
        }
        Err(ReadError { offset, error: ErrorKind::Further })
    }

    /// The expected value of the next node.
    fn expected(&mut self, offset: usize) -> Result<&'v Value, ReadError> {
        let expected = match self.open.last_mut() {
            Some(Open::List(items)) => items.next(),
            Some(Open::Mapping(members)) => members.value.take(),
            None => {
                self.roots += 1;
                Some(self.root).filter(|_| self.roots == 1)
            }
        };
        match expected {
            Some(expected) => Ok(expected),
            None => self.end(Verdict::Differs, offset),
        }
    }

    /// The mapping whose next node is a key.
    fn expects_key(&mut self) -> Option<&mut Members<'v>> {
        match self.open.last_mut() {
            Some(Open::Mapping(members)) if members.value.is_none() => Some(members),
            _ => None,
        }
    }

    /// Continues if two values are equal.
    fn check(&mut self, same: bool, offset: usize) -> Result<(), ReadError> {
        if same { Ok(()) } else { self.end(Verdict::Differs, offset) }
    }

    /// Goes to the value of a key; whether there is one.
    fn take(&mut self, name: &str) -> bool {
        self.expects_key().is_some_and(|members| {
            members.value = members.take(name);
            members.value.is_some()
        })
    }

    fn key(&mut self, key: &Resolved<'_>, offset: usize) -> Result<(), ReadError> {
        let found = match key {
            Resolved::Text(text) => self.take(text),
            other => match self.keys.of(other) {
                Ok(name) => self.take(&name),
                Err(_) => return self.end(Verdict::Differs, offset),
            },
        };
        self.check(found, offset)
    }
}

impl EventReceiver for Comparison<'_> {
    fn scalar(&mut self, scalar: Scalar<'_>, anchor: usize, at: Range<usize>) -> Result<(), ReadError> {
        let offset = at.start;
        let is_key = self.expects_key().is_some();
        if is_key && scalar.is_merge() {
            return self.end(Verdict::Open, offset);
        }
        // Only blanks and comments.
        if self.open.is_empty() && scalar.plain && at.is_empty() && anchor == 0 {
            return Ok(());
        }
        let Ok(resolved) = scalar.resolve() else { return self.end(Verdict::Differs, offset) };
        if is_key {
            return self.key(&resolved, offset);
        }
        let expected = self.expected(offset)?;
        let same = match (&resolved, expected) {
            (Resolved::Text(text), Value::String(expected)) => **text == **expected,
            (Resolved::Text(_) | Resolved::NotFinite(_), _) => false,
            (Resolved::Null | Resolved::Bool(_) | Resolved::Number(_), expected) => {
                written_value(resolved) == *expected
            }
        };
        self.check(same, offset)
    }

    fn literal(&mut self, value: Value, at: Range<usize>) -> Result<(), ReadError> {
        let same = self.expected(at.start)? == &value;
        self.check(same, at.start)
    }

    fn alias(&mut self, _: usize, at: Range<usize>) -> Result<(), ReadError> {
        self.end(Verdict::Open, at.start)
    }

    fn open(&mut self, kind: Kind, _: usize, offset: usize) -> Result<(), ReadError> {
        if self.expects_key().is_some() {
            return self.end(Verdict::Differs, offset);
        }
        let open = match (kind, self.expected(offset)?) {
            (Kind::List, Value::Array(items)) => Open::List(items.iter()),
            (Kind::Mapping, Value::Object(map)) => {
                Open::Mapping(Members { map, value: None, read: 0, others: Vec::new() })
            }
            _ => return self.end(Verdict::Differs, offset),
        };
        self.open.push(open);
        Ok(())
    }

    fn close(&mut self, offset: usize) -> Result<(), ReadError> {
        let is_complete = match self.open.pop() {
            Some(Open::List(mut items)) => items.next().is_none(),
            Some(Open::Mapping(mut members)) => members.is_complete(),
            None => false,
        };
        self.check(is_complete, offset)
    }

    fn restart(&mut self) {
        self.roots = self.roots_before;
        self.open.clear();
        self.verdict = Verdict::Same;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts to edit at random; comparing must agree with reading.
    const TEXTS: [&str; 12] = [
        "a: 1\nb: {c: x, d: [1, 2.5, null]}\n",
        "metadata:\n  name: web\n  labels:\n    app: 'web' # c\nspec:\n- a: \"x\\n\"\n  b: |\n    one\n    two\n",
        "{\"a\": 1, \"b\": [true, {\"c\": \"x\"}]}\n",
        "a: &x {k: 1}\nb: *x\nc:\n  <<: *x\n  l: 2\n",
        "1: a\non: b\n0x10: c\n~: d\n",
        "- - 1\n  - 2\n-\n- ''\n",
        "---\na: 1\n...\n# end\n",
        "a: !!str 1\nb: !!int \"2\"\nc: !x y\n",
        "? a\n: b\n? c\n",
        "a: >\n  x\n  y\n\nb: .inf\n",
        "a: [\n\t1,\n\t2\n]\n",
        "{\"a\": 1} # c\n",
    ];

    fn value(text: &str) -> Option<Value> {
        let source = Arc::new(Source::new("", text));
        let documents = read(&source, &Limits::unbounded()).ok()?;
        let mut values = documents.into_iter().filter_map(Document::into_value);
        values.next().filter(|_| values.next().is_none())
    }

    #[test]
    fn comparing_and_building_agree_on_broken_edits() {
        let (mut same, mut all) = (0, 0);
        for text in TEXTS {
            let expected = value(text).unwrap_or_default();
            let mut try_out = |broken: &str| {
                let built = value(broken).as_ref() == Some(&expected);
                assert_eq!(parses_as(broken, &expected), built, "{broken:?} for {text:?}");
                (same, all) = (same + usize::from(built), all + 1);
            };
            try_out(text);
            let bounds = (0..=text.len()).filter(|at| text.is_char_boundary(*at));
            for at in bounds {
                for end in (at + 1..text.len()).take(6) {
                    try_out(&format!("{}{}", &text[..at], &text[end..]));
                    try_out(&format!("{}{}", &text[..end], &text[at..]));
                }
                for piece in [
                    "\n", " ", "- ", ": ", "x", "#", "\n---\n", "'", "\"", "{", "]", ",", "0", "\t", "a: 1\n",
                ] {
                    try_out(&format!("{}{piece}{}", &text[..at], &text[at..]));
                }
            }
        }
        assert!(same > 100 && all > 5 * same, "{same} of {all}");
    }
}
