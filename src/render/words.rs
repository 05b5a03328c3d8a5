//! Numbers and lists of names in sentences.

/// The most names in a list; the rest is counted.
const LISTED_NAMES: usize = 10;

/// A number with a noun: `1 file`, `2 files`.
pub fn counted(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// A number with commas between thousands: `9,000`.
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A name and the number of others that are like it: `Pod/web and 2 more`.
pub fn and_more(first: &str, others: usize) -> String {
    if others == 0 { first.to_owned() } else { format!("{first} and {others} more") }
}

/// The first ten names and the number of the others.
pub fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    first_names(LISTED_NAMES, names)
}

/// The first names and the number of the others.
pub fn first_names(limit: usize, names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(limit);
    let first: Vec<String> = names.take(limit).collect();
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{tail}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_parted() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1000, "1,000"), (12345, "12,345"), (1_234_567, "1,234,567")]
        {
            assert_eq!(thousands(number), text);
        }
    }
}
