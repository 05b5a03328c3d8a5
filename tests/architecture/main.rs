//! Rules about `src` that the compiler does not check: which module may use which, no circles of files, sizes, errors
//! that are types.

mod file_cycles;
mod layers;
mod public_api;
mod signatures;
mod sizes;
mod source_tree;
