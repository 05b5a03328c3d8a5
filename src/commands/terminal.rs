//! The size of the terminal.

use std::env;
use std::io::IsTerminal;

use terminal_size::terminal_size;

/// The most characters of a line on a stream: `COLUMNS`, or else the width of the terminal; `None` for any number.
pub(super) fn width(stream: &impl IsTerminal) -> Option<usize> {
    let set =
        env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    set.or_else(|| stream.is_terminal().then(size).flatten().map(|(columns, _)| columns))
}

/// Columns and rows of the terminal; `None` if they are not known.
pub(super) fn size() -> Option<(usize, usize)> {
    let (columns, rows) = terminal_size()?;
    (columns.0 > 0 && rows.0 > 0).then(|| (columns.0.into(), rows.0.into()))
}

/// Whether the terminal has nothing but lines.
pub(super) fn is_dumb() -> bool {
    env::var_os("TERM").is_none_or(|terminal| terminal == "dumb" || terminal.is_empty())
}
