//! Files that can be read in one sitting.

use std::collections::BTreeSet;
use std::fs;

use crate::layers::rust_files;
use crate::source_tree::src;

/// The most lines of a file in `src`. Functions are clippy's `too_many_lines`.
const FILE_LINES: usize = 600;

/// Files that are known to be longer. None may be added; one that no longer is has to go from here.
const KNOWN: &[&str] = &[];

#[test]
fn no_file_over_600_lines() {
    let lines = |file: &_| fs::read_to_string(file).expect("a file of `src`").lines().count();
    let long = rust_files(&src()).into_iter().filter(|file| lines(file) > FILE_LINES);
    let long: BTreeSet<String> =
        long.map(|file| file.strip_prefix(src()).expect("below `src`").display().to_string()).collect();
    let known: BTreeSet<String> = KNOWN.iter().map(|&file| file.to_owned()).collect();
    let new: Vec<&str> = long.difference(&known).map(String::as_str).collect();
    let gone: Vec<&str> = known.difference(&long).map(String::as_str).collect();
    assert!(new.is_empty(), "more than {FILE_LINES} lines\n{}", new.join("\n"));
    assert!(
        gone.is_empty(),
        "no longer than {FILE_LINES} lines any more: delete from KNOWN\n{}",
        gone.join("\n")
    );
}
