//! Files that can be read in one sitting.

use std::fs;

use crate::layers::rust_files;
use crate::source_tree::src;

/// The most lines of a file in `src`. For functions there is clippy's `too_many_lines`.
const FILE_LINES: usize = 600;

#[test]
fn no_file_over_600_lines() {
    let lines = |file: &_| fs::read_to_string(file).expect("a file of `src`").lines().count();
    let long = rust_files(&src()).into_iter().filter(|file| lines(file) > FILE_LINES);
    let long: Vec<String> = long.map(|file| file.display().to_string()).collect();
    assert!(long.is_empty(), "more than {FILE_LINES} lines\n{}", long.join("\n"));
}
