//! Wildcards: `*` is any run of characters, `?` exactly one.

/// Whether a text contains a wildcard.
pub fn is_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Whether a wildcard pattern matches a whole text, case-sensitively.
///
/// `*` matches any run of characters, also an empty one, `/` and line ends included; `?` matches exactly one code
/// point. Worst-case time is the product of both lengths; there is no recursion.
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
    let mut pattern = pattern[same..].chars();
    let mut text = text[same..].chars();
    // Where to continue after a mismatch: after the last `*`, one character later.
    let mut retry = None;
    loop {
        let mut ahead = pattern.clone();
        match (ahead.next(), text.clone().next()) {
            (Some('*'), _) => {
                pattern = ahead;
                retry = Some((pattern.clone(), text.clone()));
                if pattern.as_str().is_empty() {
                    return true;
                }
                continue;
            }
            (Some(expected), Some(found)) if expected == '?' || expected == found => {
                pattern = ahead;
                text.next();
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        let Some((after_star, mut rest)) = retry else { return false };
        if rest.next().is_none() {
            return false;
        }
        pattern = after_star.clone();
        text = rest.clone();
        retry = Some((after_star, rest));
    }
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
            ("[a]", "a", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn many_stars_are_matched_fast() {
        assert!(!matches(&format!("{}b", "a*".repeat(200)), &"a".repeat(20_000)));
    }
}
