//! The documents below `docs/`: what they show is what the program does.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

mod diagnostics;
mod divergences;
mod links;
mod readability;
mod site;
