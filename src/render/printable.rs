//! Text from objects and policies, safe for a terminal and for the log of a CI server.

use std::fmt::Write as _;

use crate::yaml::changes_direction;

/// The text without control characters, other than line breaks and tabs, and without characters that change the
/// direction of writing. What a CI server would take for a command has a backslash in it.
pub fn printable(text: &str) -> String {
    without_commands(safe(text, |c| matches!(c, '\n' | '\t')))
}

/// A name on one line: as [`printable`], and without line breaks and tabs.
pub fn printable_line(text: &str) -> String {
    without_commands(safe(text, |_| false))
}

/// Commands in a log: of GitHub `::name::text` as a line and `##[name]` anywhere, of Azure Pipelines `##vso[name]` anywhere.
fn without_commands(text: String) -> String {
    let has_command = text.contains("##[") || text.contains("##vso[");
    let text = if has_command { text.replace("##[", "#\\#[").replace("##vso[", "#\\#vso[") } else { text };
    if !text.contains("::") {
        return text;
    }
    let line = |line: &str| {
        let command = line.trim_start();
        let indent = line.len() - command.len();
        if command.starts_with("::") { format!("{}\\{command}", &line[..indent]) } else { line.to_owned() }
    };
    text.split_inclusive('\n').map(line).collect()
}

fn safe(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let is_safe = |c: char| is_kept(c) || !c.is_control() && !changes_direction(c);
    text.chars().map(|c| if is_safe(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// JSON with escapes for the characters in its strings that a terminal does not show as they are.
pub fn printable_json(json: String) -> String {
    // DEL, and the first bytes of the others.
    if memchr::memchr3(0x7f, 0xc2, 0xe2, json.as_bytes()).is_none() {
        return json;
    }
    let is_shown = |c: char| !matches!(c, '\u{7f}'..='\u{9f}') && !changes_direction(c);
    if json.chars().all(is_shown) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_shown(c) {
            out.push(c);
        } else {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_do_not_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[31m\n\tb"), "a\u{fffd}[31m\n\tb");
        assert_eq!(printable_line("a\n\u{202e}b"), "a\u{fffd}\u{fffd}b");
    }

    #[test]
    fn json_stays_equal() {
        let text = "[\"a\u{7f}\u{9b}\u{202e}é\"]";
        assert_eq!(printable_json(text.to_owned()), "[\"a\\u007f\\u009b\\u202eé\"]");
        assert_eq!(printable_json("[\"é\"]".to_owned()), "[\"é\"]");
    }

    #[test]
    fn commands_do_not_reach_a_ci_server() {
        assert_eq!(printable("a::b\n ::error::x\n::y"), "a::b\n \\::error::x\n\\::y");
        assert_eq!(printable_line("a ##[error]x ##vso[task]y"), "a #\\#[error]x #\\#vso[task]y");
    }
}
