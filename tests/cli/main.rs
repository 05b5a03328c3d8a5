//! The command line.

mod cases;
mod cel;
mod check;
mod choice;
mod codes;
mod commands;
mod convert;
mod diagnostics;
mod diff;
mod explain;
mod external_diff;
mod folder;
mod formats;
mod help;
mod in_place;
mod inputs;
mod jp;
mod json_schema;
mod lint;
mod machine_formats;
mod order;
mod places;
mod properties;
mod screen;
mod warnings;
mod words;
