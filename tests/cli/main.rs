//! The command line.

mod commands;
mod diff;
mod explain;
mod in_place;
mod jp;
mod properties;
