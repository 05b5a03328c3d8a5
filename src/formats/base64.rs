//! Base64 as Go decodes it.

/// Decodes Base64 with the standard alphabet. Padding is required, line ends are skipped, spare bits are ignored.
///
/// # Errors
///
/// The offset that Go's decoder reports, in bytes.
pub fn decoded(source: &[u8]) -> Result<Vec<u8>, usize> {
    let mut bytes = Vec::with_capacity(source.len() / 4 * 3);
    let is_break = |at: usize| matches!(source.get(at), Some(b'\n' | b'\r'));
    let mut at = 0;
    loop {
        let mut bits = 0u32;
        let mut filled = 0;
        while filled < 4 {
            let Some(&byte) = source.get(at) else {
                return if filled == 0 { Ok(bytes) } else { Err(at - filled) };
            };
            at += 1;
            if let Some(value) = sextet(byte) {
                bits = bits << 6 | value;
                filled += 1;
            } else if byte == b'=' {
                if filled < 2 {
                    return Err(at - 1);
                }
                if filled == 2 {
                    while is_break(at) {
                        at += 1;
                    }
                    match source.get(at) {
                        None => return Err(source.len()),
                        Some(b'=') => at += 1,
                        Some(_) => return Err(at - 1),
                    }
                }
                while is_break(at) {
                    at += 1;
                }
                if at < source.len() {
                    return Err(at);
                }
                break;
            } else if !is_break(at - 1) {
                return Err(at - 1);
            }
        }
        let [_, first, second, third] = (bits << (6 * (4 - filled))).to_be_bytes();
        bytes.extend_from_slice(&[first, second, third][..filled - 1]);
        if filled < 4 {
            return Ok(bytes);
        }
    }
}

fn sextet(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}
