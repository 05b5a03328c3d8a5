//! The text of a response: unchanged items keep their text.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::value::{Pointer, Value};
use crate::yaml::{self, Document, Limits, Source};

use super::{FunctionResult, ResourceList};

/// The outcome of an item.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ItemOutcome {
    /// It stays as it is.
    #[default]
    Kept,
    /// It has another text, from [`ItemTexts::edited`].
    Replaced(String),
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
    pub results: Vec<FunctionResult>,
}

impl Response {
    /// The items as they are, with results.
    pub fn unchanged(items: usize, results: Vec<FunctionResult>) -> Self {
        Self { items: vec![ItemOutcome::Kept; items], added: Vec::new(), results }
    }
}

/// Writes the response to a list, as block YAML. Items keep their comments, quotes and order of keys.
///
/// # Errors
///
/// Those of the output.
pub fn write_response(
    texts: &ItemTexts<'_>,
    list: &ResourceList,
    response: &Response,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (key, value) in list.head() {
        out.write_all(printed(&Value::from_iter([(key, value)])).as_bytes())?;
    }
    let items = list.items.iter().zip(&response.items).enumerate();
    let kept: Vec<_> = items.filter(|(_, (_, outcome))| **outcome != ItemOutcome::Dropped).collect();
    let is_empty = kept.is_empty() && response.added.is_empty();
    out.write_all(if is_empty { b"items: []\n" } else { b"items:\n" })?;
    let item_text = |(index, (item, outcome)): &(usize, (&Value, &ItemOutcome))| match outcome {
        ItemOutcome::Replaced(text) => text.clone(),
        ItemOutcome::Kept | ItemOutcome::Dropped => texts.kept(*index, item),
    };
    write_all(&kept, item_text, out)?;
    write_all(&response.added, element, out)?;
    if !list.function_config.is_null() {
        let config = Value::from_iter([("functionConfig", list.function_config.clone())]);
        out.write_all(printed(&config).as_bytes())?;
    }
    if !list.results.is_empty() || !response.results.is_empty() {
        out.write_all(b"results:\n")?;
    }
    write_all(&list.results, element, out)?;
    write_all(&response.results, |result| element(&result.to_value()), out)
}

/// Writes the texts of all elements. Some are made at the same time, and only theirs are held.
fn write_all<T: Sync>(all: &[T], text: impl Fn(&T) -> String + Sync, out: &mut dyn Write) -> io::Result<()> {
    for batch in all.chunks(BATCH) {
        let texts: Vec<String> = batch.par_iter().map(&text).collect();
        out.write_all(texts.concat().as_bytes())?;
    }
    Ok(())
}

/// So many texts are held at once.
const BATCH: usize = 4096;

fn element(value: &Value) -> String {
    printed(&list_of(value))
}

fn list_of(value: &Value) -> Value {
    Value::array(vec![value.clone()])
}

fn printed(value: &Value) -> String {
    let mut out = String::new();
    yaml::print(value, &mut out);
    out
}

/// The texts of the items of a list.
#[derive(Debug)]
pub struct ItemTexts<'t> {
    text: &'t str,
    /// The lines of each item, with the comments above it; none if items share lines or the list is JSON.
    items: Vec<Range<usize>>,
}

impl<'t> ItemTexts<'t> {
    /// Finds the items of a ResourceList.
    pub fn of(document: &'t Document) -> Self {
        let items = if document.is_json() { None } else { item_lines(document) };
        Self { text: document.source().text(), items: items.unwrap_or_default() }
    }

    /// The text of an item as it came, or as printed where it cannot be moved to the margin or is no text of the item
    /// alone: it may have an alias whose anchor is elsewhere.
    fn kept(&self, index: usize, item: &Value) -> String {
        let moved = self.moved(index).filter(|text| yaml::parses_as(text, &list_of(item)));
        moved.unwrap_or_else(|| element(item))
    }

    /// The text of an item with another value, edited, or as printed where it cannot be edited.
    pub fn edited(&self, index: usize, item: &Value, became: &Value) -> String {
        let edited = || {
            let source = Arc::new(Source::new("item", self.moved(index)?));
            let mut documents = yaml::read(&source, &Limits::unbounded()).ok()?;
            let document = documents.pop().filter(|_| documents.is_empty())?;
            if document.value() != Some(&list_of(item)) {
                return None;
            }
            let edited = document.edited(&list_of(became));
            edited.fallback.is_none().then_some(edited.text)
        };
        edited().unwrap_or_else(|| element(became))
    }

    /// The lines of an item with its dash in the first column; `None` if they cannot be moved.
    fn moved(&self, index: usize) -> Option<String> {
        let lines = self.text.get(self.items.get(index)?.clone())?;
        let dash = lines.lines().find(|line| !line.trim_start().starts_with('#'))?;
        let indent = dash.len() - dash.trim_start_matches(' ').len();
        let mut out = String::with_capacity(lines.len() + 1);
        for line in lines.lines() {
            let lead = line.len() - line.trim_start_matches(' ').len();
            if lead < indent && !line.trim().is_empty() {
                return None;
            }
            out.push_str(&line[lead.min(indent)..]);
            out.push('\n');
        }
        Some(out)
    }
}

/// The lines of the items; `None` if items share lines.
fn item_lines(document: &Document) -> Option<Vec<Range<usize>>> {
    let text = document.source().text();
    let (spans, end) = document.element_spans(&Pointer::ROOT.key("items"))?;
    let mut starts: Vec<usize> = Vec::with_capacity(spans.len());
    for span in &spans {
        let floor = starts.last().map_or(0, |last| last + 1);
        let dash = dash_line(text, span.start, floor)?;
        let indent = text[dash..].len() - text[dash..].trim_start_matches(' ').len();
        starts.push(with_comments(text, dash, indent, floor));
    }
    let end = if line_start(text, end) == end { end } else { line_end(text, end) };
    let ends = starts.iter().skip(1).copied().chain([end]).collect::<Vec<_>>();
    Some(starts.into_iter().zip(ends).map(|(start, end)| start..end).collect())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn response_text(document: &Document, list: &ResourceList, response: &Response) -> String {
        let mut out = Vec::new();
        write_response(&ItemTexts::of(document), list, response, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// The response with the items of these indexes replaced by `{"a":0}`.
    fn responded(text: &str, changed: &[usize]) -> String {
        let source = Arc::new(Source::new("stdin", text));
        let document = yaml::read(&source, &Limits::default()).unwrap().remove(0);
        let list = ResourceList::from_value(document.value().unwrap()).unwrap();
        let texts = ItemTexts::of(&document);
        let became = Value::from_json(r#"{"a":0}"#).unwrap();
        let outcome = |index| match changed.contains(&index) {
            true => ItemOutcome::Replaced(texts.edited(index, &list.items[index], &became)),
            false => ItemOutcome::Kept,
        };
        let items = (0..list.items.len()).map(outcome).collect();
        response_text(&document, &list, &Response { items, ..Response::default() })
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
            ("- b: &x 'y'\n- c: *x\n", &[0][..], "- a: 0\n- c: \"y\"\n"),
            ("- b: &x 'y'\n- c: *x\n", &[], "- b: &x 'y'\n- c: \"y\"\n"),
            ("- b: &x 'y'\n  c: *x\n- d: 'x' # e\n", &[], "- b: &x 'y'\n  c: *x\n- d: 'x' # e\n"),
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
    fn whatever_the_items_look_like_the_response_has_their_values() {
        const ITEMS: [&str; 13] = [
            "- b: 1\n",
            "- b: |+\n    x\n\n\n",
            "- b: |\n    x\n    ---\n    - y: z\n",
            "- b: >-\n    x\n\n    y\n",
            "- b: plain\n    text\n  c: 'quoted\n    text'\n",
            "- b: \"quoted\n\n    text\"\n",
            "-\n  b: 1\n",
            "- # about it\n  b: 1 # end\n  # last\n",
            "# above\n- {b: [1,\n    2]}\n# below\n",
            "- b: &x [1]\n  c: *x\n",
            "- ? b\n  : c\n",
            "- b:\n  - 1\n  -   c: 2\n      d: 3\n",
            "- !!map {b: !!str 1}\n",
        ];
        let read = |text: &str| yaml::parse_value(text).unwrap().path(&["items"]).cloned();
        for lead in ["", "  "] {
            for [one, other] in ITEMS.iter().flat_map(|one| ITEMS.map(|other| [*one, other])) {
                let items: String =
                    [one, other].concat().split_inclusive('\n').fold(String::new(), |mut all, line| {
                        all.push_str(if line == "\n" { "" } else { lead });
                        all + line
                    });
                let text = format!("{HEAD}items:\n{items}functionConfig: 1\n");
                assert_eq!(read(&responded(&text, &[])), read(&text), "{text}");
                let changed = read(&responded(&text, &[0])).unwrap();
                assert_eq!(changed.at(0), Some(&Value::from_json(r#"{"a":0}"#).unwrap()), "{text}");
                assert_eq!(changed.at(1), read(&text).unwrap().at(1), "{text}");
            }
        }
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
            response_text(&document, &list, &response),
            format!("{HEAD}items:\n# two\n- b: 'y'\n- c: 1\n")
        );
        let response = Response { items: vec![ItemOutcome::Dropped; 2], ..Response::default() };
        assert_eq!(response_text(&document, &list, &response), format!("{HEAD}items: []\n"));
    }

    #[test]
    fn a_list_without_items_has_an_empty_one() {
        let json = r#"{"kind":"ResourceList","items":null}"#;
        let list = "apiVersion: v1\nkind: List\n";
        for text in [HEAD, &format!("{HEAD}items:\n"), "kind: ResourceList\n", json, list] {
            assert_eq!(responded(text, &[]), format!("{HEAD}items: []\n"));
        }
    }

    #[test]
    fn results_follow_those_of_earlier_functions() {
        let text = "results: [{message: a}]\nkind: ResourceList\nfunctionConfig: {b: c}\n";
        let source = Arc::new(Source::new("stdin", text));
        let document = yaml::read(&source, &Limits::default()).unwrap().remove(0);
        let list = ResourceList::from_value(document.value().unwrap()).unwrap();
        let response = Response::unchanged(0, vec![FunctionResult::failure(("KYV001", "d"))]);
        assert_eq!(
            response_text(&document, &list, &response),
            format!(
                "{HEAD}items: []\nfunctionConfig:\n  b: c\nresults:\n- message: a\n- message: d\n  \
                 severity: error\n  tags:\n    code: KYV001\n"
            )
        );
    }

    #[test]
    fn the_last_item_ends_with_the_text() {
        let text = format!("{HEAD}items:\n- b: |+\n    x\n\n");
        assert_eq!(responded(&text, &[]), text);
        let open = format!("{HEAD}items:\n- b: x");
        assert_eq!(responded(&open, &[]), format!("{open}\n"));
    }
}
