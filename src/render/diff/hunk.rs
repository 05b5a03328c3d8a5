//! Hunks: changed lines with the lines around them.

use std::fmt::Write as _;
use std::ops::Range;

use crate::render::printable::{printable, printable_line};

use super::lines::{Edit, edits, lines};
use super::{DiffStyle, Palette, words};

/// A change of lines.
#[derive(Debug)]
pub(super) struct Change<'a> {
    /// The lines that go, by their numbers in the old text.
    pub(super) old: Range<usize>,
    /// The lines that come, as they are shown.
    pub(super) new: Vec<&'a str>,
    /// Whether the new lines show a placeholder of a secret.
    pub(super) masked: bool,
    /// The object that changes; empty where that goes without saying.
    pub(super) object: &'a str,
    /// The rules that made the change, for annotated diffs.
    pub(super) rules: &'a [String],
}

/// All changes of a text.
pub(super) struct Changes<'a> {
    /// The lines of the old text as they are shown.
    pub(super) old: &'a [&'a str],
    /// The same lines as they are.
    pub(super) real: &'a [&'a str],
    pub(super) changes: Vec<Change<'a>>,
}

impl<'a> Changes<'a> {
    /// What leads from one text to another.
    pub(super) fn between(old: &'a [&'a str], new: &'a [&'a str]) -> Self {
        let change = |Edit { old, new: come }: Edit| Change {
            old,
            new: new[come].to_vec(),
            masked: false,
            object: "",
            rules: &[],
        };
        Self { old, real: old, changes: edits(old, new).into_iter().map(change).collect() }
    }

    /// Writes the hunks; whether they show a placeholder of a secret.
    pub(super) fn print(&self, style: &DiffStyle, out: &mut String) -> bool {
        let mut masked = false;
        let mut grown = 0;
        let mut first = 0;
        // How many unchanged lines the hunk may take of what stands before it.
        let mut above = style.context;
        while first < self.changes.len() {
            let (mut end, mut below) = (first + 1, style.context);
            while let Some(next) = self.changes.get(end) {
                let last = &self.changes[end - 1];
                let gap = next.old.start - last.old.end;
                // Two contexts of the same length: what applies diffs takes a shorter one for an end of the file.
                if gap > style.context.saturating_mul(2) {
                    break;
                }
                if gap >= 2 && (last.object, last.rules) != (next.object, next.rules) && style.annotate {
                    below = gap / 2;
                    break;
                }
                end += 1;
            }
            let context = above.min(below).min(style.context);
            let hunk = Hunk { changes: &self.changes[first..end], context };
            masked |= self.hunk(&hunk, &mut grown, style, out);
            above = below;
            first = end;
        }
        masked
    }

    fn hunk(&self, hunk: &Hunk<'_, 'a>, grown: &mut isize, style: &DiffStyle, out: &mut String) -> bool {
        let (Some(first), Some(last)) = (hunk.changes.first(), hunk.changes.last()) else { return false };
        let start = first.old.start.saturating_sub(hunk.context);
        let end = last.old.end.saturating_add(hunk.context).min(self.old.len());
        let gone: usize = hunk.changes.iter().map(|change| change.old.len()).sum();
        let come: usize = hunk.changes.iter().map(|change| change.new.len()).sum();
        let new_length = end - start - gone + come;
        let head = format!(
            "@@ -{} +{} @@",
            numbers(start, end - start),
            numbers(start.saturating_add_signed(*grown), new_length)
        );
        *grown += come as isize - gone as isize;
        match hunk.title() {
            title if title.is_empty() => style.palette.paint("36", &head, out),
            title => style.palette.paint("36", &format!("{head} {title}"), out),
        }
        out.push('\n');
        let mut masked = false;
        let mut at = start;
        for change in hunk.changes {
            self.context(at..change.old.start, style.palette, out);
            let was = &self.old[change.old.clone()];
            print_change(was, &change.new, style.palette, out);
            masked |= change.masked;
            at = change.old.end;
        }
        self.context(at..end, style.palette, out);
        masked || (start..end).any(|line| self.old[line] != self.real[line])
    }

    fn context(&self, lines: Range<usize>, palette: Palette, out: &mut String) {
        for line in &self.old[lines] {
            print_line(' ', line, &[], palette, out);
        }
    }
}

/// So many objects are named in the head of a hunk.
const NAMED: usize = 8;

/// Changes that stand close to each other.
struct Hunk<'h, 'a> {
    changes: &'h [Change<'a>],
    /// How many unchanged lines are shown above and below.
    context: usize,
}

impl Hunk<'_, '_> {
    /// The objects that change, each with the rules that changed it.
    fn title(&self) -> String {
        let mut objects: Vec<(&str, Vec<&str>)> = Vec::new();
        for change in self.changes.iter().filter(|change| !change.object.is_empty()) {
            let rules = change.rules.iter().map(String::as_str);
            match objects.last_mut().filter(|(object, _)| *object == change.object) {
                Some((_, known)) => {
                    for rule in rules {
                        if !known.contains(&rule) {
                            known.push(rule);
                        }
                    }
                }
                None => objects.push((change.object, rules.collect())),
            }
        }
        let one = |(object, rules): &(&str, Vec<&str>)| match rules.as_slice() {
            [] => printable_line(object),
            rules => printable_line(&format!("{object}: {}", rules.join(", "))),
        };
        let mut title = objects.iter().take(NAMED).map(one).collect::<Vec<_>>().join("; ");
        if objects.len() > NAMED {
            let _ = write!(title, "; and {} more", objects.len() - NAMED);
        }
        title
    }
}

/// Lines as the head of a hunk counts them.
fn numbers(start: usize, length: usize) -> String {
    match length {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}

/// Writes lines that go and those that come in their place.
fn print_change(old: &[&str], new: &[&str], palette: Palette, out: &mut String) {
    let (mut gone, mut come) = (vec![Vec::new(); old.len()], vec![Vec::new(); new.len()]);
    if palette == Palette::Ansi {
        for (index, (was, is)) in old.iter().zip(new).enumerate() {
            if let Some(parts) = words::differing(content(was).0, content(is).0) {
                (gone[index], come[index]) = parts;
            }
        }
    }
    for (line, parts) in old.iter().zip(&gone) {
        print_line('-', line, parts, palette, out);
    }
    for (line, parts) in new.iter().zip(&come) {
        print_line('+', line, parts, palette, out);
    }
}

/// A line and its end.
fn content(line: &str) -> (&str, &str) {
    let length = line.strip_suffix('\n').map_or(line.len(), |line| line.trim_end_matches('\r').len());
    line.split_at(length)
}

/// Writes a line with its sign; on a terminal with colours, some parts of it marked.
fn print_line(sign: char, line: &str, marked: &[Range<usize>], palette: Palette, out: &mut String) {
    let code = match sign {
        '-' => "31",
        '+' => "32",
        _ => "",
    };
    match palette {
        Palette::Plain => {
            out.push(sign);
            out.push_str(line);
        }
        Palette::Ansi => {
            let (text, _) = content(line);
            let mut shown = String::from(sign);
            let mut at = 0;
            for part in marked {
                shown.push_str(&printable(&text[at..part.start]));
                shown.push_str("\u{1b}[7m");
                shown.push_str(&printable(&text[part.clone()]));
                shown.push_str("\u{1b}[27m");
                at = part.end;
            }
            shown.push_str(&printable(&text[at..]));
            if code.is_empty() {
                out.push_str(&shown);
            } else {
                palette.paint(code, &shown, out);
            }
            if line.ends_with('\n') {
                out.push('\n');
            }
        }
    }
    if !line.ends_with('\n') {
        out.push_str("\n\\ No newline at end of file\n");
    }
}

/// What differs between two texts, without a header.
pub(in crate::render) fn hunks(before: &str, after: &str, style: &DiffStyle, out: &mut String) {
    let (old, new) = (lines(before), lines(after));
    Changes::between(&old, &new).print(style, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str, context: usize) -> String {
        let mut out = String::new();
        hunks(old, new, &DiffStyle { context, ..DiffStyle::default() }, &mut out);
        out
    }

    #[test]
    fn hunks_hold_the_lines_around() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        assert_eq!(shown(old, &old.replace("5\n", "x\ny\n"), 1), "@@ -4,3 +4,4 @@\n 4\n-5\n+x\n+y\n 6\n");
        assert_eq!(
            shown(old, &old.replace("1\n", "").replace("9\n", "9\n0\n"), 0),
            "@@ -1 +0,0 @@\n-1\n@@ -9,0 +9 @@\n+0\n"
        );
        assert_eq!(shown(old, &old.replace('1', "x").replace('5', "y"), 3).matches("@@ -").count(), 1);
        assert_eq!(shown(old, &old.replace('1', "x").replace('9', "y"), 3).matches("@@ -").count(), 2);
        assert_eq!(shown("", "a\n", 3), "@@ -0,0 +1 @@\n+a\n");
    }

    #[test]
    fn the_end_of_a_file_is_told() {
        assert_eq!(
            shown("a\nb", "a\nc", 3),
            "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
        );
        assert_eq!(shown("a\nb", "c\nb", 3), "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n");
    }

    #[test]
    fn words_are_marked_and_terminals_are_safe() {
        let mut out = String::new();
        let style = DiffStyle { palette: Palette::Ansi, ..DiffStyle::default() };
        hunks("a: b:1\r\n", "a: b:2\u{1b}[2J\r\n", &style, &mut out);
        assert!(out.contains("\u{1b}[31m-a: b:\u{1b}[7m1\u{1b}[27m\u{1b}[0m\n"), "{out:?}");
        assert!(!out.contains("[2J\r") && out.contains("\u{fffd}[2J"), "{out:?}");
    }

    #[test]
    fn with_rules_a_hunk_holds_what_one_rule_made() {
        let old: Vec<String> = (1..=9).map(|line| format!("{line}\n")).collect();
        let old: Vec<&str> = old.iter().map(String::as_str).collect();
        let (one, other) = (vec!["p/one".to_owned()], vec!["p/other".to_owned()]);
        let change = |at: usize, rules| Change {
            old: at..at + 1,
            new: vec!["x\n"],
            masked: false,
            object: "Pod/web",
            rules,
        };
        let changes = |style: &DiffStyle| {
            let mut out = String::new();
            let changes = vec![change(0, &one), change(4, &other), change(6, &other), change(7, &one)];
            Changes { old: &old, real: &old, changes }.print(style, &mut out);
            out.lines().filter(|line| line.starts_with('@')).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(changes(&DiffStyle::default()), ["@@ -1,9 +1,9 @@ Pod/web: p/one, p/other"]);
        let annotated = DiffStyle { annotate: true, ..DiffStyle::default() };
        assert_eq!(
            changes(&annotated),
            ["@@ -1,2 +1,2 @@ Pod/web: p/one", "@@ -4,6 +4,6 @@ Pod/web: p/other, p/one"]
        );
    }
}
