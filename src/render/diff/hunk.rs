//! Hunks: changed lines with the unchanged lines around them.

use std::fmt::Write as _;
use std::ops::Range;

use crate::render::printable::{printable, printable_line};

use super::lines::{Edit, edits, lines};
use super::{DiffStyle, Palette, words};

/// A change of lines.
#[derive(Debug)]
pub(super) struct Change<'a> {
    /// The removed lines, as indexes in the old text.
    pub(super) old: Range<usize>,
    /// The added lines, as they are shown.
    pub(super) new: Vec<&'a str>,
    /// Whether the added lines show the mask of a secret.
    pub(super) masked: bool,
    /// The object that changes; empty if it is not named.
    pub(super) object: &'a str,
    /// The rules that changed the lines, for annotated diffs.
    pub(super) rules: &'a [String],
}

/// All changes of a text.
pub(super) struct Changes<'a> {
    /// The lines of the old text as they are shown.
    pub(super) old: &'a [&'a str],
    /// The same lines, not masked.
    pub(super) real: &'a [&'a str],
    pub(super) changes: Vec<Change<'a>>,
}

impl<'a> Changes<'a> {
    /// The changes of one object with the rules behind each edit, if they are known.
    pub(super) fn of_object(
        object: &'a str,
        (old, new): (&'a [&'a str], &[&'a str]),
        edits: &[Edit],
        rules: &'a [Vec<String>],
    ) -> Self {
        let change = |(index, edit): (usize, &Edit)| Change {
            old: edit.old.clone(),
            new: new[edit.new.clone()].to_vec(),
            masked: false,
            object,
            rules: rules.get(index).map_or(&[], Vec::as_slice),
        };
        Self { old, real: old, changes: edits.iter().enumerate().map(change).collect() }
    }

    /// Writes the hunks; returns whether they show the mask of a secret.
    pub(super) fn print(&self, style: &DiffStyle, out: &mut String) -> bool {
        let mut masked = false;
        // The number of added lines minus that of removed ones so far.
        let mut growth = 0;
        let mut first = 0;
        // How many of the unchanged lines before it the hunk may contain.
        let mut above = style.context;
        while first < self.changes.len() {
            let (mut end, mut below) = (first + 1, style.context);
            while let Some(next) = self.changes.get(end) {
                let last = &self.changes[end - 1];
                let gap = next.old.start - last.old.end;
                // Both contexts have the same length: programs that apply diffs take a shorter one for the end of the file.
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
            masked |= self.hunk(&hunk, &mut growth, style, out);
            above = below;
            first = end;
        }
        masked
    }

    fn hunk(&self, hunk: &Hunk<'_, 'a>, growth: &mut isize, style: &DiffStyle, out: &mut String) -> bool {
        let (Some(first), Some(last)) = (hunk.changes.first(), hunk.changes.last()) else { return false };
        let start = first.old.start.saturating_sub(hunk.context);
        let end = last.old.end.saturating_add(hunk.context).min(self.old.len());
        let removed: usize = hunk.changes.iter().map(|change| change.old.len()).sum();
        let added: usize = hunk.changes.iter().map(|change| change.new.len()).sum();
        let new_length = end - start - removed + added;
        let head = format!(
            "@@ -{} +{} @@",
            numbers(start, end - start),
            numbers(start.saturating_add_signed(*growth), new_length)
        );
        *growth += added as isize - removed as isize;
        match hunk.title() {
            title if title.is_empty() => style.palette.paint("36", &head, out),
            title => style.palette.paint("36", &format!("{head} {title}"), out),
        }
        out.push('\n');
        let mut masked = false;
        let mut at = start;
        for change in hunk.changes {
            self.context(at..change.old.start, style.palette, out);
            print_change(&self.old[change.old.clone()], &change.new, style.palette, out);
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

/// The most objects that are named in the header of a hunk.
const NAMED_OBJECTS: usize = 8;

/// Changes that are close to each other.
struct Hunk<'h, 'a> {
    changes: &'h [Change<'a>],
    /// The number of unchanged lines above and below.
    context: usize,
}

impl Hunk<'_, '_> {
    /// The objects that change, each with its rules.
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
        let mut title = objects.iter().take(NAMED_OBJECTS).map(one).collect::<Vec<_>>().join("; ");
        if objects.len() > NAMED_OBJECTS {
            let _ = write!(title, "; and {} more", objects.len() - NAMED_OBJECTS);
        }
        title
    }
}

/// A range of lines in the header of a hunk.
fn numbers(start: usize, length: usize) -> String {
    match length {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}

/// Writes removed lines and those added in their place.
fn print_change(old: &[&str], new: &[&str], palette: Palette, out: &mut String) {
    let (mut removed, mut added) = (vec![Vec::new(); old.len()], vec![Vec::new(); new.len()]);
    if palette == Palette::Ansi {
        for (index, (old, new)) in old.iter().zip(new).enumerate() {
            if let Some(parts) = words::differing(content(old), content(new)) {
                (removed[index], added[index]) = parts;
            }
        }
    }
    for (line, parts) in old.iter().zip(&removed) {
        print_line('-', line, parts, palette, out);
    }
    for (line, parts) in new.iter().zip(&added) {
        print_line('+', line, parts, palette, out);
    }
}

/// A line without its end.
fn content(line: &str) -> &str {
    line.strip_suffix('\n').map_or(line, |line| line.trim_end_matches('\r'))
}

/// Writes a line with its sign; with colours, the marked parts are inverted.
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
            let text = content(line);
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

/// Writes the differences of two texts, without a header.
pub(in crate::render) fn hunks(before: &str, after: &str, style: &DiffStyle, out: &mut String) {
    let (old, new) = (lines(before), lines(after));
    Changes::of_object("", (&old, &new), &edits(&old, &new), &[]).print(style, out);
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
    fn hunks_contain_the_lines_around_a_change() {
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
    fn a_missing_line_break_at_the_end_is_shown() {
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
    fn annotated_hunks_contain_the_changes_of_one_rule() {
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
