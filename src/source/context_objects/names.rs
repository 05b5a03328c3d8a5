//! How the paths of the API server write names.

/// A text without its `%` escapes; what is no escape stays.
pub(super) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        bytes.extend_from_slice(rest.get(..at).unwrap_or_default().as_bytes());
        let code = rest.get(at + 1..at + 3).filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let (byte, end) = match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => (byte, at + 3),
            None => (b'%', at + 1),
        };
        bytes.push(byte);
        rest = rest.get(end..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_and_the_rest_stays() {
        for (text, expected) in [("a%3Db", "a=b"), ("100%", "100%"), ("%zz", "%zz"), ("%C3%A9", "é")] {
            assert_eq!(percent_decoded(text), expected);
        }
    }
}
