//! Wildcards: `*` is any run of characters, `?` exactly one.

use memchr::memmem;

/// Whether a text contains a wildcard.
pub fn is_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Whether a wildcard pattern matches a whole text, case-sensitively.
///
/// `*` matches any run of characters, also an empty one, `/` and line ends included; `?` matches exactly one code
/// point. Time is linear, but the product of both lengths where a `?` is between two `*`.
///
/// ```
/// assert!(kyv::pattern::matches("*:latest", "registry.example:5000/a/b:latest"));
/// assert!(!kyv::pattern::matches("nginx:?", "nginx:12"));
/// ```
#[inline]
pub fn matches(pattern: &str, text: &str) -> bool {
    // Fast paths: most patterns match everything, or are plain texts that differ at an end.
    if pattern == "*" || pattern == text {
        return true;
    }
    let is_other = |expected: &u8, found: &u8| expected != found && !matches!(expected, b'*' | b'?');
    match (pattern.as_bytes(), text.as_bytes()) {
        ([expected, ..], [found, ..]) if is_other(expected, found) => false,
        ([.., expected], [.., found]) if is_other(expected, found) => false,
        _ => matches_wildcards(pattern, text),
    }
}

fn matches_wildcards(pattern: &str, text: &str) -> bool {
    // Up to the first wildcard both must be equal.
    let is_same = |(expected, found): &(&u8, &u8)| expected == found && !matches!(expected, b'*' | b'?');
    let same = pattern.as_bytes().iter().zip(text.as_bytes()).take_while(is_same).count();
    if !matches!(pattern.as_bytes().get(same), Some(b'*' | b'?')) {
        return same == pattern.len() && same == text.len();
    }
    let mut segments = pattern[same..].split('*');
    let Some(mut rest) = segments.next().and_then(|first| after_start(first, &text[same..])) else {
        return false;
    };
    let Some(last) = segments.next_back() else { return rest.is_empty() };
    for segment in segments {
        // The first place leaves the most for the others.
        let Some(after) = after_first(segment, rest) else { return false };
        rest = after;
    }
    is_end(last, rest)
}

/// What comes after a part of a pattern without `*`, with which the text must begin.
fn after_start<'t>(segment: &str, text: &'t str) -> Option<&'t str> {
    let mut rest = text.chars();
    let is_start = segment.chars().all(|expected| rest.next().is_some_and(|found| is_match(expected, found)));
    is_start.then_some(rest.as_str())
}

/// What comes after the first place that a part of a pattern without `*` matches.
fn after_first<'t>(segment: &str, text: &'t str) -> Option<&'t str> {
    if segment.contains('?') {
        let mut starts = text.char_indices().map(|(at, _)| &text[at..]);
        return starts.find_map(|text| after_start(segment, text));
    }
    let at = memmem::find(text.as_bytes(), segment.as_bytes())?;
    Some(&text[at + segment.len()..])
}

/// Whether a text ends with what a part of a pattern without `*` matches.
fn is_end(segment: &str, text: &str) -> bool {
    let mut rest = text.chars().rev();
    segment.chars().rev().all(|expected| rest.next().is_some_and(|found| is_match(expected, found)))
}

const fn is_match(expected: char, found: char) -> bool {
    expected == '?' || expected == found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match() {
        for (pattern, text, expected) in [
            ("*", "s3:GetObject", true),
            ("", "x", false),
            ("", "", true),
            ("*", "", true),
            ("s3:*", "s3:ListMultipartUploadParts", true),
            ("s3:ListBucketMultipartUploads", "s3:ListBucket", false),
            ("my-bucket/oo*", "my-bucket/oo", true),
            ("my-bucket/In*", "my-bucket/India/Karnataka/", true),
            ("my-bucket/In*", "my-bucket/Karnataka/India/", false),
            ("my-bucket/In*/Ka*/Ban", "my-bucket/India/Karnataka/Ban", true),
            ("my-bucket/In*/Ka*/Ban", "my-bucket/India/Karnataka/Ban/Ban/Ban", true),
            ("my-bucket/In*/Ka*/Ban", "my-bucket/India/Karnataka/Bangalore", false),
            ("my-bucket/In*/Ka*/Ban*", "my-bucket/India/Karnataka/Bangalore", true),
            ("my-bucket?/abc*", "mybucket/abc", false),
            ("my-bucket?/abc*", "my-bucket1/abc", true),
            ("my-?-bucket/abc*", "my--bucket/abc", false),
            ("my??bucket/abc*", "my4abucket/abc", true),
            ("my-bucket?abc*", "my-bucket/abc", true),
            ("my-bucket/abc?efg", "my-bucket/abc/efg", true),
            ("my-bucket/abc????", "my-bucket/abcde", false),
            ("my-bucket/abc????", "my-bucket/abcdefg", true),
            ("my-bucket/mnop*?", "my-bucket/mnop", false),
            ("my-bucket/mnop*?", "my-bucket/mnopq", true),
            ("my-bucket/mnop*?and", "my-bucket/mnopand", false),
            ("my-bucket/mnop*?and", "my-bucket/mnopqand", true),
            ("my-bucket/mnop*?and", "my-bucket/mnopqanda", false),
            ("my-bucket/mnop*??", "my-bucket/mnopqrst", true),
            ("a?c", "aéc", true),
            ("*é?", "aéè", true),
            ("*é?", "aéèé", false),
            ("a*?b*c?", "axxbxcy", true),
            ("a*?b*c?", "abxcy", false),
            ("**a**", "bab", true),
            ("*ab*ab", "ab", false),
            ("*ab*ab", "abab", true),
            ("[a]", "a", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn long_patterns_are_matched_fast() {
        let (long, longer) = ("a".repeat(500_000), "a".repeat(1_000_000));
        assert!(!matches(&format!("*{long}b{long}*"), &longer));
        assert!(!matches(&format!("{}b", "a*".repeat(200)), &"a".repeat(20_000)));
    }
}
