//! The codes of diagnostics: `KYV201` names one cause that has its own cure, whatever the words of the message.
//!
//! Errors that are known by type say their code themselves (`Coded`); other messages get it where they are printed.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod table;

use std::fmt;

pub use table::Code;

/// Something with a code.
pub trait Coded {
    /// The code of its cause.
    fn code(&self) -> Code;
}

impl Coded for Code {
    fn code(&self) -> Code {
        *self
    }
}

impl Code {
    /// The code with this name, such as `KYV201`, in upper or lower case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name().eq_ignore_ascii_case(name))
    }
}

/// The name: `KYV201`.
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_ascend_and_are_found_by_name() {
        let names: Vec<&str> = Code::ALL.into_iter().map(Code::name).collect();
        assert!(names.is_sorted_by(|one, next| one < next), "{names:?}");
        assert!(names.iter().all(|name| name.len() == "KYV201".len()), "{names:?}");
        assert_eq!(Code::named("kyv201"), Some(Code::UnknownField));
        assert_eq!(Code::named("KYV2"), None);
    }
}
