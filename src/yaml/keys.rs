//! Keys of mappings: shared between the objects of a stream, and converted to strings.

use indexmap::IndexSet;

use crate::value::{Number, Text};

use super::ErrorKind;
use super::scalar::Resolved;

/// The maximum bytes of a shared key; longer ones rarely repeat.
const MAX_LENGTH: usize = 64;
/// The maximum number of shared keys; a stream of objects has far fewer.
const MAX_COUNT: usize = 1 << 14;

/// The keys so far that need storage of their own.
#[derive(Debug, Default)]
pub(super) struct Keys(IndexSet<Text, foldhash::fast::RandomState>);

impl Keys {
    /// This key, sharing the storage of earlier occurrences.
    pub(super) fn share(&mut self, key: &str) -> Text {
        if key.len() <= Text::INLINE_CAP || key.len() > MAX_LENGTH {
            return key.into();
        }
        if let Some(known) = self.0.get(key) {
            return known.clone();
        }
        let text = Text::from(key);
        if self.0.len() < MAX_COUNT {
            self.0.insert(text.clone());
        }
        text
    }

    /// The key of a scalar: numbers and booleans are converted as the YAML library of Kubernetes converts
    /// them.
    pub(super) fn of(&mut self, scalar: &Resolved<'_>) -> Result<Text, ErrorKind> {
        match scalar {
            Resolved::Text(text) => Ok(self.share(text)),
            Resolved::Bool(value) => Ok(self.share(if *value { "true" } else { "false" })),
            Resolved::NotFinite(name) => Ok(self.share(name)),
            Resolved::Number(number) => number_key(number).map(|key| self.share(&key)),
            Resolved::Null => Err(ErrorKind::Key("null")),
        }
    }
}

fn number_key(number: &Number) -> Result<String, ErrorKind> {
    if number.is_written_as_integer() {
        let text = number.to_string();
        if text.parse::<i64>().is_ok() {
            return Ok(text);
        }
        if text.parse::<u64>().is_ok() {
            return Err(ErrorKind::Key("an integer beyond 63 bits"));
        }
    }
    Ok(short_float(number.as_f64()))
}

/// A float of 32 bits in the fewest digits, with an exponent below 1e-4 and from 1e6: Go's `%g`.
fn short_float(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "keys have the precision of 32 bits")]
    let value = value as f32;
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.into();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(-4..6).contains(&exponent) {
        let indicator = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{indicator}{:02}", exponent.abs());
    }
    format!("{value}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::scalar::resolve_plain;

    #[test]
    fn keys_that_are_no_strings_are_written_as_kubernetes_writes_them() {
        let mut keys = Keys::default();
        for (text, key) in [
            ("on", "true"),
            ("N", "false"),
            ("0777", "511"),
            ("1.5", "1.5"),
            ("1e3", "1000"),
            ("1e6", "1e+06"),
            ("1234567.5", "1.2345675e+06"),
            ("16777217.0", "1.6777216e+07"),
            ("1e39", ".inf"),
            ("-.Inf", "-.inf"),
            ("1e-5", "1e-05"),
            ("0.1", "0.1"),
            ("0.0", "0"),
            ("8080", "8080"),
            ("2001-01-01", "2001-01-01"),
        ] {
            assert_eq!(&*keys.of(&resolve_plain(text)).unwrap(), key, "{text}");
        }
        for text in ["~", "18446744073709551615"] {
            assert!(keys.of(&resolve_plain(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn equal_keys_share_their_storage() {
        let mut keys = Keys::default();
        let long = "a-key-beyond-what-is-stored-inline";
        assert_eq!(keys.share(long).as_ptr(), keys.share(long).as_ptr());
    }
}
