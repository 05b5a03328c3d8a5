//! Numbers and lists of names in sentences.

/// How many names a list has before the rest is counted.
const LISTED_NAMES: usize = 10;

/// A number of things: `1 file`, `2 files`.
pub fn counted(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// The first names, and how many more there are.
pub fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(LISTED_NAMES);
    let first: Vec<String> = names.take(LISTED_NAMES).collect();
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{tail}", first.join(", "))
}
