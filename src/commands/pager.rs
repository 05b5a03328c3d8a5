//! The pager that shows long results on a terminal, as git runs it.

use std::env;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Read, Write as _};
use std::process::{Child, Command, Stdio};

use super::terminal;

/// The pager where none is set.
const DEFAULT: &str = "less";

/// What `less` and `lv` read their options from, and those that git sets: quit if one screen is enough, keep colours,
/// leave the screen as it is.
const VARIABLES: [(&str, &str); 2] = [("LESS", "FRX"), ("LV", "-c")];

/// How a shell ends if there is no such program, or it cannot be run.
const NOT_RUN: [i32; 2] = [126, 127];

/// The program that shows long results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pager {
    /// A command for the shell.
    command: String,
}

impl Pager {
    /// The pager of standard output; `None` if that is no terminal, or if there should be no pager.
    pub(super) fn of_stdout() -> Option<Self> {
        let is_terminal = io::stdout().is_terminal() && !terminal::is_dumb();
        is_terminal.then(|| Self::chosen(|name| env::var(name).ok())).flatten()
    }

    /// The pager of `KYV_PAGER`, or else of `PAGER`. An empty one and `cat` are none.
    fn chosen(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let command =
            variable("KYV_PAGER").or_else(|| variable("PAGER")).unwrap_or_else(|| DEFAULT.to_owned());
        let command = command.trim();
        (!command.is_empty() && command != "cat").then(|| Self { command: command.to_owned() })
    }

    /// Shows a text, and waits until the user ends the pager. Returns whether the text was shown: a pager that cannot be
    /// started shows nothing. A pager that ends early is no error.
    pub(super) fn show(&self, text: &mut impl Read) -> io::Result<bool> {
        let _interrupts = Interrupts::ignore();
        let Ok(mut pager) = self.start() else { return Ok(false) };
        let written = pager.stdin.take().map_or(Ok(0), |mut input| io::copy(text, &mut input));
        let ended = pager.wait()?;
        if ended.code().is_some_and(|code| NOT_RUN.contains(&code)) {
            return Ok(false);
        }
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(true),
        }
    }

    fn start(&self) -> io::Result<Child> {
        io::stdout().flush()?;
        let mut command = shell(&self.command);
        for (name, value) in VARIABLES {
            if env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        command.stdin(Stdio::piped()).spawn()
    }
}

/// A command line as a process. Without spaces and special characters no shell is needed.
fn shell(line: &str) -> Command {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:\\".contains(c);
    if line.chars().all(is_plain) {
        return Command::new(line);
    }
    let (program, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut command = Command::new(program);
    command.args([option, line]);
    command
}

/// Whether a text has more lines than the terminal, where long lines take several.
pub(super) fn is_longer_than_screen(text: &mut impl Read) -> io::Result<bool> {
    // Without a size, the pager decides.
    let Some((columns, rows)) = terminal::size() else { return Ok(true) };
    is_longer(text, columns, rows)
}

fn is_longer(text: &mut impl Read, columns: usize, rows: usize) -> io::Result<bool> {
    let mut text = BufReader::new(text);
    let mut line = Vec::new();
    let mut used = 0;
    // The last row is the prompt.
    while used < rows {
        line.clear();
        if text.read_until(b'\n', &mut line)? == 0 {
            return Ok(false);
        }
        used += shown_length(&line).div_ceil(columns).max(1);
    }
    Ok(true)
}

/// The number of characters of a line without colours.
fn shown_length(line: &[u8]) -> usize {
    let mut length = 0;
    let mut is_escape = false;
    for c in String::from_utf8_lossy(line).chars() {
        match c {
            '\x1b' => is_escape = true,
            _ if is_escape => is_escape = !c.is_ascii_alphabetic(),
            '\n' | '\r' => {}
            _ => length += 1,
        }
    }
    length
}

/// While it lives, an interrupt from the keyboard is for the pager alone.
struct Interrupts {
    #[cfg(unix)]
    registered: Option<signal_hook::SigId>,
}

impl Interrupts {
    fn ignore() -> Self {
        Self {
            #[cfg(unix)]
            registered: {
                let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
                signal_hook::flag::register(signal_hook::consts::SIGINT, flag).ok()
            },
        }
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(registered) = self.registered {
            signal_hook::low_level::unregister(registered);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pager_is_chosen_as_in_git() {
        let chosen = |own: Option<&str>, general: Option<&str>| {
            let variable = |name: &str| if name == "KYV_PAGER" { own } else { general }.map(str::to_owned);
            Pager::chosen(variable).map(|pager| pager.command)
        };
        for (own, general, expected) in [
            (None, None, Some("less")),
            (None, Some("more -s"), Some("more -s")),
            (Some("bat"), Some("more"), Some("bat")),
            (Some(""), Some("more"), None),
            (Some("cat"), None, None),
            (None, Some(""), None),
            (None, Some("cat"), None),
        ] {
            assert_eq!(chosen(own, general).as_deref(), expected, "{own:?} {general:?}");
        }
    }

    #[test]
    fn long_lines_count_as_several() {
        let is_longer = |text: &str| is_longer(&mut text.as_bytes(), 10, 4).unwrap();
        assert!(!is_longer("1\n2\n3\n"));
        assert!(is_longer("1\n2\n3\n4\n"));
        assert!(is_longer("12345678901\n3\n4"));
        assert!(!is_longer("\x1b[31m1234567890\x1b[0m\n2\n3\n"));
        assert!(is_longer("\n\n\n\n"));
    }
}
