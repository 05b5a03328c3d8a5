//! The text of a response: unchanged items keep their text.

use std::ops::Range;

use crate::value::{Pointer, Value};
use crate::yaml::{self, Document};

use super::ResourceList;

/// The outcome of an item.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ItemOutcome {
    /// It stays as it is.
    #[default]
    Kept,
    /// It has another value.
    Replaced(Value),
    /// It is removed.
    Dropped,
}

/// The response of a function.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// The outcome of each item.
    pub items: Vec<ItemOutcome>,
    /// The objects added behind the items.
    pub added: Vec<Value>,
    /// The results.
    pub results: Vec<Value>,
}

impl Response {
    /// The items as they are, with results.
    pub fn unchanged(items: usize, results: Vec<Value>) -> Self {
        Self { items: vec![ItemOutcome::Kept; items], added: Vec::new(), results }
    }

    /// The new value of an item, if it has one.
    fn replaced(&self, item: usize) -> Option<&Value> {
        match self.items.get(item) {
            Some(ItemOutcome::Replaced(value)) => Some(value),
            _ => None,
        }
    }

    fn is_dropped(&self, item: usize) -> bool {
        self.items.get(item) == Some(&ItemOutcome::Dropped)
    }
}

/// The response to a list, as block YAML. Items keep their comments, quotes and order of keys; those that changed are
/// edited.
pub fn response_text(document: &Document, list: &ResourceList, mut response: Response) -> String {
    let results = std::mem::take(&mut response.results);
    let items = list.items.iter().enumerate().filter(|(index, _)| !response.is_dropped(*index));
    let mut values: Vec<Value> =
        items.map(|(index, item)| response.replaced(index).unwrap_or(item).clone()).collect();
    values.extend(response.added.iter().cloned());
    let whole = list.response(values, results);
    let mut canonical = String::new();
    if document.is_json() {
        yaml::print(&whole, &mut canonical);
        return canonical;
    }
    let edited = edited(document, &response);
    let written = match &edited {
        Some(edited) => Written::of(edited, yaml::element_spans(edited, &items_pointer())),
        None => Written::of(document.source().text(), document.element_spans(&items_pointer())),
    };
    match written.and_then(|written| written.spliced(list, &response, edited.is_some(), &whole)) {
        // It may differ: an alias may have lost its anchor.
        Some(text) if yaml::parses_as(&text, &whole) => text,
        _ => {
            yaml::print(&whole, &mut canonical);
            canonical
        }
    }
}

fn items_pointer() -> Pointer {
    Pointer::ROOT.key("items")
}

/// The text of the document with the changed items; `None` if none changed, or the text cannot be edited.
fn edited(document: &Document, response: &Response) -> Option<String> {
    let mut value = document.value()?.clone();
    let slots = value.as_object_mut()?.get_mut("items")?.as_array_mut()?;
    let mut changed = false;
    for (index, slot) in slots.iter_mut().enumerate() {
        if let Some(became) = response.replaced(index) {
            *slot = became.clone();
            changed = true;
        }
    }
    let edited = changed.then(|| document.edited(&value))?;
    edited.fallback.is_none().then_some(edited.text)
}

/// The text of a list.
struct Written<'t> {
    text: &'t str,
    /// The lines of each item, with the comments above it.
    items: Vec<Range<usize>>,
}

impl<'t> Written<'t> {
    /// The lines of the items; `None` if items share lines.
    fn of(text: &'t str, items: Option<(Vec<Range<usize>>, usize)>) -> Option<Self> {
        let (spans, end) = items?;
        let mut starts: Vec<usize> = Vec::with_capacity(spans.len());
        for span in &spans {
            let floor = starts.last().map_or(0, |last| last + 1);
            let dash = dash_line(text, span.start, floor)?;
            let indent = text[dash..].len() - text[dash..].trim_start_matches(' ').len();
            starts.push(with_comments(text, dash, indent, floor));
        }
        let end = if line_start(text, end) == end { end } else { line_end(text, end) };
        let ends = starts.iter().skip(1).copied().chain([end]).collect::<Vec<_>>();
        let items = starts.into_iter().zip(ends).map(|(start, end)| start..end).collect();
        Some(Self { text, items })
    }

    /// The response with the items' own lines. Items that changed are copied from the text only if it was edited.
    fn spliced(
        &self,
        list: &ResourceList,
        response: &Response,
        is_edited: bool,
        whole: &Value,
    ) -> Option<String> {
        if self.items.len() != list.items.len() {
            return None;
        }
        let mut out = String::with_capacity(self.text.len() + 1024);
        for (key, value) in whole.as_object()? {
            if &**key != "items" || value.as_array().is_some_and(|items| items.is_empty()) {
                let member: Value = [(key.clone(), value.clone())].into_iter().collect();
                yaml::print(&member, &mut out);
                continue;
            }
            out.push_str("items:\n");
            for (index, (item, lines)) in list.items.iter().zip(&self.items).enumerate() {
                if response.is_dropped(index) {
                    continue;
                }
                let became = response.replaced(index);
                let copied = (is_edited || became.is_none()) && copy(self.text.get(lines.clone())?, &mut out);
                if !copied {
                    yaml::print(&Value::array(vec![became.unwrap_or(item).clone()]), &mut out);
                }
            }
            if !response.added.is_empty() {
                yaml::print(&Value::array(response.added.clone()), &mut out);
            }
        }
        Some(out)
    }
}

/// The start of the line with the dash of an item: that of its first node, or one above with only comments between;
/// `None` if the line has anything else, as in flow style.
fn dash_line(text: &str, node: usize, floor: usize) -> Option<usize> {
    let mut start = line_start(text, node);
    let mut before = text.get(start..node)?;
    loop {
        let (lead, comment) = before.find('#').map_or((before, false), |index| (&before[..index], true));
        match lead.trim_matches([' ', '\n']) {
            "-" => return Some(start),
            "" if start > floor && (comment || start + before.len() == node) => {}
            _ => return None,
        }
        let end = start;
        start = line_start(text, end - 1);
        before = &text[start..end];
    }
}

/// The start of the comment lines right above a line, with the same indentation.
fn with_comments(text: &str, line: usize, indent: usize, floor: usize) -> usize {
    let mut start = line;
    while start > floor {
        let above = line_start(text, start - 1);
        let comment = text[above..start].trim_start_matches(' ');
        if above < floor || !comment.starts_with('#') || start - above - comment.len() != indent {
            break;
        }
        start = above;
    }
    start
}

fn line_start(text: &str, offset: usize) -> usize {
    text[..offset].rfind('\n').map_or(0, |index| index + 1)
}

fn line_end(text: &str, offset: usize) -> usize {
    text[offset..].find('\n').map_or(text.len(), |index| offset + index + 1)
}

/// Copies the lines of an item with its dash in the first column; `false`, with nothing copied, if they cannot be moved.
fn copy(chunk: &str, out: &mut String) -> bool {
    let Some(dash) = chunk.lines().find(|line| !line.trim_start().starts_with('#')) else { return false };
    let item = dash.trim_start_matches(' ');
    let indent = dash.len() - item.len();
    let length = out.len();
    for line in chunk.lines() {
        let lead = line.len() - line.trim_start_matches(' ').len();
        if lead < indent && !line.trim().is_empty() {
            out.truncate(length);
            return false;
        }
        out.push_str(&line[lead.min(indent)..]);
        out.push('\n');
    }
    true
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::yaml::{Limits, Source};

    use super::*;

    /// The response with the items of these indexes replaced by `{"a":0}`.
    fn responded(text: &str, changed: &[usize]) -> String {
        let source = Arc::new(Source::new("stdin", text));
        let document = yaml::read(&source, &Limits::default()).unwrap().remove(0);
        let list = ResourceList::from_value(document.value().unwrap()).unwrap();
        let outcome = |index| match changed.contains(&index) {
            true => ItemOutcome::Replaced(Value::from_json(r#"{"a":0}"#).unwrap()),
            false => ItemOutcome::Kept,
        };
        let items = (0..list.items.len()).map(outcome).collect();
        response_text(&document, &list, Response { items, ..Response::default() })
    }

    const HEAD: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n";

    #[test]
    fn untouched_items_are_repeated_as_they_came() {
        let items = "- # odd\n  b: 'x'\n  c: |\n    # text\n\n    more\n# about the next\n- b:   >-\n    folded\n    text\n  d: {e: 0x10}\n";
        let text = format!("{HEAD}items:\n{items}functionConfig:\n  a: 'b'\n");
        assert_eq!(responded(&text, &[]), format!("{HEAD}items:\n{items}functionConfig:\n  a: b\n"));
        let (first, _) = items.split_once("- b:   >").unwrap();
        let second = format!("{first}- a: 0\n");
        assert_eq!(responded(&text, &[1]), format!("{HEAD}items:\n{second}functionConfig:\n  a: b\n"));
    }

    #[test]
    fn indented_items_move_to_the_margin() {
        let text = format!("{HEAD}items:\n  - b: |\n      x\n\n    c: 'y'\n  # two\n  - b: 2\n");
        assert_eq!(
            responded(&text, &[]),
            format!("{HEAD}items:\n- b: |\n    x\n\n  c: 'y'\n# two\n- b: 2\n")
        );
    }

    #[test]
    fn what_cannot_be_copied_is_printed_anew() {
        for (items, changed, expected) in [
            ("- b: &x 'y'\n- c: *x\n", &[0][..], "- a: 0\n- c: 'y'\n"),
            ("- b: &x 'y'\n- c: *x\n", &[], "- b: &x 'y'\n- c: *x\n"),
            ("- {b: 'x'}\n- c: 'y'\n", &[], "- {b: 'x'}\n- c: 'y'\n"),
            ("- &x {b: 'x'}\n- c: *x\n", &[], "- b: x\n- c:\n    b: x\n"),
        ] {
            let text = format!("{HEAD}items:\n{items}");
            assert_eq!(responded(&text, changed), format!("{HEAD}items:\n{expected}"), "{items}");
        }
        assert_eq!(
            responded(&format!("{HEAD}items: [{{b: 'x'}}]\n"), &[]),
            format!("{HEAD}items:\n- b: x\n")
        );
        let json = r#"{"kind":"ResourceList","apiVersion":"config.kubernetes.io/v1","items":[{"b":"x"}]}"#;
        assert_eq!(responded(json, &[]), format!("{HEAD}items:\n- b: x\n"));
    }

    #[test]
    fn items_may_go_and_come() {
        let text = format!("{HEAD}items:\n# one\n- b: 'x'\n# two\n- b: 'y'\n");
        let source = Arc::new(Source::new("stdin", &*text));
        let document = yaml::read(&source, &Limits::default()).unwrap().remove(0);
        let list = ResourceList::from_value(document.value().unwrap()).unwrap();
        let added = vec![Value::from_json(r#"{"c":1}"#).unwrap()];
        let items = vec![ItemOutcome::Dropped, ItemOutcome::Kept];
        let response = Response { items, added, ..Response::default() };
        assert_eq!(
            response_text(&document, &list, response),
            format!("{HEAD}items:\n# two\n- b: 'y'\n- c: 1\n")
        );
        let response = Response { items: vec![ItemOutcome::Dropped; 2], ..Response::default() };
        assert_eq!(response_text(&document, &list, response), format!("{HEAD}items: []\n"));
    }

    #[test]
    fn a_list_without_items_has_an_empty_one() {
        assert_eq!(responded(HEAD, &[]), format!("{HEAD}items: []\n"));
        assert_eq!(responded(&format!("{HEAD}items:\n"), &[]), format!("{HEAD}items: []\n"));
    }

    #[test]
    fn the_last_item_ends_with_the_text() {
        let text = format!("{HEAD}items:\n- b: |+\n    x\n\n");
        assert_eq!(responded(&text, &[]), text);
        let open = format!("{HEAD}items:\n- b: x");
        assert_eq!(responded(&open, &[]), format!("{open}\n"));
    }
}
