//! When output is coloured.

use std::io::{self, IsTerminal as _};

use clap::ValueEnum;

use crate::render::Palette;

/// When diffs are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// How a diff on standard output is coloured.
    pub(super) fn palette(self) -> Palette {
        if self.is_wanted(io::stdout().is_terminal()) { Palette::Ansi } else { Palette::Plain }
    }

    /// Whether a text is coloured.
    pub(super) fn is_wanted(self, is_terminal: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
                    || std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
                !plain && is_terminal
            }
        }
    }
}
