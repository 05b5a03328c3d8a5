//! Against API servers: real ones, stubs that fail, and real ones with Kyverno's controllers.

mod admission_policies;
mod admission_types;
mod admitted_view;
mod apply;
mod controllers;
mod conversions;
mod flux;
mod impact;
mod live;
mod mutating_policies;
mod network_faults;
mod render;
mod resources;
mod words;
