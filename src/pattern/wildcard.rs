//! Wildcards: `*` is any run of characters, `?` exactly one.

/// Whether a text holds a wildcard.
pub fn is_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Whether a text fits a wildcard pattern, from end to end, letter case included.
///
/// `*` stands for any run of characters, also none, `/` and line ends included; `?` for exactly one
/// code point; everything else for itself. Takes time in proportion to the product of both lengths at
/// worst, and no stack.
///
/// ```
/// assert!(kyv::pattern::matches("*:latest", "registry.example:5000/a/b:latest"));
/// assert!(!kyv::pattern::matches("nginx:?", "nginx:12"));
/// ```
#[inline]
pub fn matches(pattern: &str, text: &str) -> bool {
    // Most patterns fit everything, or are plain text, of which the ends tell much.
    if pattern == "*" || pattern == text {
        return true;
    }
    let is_other = |wanted: &u8, found: &u8| wanted != found && !matches!(wanted, b'*' | b'?');
    match (pattern.as_bytes(), text.as_bytes()) {
        ([wanted, ..], [found, ..]) if is_other(wanted, found) => false,
        ([.., wanted], [.., found]) if is_other(wanted, found) => false,
        _ => fits(pattern, text),
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    // Up to the first wildcard both sides must be the same.
    let is_same = |(wanted, found): &(&u8, &u8)| wanted == found && !matches!(wanted, b'*' | b'?');
    let same = pattern.as_bytes().iter().zip(text.as_bytes()).take_while(is_same).count();
    if !matches!(pattern.as_bytes().get(same), Some(b'*' | b'?')) {
        return same == pattern.len() && same == text.len();
    }
    let mut pattern = pattern[same..].chars();
    let mut text = text[same..].chars();
    // Where to go on when the text does not fit: after the last `*`, one character further.
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
            (Some(wanted), Some(found)) if wanted == '?' || wanted == found => {
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
    fn patterns_match_as_the_language_says() {
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
    fn many_stars_stay_cheap() {
        assert!(!matches(&format!("{}b", "a*".repeat(200)), &"a".repeat(20_000)));
    }
}
