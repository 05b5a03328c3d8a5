//! Quantities that decoding leaves as they are written.

/// So many digits fit in the integer of a decoded quantity.
const MAX_DIGITS: usize = 18;

/// Whether the API server keeps the text of a valid quantity, and does not write its canonical form: it takes the text for
/// canonical by its suffix and its last digits alone.
pub(super) fn is_kept(text: &str) -> bool {
    if text == "0" {
        return true;
    }
    let digits = text.trim_start_matches(['+', '-']).trim_start_matches('0');
    let (number, suffix) =
        digits.split_at(digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || whole.len() + fraction.len() > MAX_DIGITS {
        return false;
    }
    if let Some(power) = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].iter().position(|binary| *binary == suffix) {
        // About three digits for each power of 1024.
        let is_small = whole.len() + 3 * (power + 1) <= 14;
        return is_small && fraction.is_empty() && whole.parse::<u64>().is_ok_and(|value| value % 8 != 0);
    }
    let exponent = match suffix {
        "n" => -9,
        "u" => -6,
        "m" => -3,
        "" => 0,
        "k" => 3,
        "M" => 6,
        "G" => 9,
        "T" => 12,
        "P" => 15,
        "E" => 18,
        other => match other.get(1..).unwrap_or_default().parse::<i64>() {
            Ok(exponent) => exponent,
            Err(_) => return false,
        },
    };
    let scale = exponent - fraction.len() as i64;
    scale >= -9 && scale % 3 == 0 && !format!("{whole}{fraction}").ends_with("000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_and_the_last_digits_decide() {
        for text in ["0", "1", "01", "+1", "5.", "100m", "1E3", "1e3", "1.500", "1Gi", "7Mi", "250m", "2k"] {
            assert!(is_kept(text), "{text}");
        }
        for text in ["00", "0.5", "1.5", "1000", "1000m", "1024Mi", "8Ki", "1.5Gi", "1.000", "1e1"] {
            assert!(!is_kept(text), "{text}");
        }
    }
}
