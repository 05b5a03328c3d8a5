//! Names of files in diffs.

use std::fmt::Write as _;
use std::path::{Component, Path};

use crate::yaml::changes_direction;

/// The path of a file with a prefix, as Git writes it with `core.quotePath=false`: in quotes where necessary, with a tab
/// after a path with blanks. The root of the file system is left out.
pub(super) fn header_name(prefix: &str, path: &Path, suffix: &str) -> String {
    let mut bytes = prefix.as_bytes().to_vec();
    for component in path.components() {
        if let Component::Normal(name) = component {
            bytes.push(b'/');
            bytes.extend_from_slice(name.as_encoded_bytes());
        }
    }
    bytes.extend_from_slice(suffix.as_bytes());
    let mut out = String::with_capacity(bytes.len() + 2);
    let mut is_plain = true;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' => {
                    is_plain = false;
                    out.extend(['\\', c]);
                }
                c if is_shown(c) => out.push(c),
                c => {
                    is_plain = false;
                    octal(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut out);
                }
            }
        }
        is_plain &= chunk.invalid().is_empty();
        octal(chunk.invalid(), &mut out);
    }
    let end = if out.contains(' ') { "\t" } else { "" };
    if is_plain { format!("{out}{end}") } else { format!("\"{out}\"{end}") }
}

/// Whether a character is written as it is, because it has no effect on a terminal.
fn is_shown(c: char) -> bool {
    !c.is_control() && !changes_direction(c) && !matches!(c, '\u{2028}' | '\u{2029}')
}

fn octal(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        match byte {
            b'\t' => out.push_str("\\t"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            byte => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_git_does() {
        for (path, expected) in [
            ("x/y.yaml", "a/x/y.yaml"),
            ("./x//y.yaml", "a/x/y.yaml"),
            ("/x/y.yaml", "a/x/y.yaml"),
            ("my file.yaml", "a/my file.yaml\t"),
            ("ünï.yaml", "a/ünï.yaml"),
            ("a\"b\\c.yaml", "\"a/a\\\"b\\\\c.yaml\""),
            ("a\nb\u{1b}\u{202e}.yaml", "\"a/a\\nb\\033\\342\\200\\256.yaml\""),
        ] {
            assert_eq!(header_name("a", Path::new(path), ""), expected, "{path:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_not_utf8_are_written_as_numbers() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;

        let path = Path::new(OsStr::from_bytes(b"a\xff.yaml"));
        assert_eq!(header_name("b", path, ""), "\"b/a\\377.yaml\"");
    }
}
