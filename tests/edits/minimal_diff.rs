//! Diffs of real manifests have the fewest lines that the change needs, counted from the value before and after and
//! the lines that its nodes take in the file.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use kyv::value::{Map, Pointer, Segment, Value, aligned};
use kyv::yaml::{Document, Limits, Source, read};
use test_support::conformance_folder;

/// So many files, and so many policies for each.
const FILES: usize = 200;
const POLICIES: usize = 20;

/// The lines that a change takes.
#[derive(Clone, Debug, Default)]
struct Lines {
    /// Old lines that go.
    gone: BTreeSet<usize>,
    /// Old lines that say something else.
    rewritten: BTreeSet<usize>,
    /// New lines.
    come: usize,
}

impl Lines {
    fn removed(&self) -> usize {
        self.gone.union(&self.rewritten).count()
    }

    fn added(&self) -> usize {
        self.rewritten.difference(&self.gone).count() + self.come
    }

    fn all(&self) -> usize {
        self.removed() + self.added()
    }

    fn join(&mut self, other: &Self) {
        self.gone.extend(&other.gone);
        self.rewritten.extend(&other.rewritten);
        self.come += other.come;
    }
}

/// How many lines a value takes as a member of a mapping of lines, its key included.
fn as_member(value: &Value) -> usize {
    match value {
        Value::Object(members) if !members.is_empty() => 1 + members.values().map(as_member).sum::<usize>(),
        Value::Array(items) if !items.is_empty() => 1 + items.iter().map(as_element).sum::<usize>(),
        Value::String(text) if text.contains('\n') => 1 + text.lines().count(),
        _ => 1,
    }
}

/// How many lines a value takes as an element of a list of lines.
fn as_element(value: &Value) -> usize {
    match value {
        Value::Object(members) if !members.is_empty() => members.values().map(as_member).sum(),
        Value::Array(items) if !items.is_empty() => items.iter().map(as_element).sum(),
        value => as_member(value),
    }
}

/// How many lines a value takes as an entry of indented JSON.
fn as_json(value: &Value) -> usize {
    match value {
        Value::Object(members) if !members.is_empty() => 2 + members.values().map(as_json).sum::<usize>(),
        Value::Array(items) if !items.is_empty() => 2 + items.iter().map(as_json).sum::<usize>(),
        _ => 1,
    }
}

/// The last step of a pointer below another one.
fn relative(at: &Pointer, base: &Pointer) -> Pointer {
    at.segments()[base.segments().len()..].iter().fold(Pointer::ROOT, |below, segment| match segment {
        Segment::Key(key) => below.key(key.clone()),
        Segment::Index(index) => below.index(*index),
    })
}

struct MinimalDiff<'a> {
    document: &'a Document,
    text: &'a str,
    breaks: Vec<usize>,
}

impl<'a> MinimalDiff<'a> {
    fn of(document: &'a Document) -> Self {
        let text = document.source().text();
        let breaks = text.match_indices('\n').map(|(at, _)| at).collect();
        Self { document, text, breaks }
    }

    fn line(&self, offset: usize) -> usize {
        self.breaks.partition_point(|at| *at < offset)
    }

    /// The lines of a node, and of its key if it has one.
    fn lines(&self, at: &Pointer) -> Option<(usize, usize)> {
        let span = self.document.span(at)?;
        let start = self.document.key_span(at)?.start.min(span.start);
        let end = self.text[..span.end].trim_end().len().max(start + 1) - 1;
        let first = self.line(start);
        Some((self.block(at).map_or(first, |(head, _)| head.min(first)), self.line(end)))
    }

    /// The line that opens a text of several lines, and whether it keeps their ends.
    fn block(&self, at: &Pointer) -> Option<(usize, bool)> {
        let span = self.document.span(at)?;
        let (above, margin) = self.text[..span.start].rsplit_once('\n')?;
        let above = above.trim_end();
        let head = above.rsplit('\n').next()?;
        let word = head.split(" #").next()?.trim_end().rsplit([' ', ':']).next()?;
        let is_block = margin.trim().is_empty() && word.starts_with(['|', '>']) && word.len() < 4;
        is_block.then(|| (self.line(above.len()), word.starts_with('|')))
    }

    /// The line on which a node starts, without its key.
    fn first(&self, at: &Pointer) -> Option<usize> {
        Some(self.line(self.document.span(at)?.start))
    }

    fn is_bracketed(&self, at: &Pointer) -> bool {
        let span = self.document.span(at);
        span.is_some_and(|span| {
            let text = self.text[span].trim_start();
            let bare = text.trim_start_matches(['&', '!']);
            let bare = if bare.len() < text.len() {
                bare.split_once(char::is_whitespace).map_or("", |(_, rest)| rest)
            } else {
                bare
            };
            bare.trim_start().starts_with(['{', '['])
        })
    }

    /// Whether an entry is on the line of the dash of its list.
    fn is_inline(&self, at: &Pointer) -> bool {
        let Some(start) = self.document.key_span(at).map(|key| key.start) else {
            return false;
        };
        let line = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        self.text[line..start].contains('-')
    }

    /// The fewest lines for a node that becomes another value; `None` where that is not known.
    fn change(&self, at: &Pointer, before: &Value, after: &Value) -> Option<Lines> {
        if before == after {
            return Some(Lines::default());
        }
        match (before, after) {
            (Value::Object(old), Value::Object(new)) if !old.is_empty() && !new.is_empty() => {
                if self.is_bracketed(at) {
                    self.brackets(at, before, after)
                } else {
                    self.mapping(at, old, new)
                }
            }
            (Value::Array(old), Value::Array(new)) if !old.is_empty() && !new.is_empty() => {
                if self.is_bracketed(at) { self.brackets(at, before, after) } else { self.list(at, old, new) }
            }
            _ => self.other(at, before, after),
        }
    }

    /// What stands in brackets on one line is rewritten. Where every entry has lines of its own, the line that was
    /// last gets a comma when something comes behind it, and the one that becomes last loses its own; of other
    /// layouts nothing is known.
    fn brackets(&self, at: &Pointer, before: &Value, after: &Value) -> Option<Lines> {
        let (_, last) = self.lines(at)?;
        let first = self.first(at)?;
        if first == last {
            return Some(Lines { rewritten: [first].into(), ..Lines::default() });
        }
        let old: Vec<Pointer> = match before {
            Value::Object(members) => members.keys().map(|key| at.key(key.clone())).collect(),
            _ => (0..before.as_array()?.len()).map(|index| at.index(index)).collect(),
        };
        let spans: Vec<(usize, usize)> = old.iter().map(|at| self.lines(at)).collect::<Option<_>>()?;
        let is_apart = spans.windows(2).all(|pair| pair[0].1 < pair[1].0);
        if !is_apart || spans.first()?.0 <= first || spans.last()?.1 >= last {
            return None;
        }
        // What each new entry was, and how many lines it takes if it was nothing.
        let entries: Vec<(Option<usize>, &Value)> = match (before, after) {
            (Value::Object(old), Value::Object(new)) => {
                new.iter().map(|(key, is)| (old.get_index_of(key), is)).collect()
            }
            (Value::Array(old), Value::Array(new)) => aligned(old, new).into_iter().zip(new.iter()).collect(),
            _ => return None,
        };
        let mut lines = Lines::default();
        for (index, (first, last)) in spans.iter().enumerate() {
            if !entries.iter().any(|(origin, _)| *origin == Some(index)) {
                lines.gone.extend(*first..=*last);
            }
        }
        for (origin, is) in &entries {
            match origin {
                Some(index) => {
                    let was = before.pointed(&relative(&old[*index], at))?;
                    lines.join(&self.change(&old[*index], was, is)?);
                }
                None if self.document.is_json() => lines.come += as_json(is),
                None => lines.come += 1,
            }
        }
        let trailing = self.text[..self.document.span(&old[old.len() - 1])?.end.max(1)].len();
        let has_comma = self.text[trailing..].trim_start().starts_with(',');
        let was_last = old.len() - 1;
        match entries.last()?.0 {
            _ if has_comma => {}
            // Something new comes behind the line that was last and is still there.
            None => {
                let stays = entries.iter().rev().find_map(|(origin, _)| *origin)?;
                if stays == was_last {
                    lines.rewritten.insert(spans[was_last].1);
                }
            }
            Some(index) if index != was_last => {
                lines.rewritten.insert(spans[index].1);
            }
            Some(_) => {}
        }
        Some(lines)
    }

    /// The fewest lines for the whole document.
    fn all(&self, before: &Value, after: &Value) -> Option<usize> {
        let mut lines = self.change(&Pointer::ROOT, before, after)?;
        let range = self.document.range();
        let last = self.line(range.end.max(1) - 1);
        // A last line without an end gets one when something comes behind it.
        if range.end == self.text.len()
            && !self.text.ends_with('\n')
            && !lines.gone.contains(&last)
            && ends_anew(before, after)
        {
            lines.rewritten.insert(last);
        }
        Some(lines.all())
    }

    fn mapping(&self, at: &Pointer, old: &Map, new: &Map) -> Option<Lines> {
        let mut all = Lines::default();
        let mut opens = false;
        for (key, was) in old {
            let at = at.key(key.clone());
            match new.get(key) {
                Some(is) => {
                    all.join(&self.change(&at, was, is)?);
                    if std::mem::take(&mut opens) {
                        // What follows moves behind the dash.
                        all.rewritten.insert(self.lines(&at)?.0);
                    }
                }
                None => {
                    let (first, last) = self.lines(&at)?;
                    opens |= self.is_inline(&at);
                    all.gone.extend(first..=last);
                }
            }
        }
        let fresh: usize =
            new.iter().filter(|(key, _)| !old.contains_key(key)).map(|(_, is)| as_member(is)).sum();
        all.come += fresh;
        Some(all)
    }

    fn list(&self, at: &Pointer, old: &[Value], new: &[Value]) -> Option<Lines> {
        // The best way from every pair of rests of the two lists.
        let mut best: Vec<Vec<Option<Lines>>> = vec![vec![None; new.len() + 1]; old.len() + 1];
        best[old.len()][new.len()] = Some(Lines::default());
        for from in (0..=old.len()).rev() {
            for place in (0..=new.len()).rev() {
                let mut ways: Vec<Lines> = best[from][place].clone().into_iter().collect();
                if let (Some(is), Some(rest)) = (new.get(place), best[from].get(place + 1).cloned().flatten())
                {
                    ways.push(Lines { come: rest.come + as_element(is), ..rest });
                }
                if let (Some(_), Some(rest)) =
                    (old.get(from), best.get(from + 1).and_then(|row| row[place].clone()))
                {
                    let (first, last) = self.lines(&at.index(from))?;
                    let mut way = rest;
                    way.gone.extend(first..=last);
                    ways.push(way);
                }
                if let (Some(was), Some(is)) = (old.get(from), new.get(place))
                    && let Some(mut way) = best[from + 1][place + 1].clone()
                {
                    way.join(&self.change(&at.index(from), was, is)?);
                    ways.push(way);
                }
                best[from][place] = ways.into_iter().min_by_key(Lines::all);
            }
        }
        best.swap_remove(0).swap_remove(0)
    }

    /// A scalar or something empty, or something that becomes one.
    fn other(&self, at: &Pointer, before: &Value, after: &Value) -> Option<Lines> {
        let (first, last) = self.lines(at)?;
        let written = &self.text[self.document.span(at)?];
        let is_list = matches!(after, Value::Array(_));
        let below = |value: &Value| if is_list && !first_is_key(self, at) { as_element(value) } else { as_member(value) } - 1;
        let mut lines = Lines::default();
        if first == last && self.block(at).is_none() {
            let becomes_lines = before.is_null() && written.is_empty() && as_member(after) > 1;
            if !becomes_lines {
                lines.rewritten.insert(first);
            }
            // A text in quotes stays on its line.
            if !written.starts_with(['"', '\'']) || after.as_str().is_none() {
                lines.come += below(after);
            }
            return Some(lines);
        }
        if let (Some(was), Some(is)) = (before.as_str(), after.as_str())
            && let Some((head, true)) = self.block(at)
            && is.contains('\n')
        {
            let (was_lines, is_lines): (Vec<_>, Vec<_>) = (was.lines().collect(), is.lines().collect());
            let diff = similar::TextDiff::from_slices(&was_lines, &is_lines);
            for change in diff.iter_all_changes() {
                match change.tag() {
                    similar::ChangeTag::Equal => {}
                    similar::ChangeTag::Delete => {
                        lines.gone.insert(head + 1 + change.old_index()?);
                    }
                    similar::ChangeTag::Insert => lines.come += 1,
                }
            }
            if was.ends_with('\n') != is.ends_with('\n') {
                lines.rewritten.insert(head);
            }
            return Some(lines);
        }
        lines.rewritten.insert(first);
        lines.gone.extend(first + 1..=last);
        lines.come += below(after);
        Some(lines)
    }
}

/// Whether what is last in an object is new there.
fn ends_anew(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => new.last().is_some_and(|(key, is)| match old.get(key) {
            Some(was) => old.last().is_some_and(|(last, _)| last == key) && ends_anew(was, is),
            None => true,
        }),
        (Value::Array(old), Value::Array(new)) => match (old.last(), new.last()) {
            (Some(was), Some(is)) => was != is && (old.len() < new.len() || ends_anew(was, is)),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a node is a member, and so its first line that of a key.
fn first_is_key(minimal: &MinimalDiff<'_>, at: &Pointer) -> bool {
    let key = minimal.document.key_span(at).map(|key| key.start);
    key != minimal.document.span(at).map(|span| span.start)
}

fn kyv(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_kubectl-kyv")).args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json") {
            found.push(path);
        }
    }
}

fn documents(text: &str) -> Vec<Document> {
    read(&Arc::new(Source::new("", text)), &Limits::default()).unwrap_or_default()
}

/// The removed and added lines of a diff by their old line, from 0, for each file.
fn counted(diff: &str) -> BTreeMap<String, Vec<(usize, bool)>> {
    let mut found: BTreeMap<String, Vec<(usize, bool)>> = BTreeMap::new();
    let (mut name, mut line, mut left) = (String::new(), 0, (0, 0));
    for text in diff.lines() {
        if left == (0, 0) {
            if let Some(rest) = text.strip_prefix("--- a/") {
                name = rest.trim_end_matches('\t').to_owned();
            } else if let Some(rest) = text.strip_prefix("@@ -") {
                let (old, rest) = rest.split_once(" +").unwrap();
                let numbers = |text: &str| {
                    let (start, length) = text.split_once(',').unwrap_or((text, "1"));
                    (start.parse::<usize>().unwrap(), length.parse::<usize>().unwrap())
                };
                let (start, gone) = numbers(old);
                let (_, come) = numbers(rest.split_once(" @@").unwrap().0);
                line = if gone == 0 { start } else { start - 1 };
                left = (gone, come);
            }
            continue;
        }
        match text.as_bytes().first() {
            Some(b'-') => {
                found.entry(name.clone()).or_default().push((line, true));
                line += 1;
                left.0 -= 1;
            }
            Some(b'+') => {
                found.entry(name.clone()).or_default().push((line, false));
                left.1 -= 1;
            }
            Some(b'\\') => {}
            _ => {
                line += 1;
                left = (left.0 - 1, left.1 - 1);
            }
        }
    }
    found
}

#[test]
fn minimal_line_counts() {
    for (text, after, expected) in [
        ("a: 1\nb: 2\n", r#"{"a":1,"b":3}"#, (1, 1)),
        ("a: 1\n", r#"{"a":1,"b":{"c":[1,{"d":2,"e":3}]}}"#, (0, 5)),
        ("a:\n- x: 1\n  y: 2\n- z: 1\n", r#"{"a":[{"y":2},{"z":1}]}"#, (2, 1)),
        ("a:\n- x: 1\n  y: 2\n- z: 1\n", r#"{"a":[{"z":1}]}"#, (2, 0)),
        ("a: {b: 1, c: 2}\n", r#"{"a":{"b":2,"c":3,"d":4}}"#, (1, 1)),
        ("a: {}\n", r#"{"a":{"b":1}}"#, (1, 2)),
        ("a:\n", r#"{"a":{"b":1}}"#, (0, 1)),
        ("a:\n  b: 1\n  c: 1\n", r#"{"a":{}}"#, (3, 1)),
        ("a: |\n  x\n  y\nb: 1\n", r#"{"a":"x\nz\n","b":1}"#, (1, 1)),
        // What is new at the end of indented JSON puts a comma behind the line above it.
        ("{\n  \"a\": 1,\n  \"b\": 2\n}\n", r#"{"a":1,"b":2,"c":3}"#, (1, 2)),
        ("{\n  \"a\": 1,\n  \"b\": 2\n}\n", r#"{"a":1,"b":2,"c":{"d":[1]}}"#, (1, 6)),
        ("{\n  \"a\": 1,\n  \"b\": 2\n}\n", r#"{"a":1}"#, (2, 1)),
        ("{\n  \"a\": 1,\n  \"b\": 2\n}\n", r#"{"a":3,"b":2}"#, (1, 1)),
        ("{\n  \"a\": 1,\n  \"b\": 2\n}\n", r#"{"b":2}"#, (1, 0)),
        ("{\n  \"a\": [\n    1,\n    2\n  ]\n}\n", r#"{"a":[0,1,2]}"#, (0, 1)),
        ("{\n  \"a\": [\n    1,\n    2\n  ]\n}\n", r#"{"a":[1,2,3]}"#, (1, 2)),
        ("{\n  \"a\": {\n    \"b\": 1\n  }\n}\n", r#"{"a":{"b":1,"c":2}}"#, (1, 2)),
        // Brackets of YAML may have a comma behind the last entry.
        ("a: {\n  b: 1\n}\n", r#"{"a":{"b":1,"c":2}}"#, (1, 2)),
        ("a: {\n  b: 1,\n}\n", r#"{"a":{"b":1,"c":2}}"#, (0, 1)),
        ("a: [\n  1,\n  2,\n]\n", r#"{"a":[1]}"#, (1, 0)),
    ] {
        let documents = documents(text);
        let document = &documents[0];
        let after = Value::from_json(after).unwrap();
        let lines =
            MinimalDiff::of(document).change(&Pointer::ROOT, document.value().unwrap(), &after).unwrap();
        assert_eq!((lines.removed(), lines.added()), expected, "{text}");
        let edited = document.edited(&after).text;
        let diff = similar::TextDiff::from_lines(text, edited.as_str());
        let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        let made = (count(similar::ChangeTag::Delete), count(similar::ChangeTag::Insert));
        assert_eq!(made, expected, "{text}{edited}");
    }
}

#[test]
fn diffs_of_conformance_manifests_are_minimal() {
    let Some(root) = conformance_folder("minimal diffs of Kyverno's documents") else { return };
    let mut paths = Vec::new();
    files(&root, &mut paths);
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("none.yaml"), "a: b\n").unwrap();
    let (mut policies, mut manifests) = (Vec::new(), Vec::new());
    for path in paths {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let documents = documents(&text);
        let kinds: Vec<&str> =
            documents.iter().filter_map(|document| document.value()?.get("kind")?.as_str()).collect();
        let is_policy = kinds.iter().any(|kind| matches!(*kind, "ClusterPolicy" | "Policy"));
        if is_policy && text.contains("mutate:") {
            let name = format!("p{}.yaml", policies.len());
            fs::write(at(&name), &text).unwrap();
            if kyv(folder.path(), &["mutate", "-p", &name, "-f", "none.yaml"]).0 != Some(2) {
                policies.push(name);
            }
        } else if !is_policy
            && kinds.iter().any(|kind| !matches!(*kind, "Test" | "Values" | "UserInfo" | "Context"))
            && !manifests.iter().any(|(_, known)| *known == text)
        {
            manifests.push((path.strip_prefix(&root).unwrap().display().to_string(), text));
        }
    }
    // Evenly, so that all of them have their share.
    let (count, mut left) = (manifests.len(), 0);
    manifests.retain(|_| {
        left += FILES;
        let taken = left >= count;
        left -= if taken { count } else { 0 };
        taken
    });
    let (mut met, mut changed, mut rest) = (0, 0, Vec::new());
    let (mut fewer, mut needed, mut made) = (0, 0, 0);
    for (turn, some) in manifests.chunks(10).enumerate() {
        let chosen: Vec<&String> =
            policies.iter().cycle().skip(turn * 7).take(POLICIES.min(policies.len())).collect();
        for name in ["m", "c"] {
            fs::remove_dir_all(at(name)).ok();
            fs::create_dir(at(name)).unwrap();
            for (number, (_, text)) in some.iter().enumerate() {
                fs::write(at(name).join(format!("{number:03}.yaml")), text).unwrap();
            }
        }
        let mut arguments: Vec<&str> = chosen.iter().flat_map(|name| ["-p", name]).collect();
        arguments.extend(["--now", "2026-01-01T00:00:00Z"]);
        let run = |more: &[&str]| {
            let (code, out, said) = kyv(folder.path(), &[more, &arguments[..]].concat());
            assert!(matches!(code, Some(0 | 1 | 3)), "{said}");
            out
        };
        let diff = run(&["diff", "-f", "m", "--show-secrets"]);
        run(&["mutate", "-i", "--keep-going", "--canonical", "-f", "c"]);
        let counts = counted(&diff);
        for (number, (path, text)) in some.iter().enumerate() {
            let name = format!("{number:03}.yaml");
            let after = fs::read_to_string(at("c").join(&name)).unwrap();
            let (old, new) = (documents(text), documents(&after));
            assert_eq!(old.len(), new.len(), "{path}");
            let none = Vec::new();
            let edits = counts.get(&format!("m/{name}")).unwrap_or(&none);
            for (was, is) in old.iter().zip(&new) {
                let (Some(before), Some(after)) = (was.value(), is.value()) else { continue };
                if before == after {
                    continue;
                }
                changed += 1;
                let minimal = MinimalDiff::of(was);
                let range = was.range();
                let (first, last) = (minimal.line(range.start), minimal.line(range.end.max(1) - 1));
                // Lines added at the end of a document are numbered by the line after it.
                let own = edits.iter().filter(|(line, gone)| {
                    (first..=last).contains(line) && (*gone || *line > first || first == 0)
                        || !gone && *line == last + 1
                });
                let shown = own.count();
                match minimal.all(before, after) {
                    Some(least) if shown <= least => {
                        met += 1;
                        fewer += usize::from(shown < least);
                        needed += least;
                        made += shown;
                    }
                    least => {
                        let whole = diff.split("--- a/").find(|part| part.starts_with(&format!("m/{name}")));
                        rest.push(format!(
                            "{path}:{}: {shown} lines, needed {least:?}\n{}",
                            first + 1,
                            whole.unwrap_or_default()
                        ));
                    }
                }
            }
        }
    }
    let mut out = std::io::stderr().lock();
    writeln!(
        out,
        "{} files, {changed} changed documents, {met} with the fewest lines ({made} for {needed}; {fewer} below)",
        manifests.len()
    )
    .ok();
    rest.iter().for_each(|line| drop(writeln!(out, "{line}")));
    assert!(changed > 0 && met * 100 >= changed * 99, "{met} of {changed}:\n{}", rest.join("\n"));
}
