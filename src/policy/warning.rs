//! Warnings: what loads and cannot be meant.

use std::fmt;

use crate::diagnostics::{Code, Coded};
use crate::value::{Pointer, Text};

/// Something in a policy that loads and cannot be meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Warning {
    /// Its place in the policy.
    pub pointer: Pointer,
    /// The rule, if it is in one.
    pub rule: Option<Text>,
    /// What it is.
    pub cause: WarningCause,
}

/// What cannot be meant. `Display` says what it does and how it can be corrected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WarningCause {
    /// A key of an overlay that is an anchor but for a bracket or a blank.
    BrokenAnchor {
        /// The key.
        key: Text,
        /// The anchor that was probably meant.
        meant: String,
    },
    /// `{{` that begins no variable.
    OpenVariable {
        /// The start of the text from there.
        text: String,
    },
    /// `metadata: null` in an overlay.
    NullMetadata,
    /// A field with the name of a function.
    UncalledFunction {
        /// The function.
        name: Text,
    },
    /// A field in double quotes where a string is probably meant.
    QuotedField {
        /// The field.
        name: Text,
    },
    /// A call of a function that does not exist.
    UnknownFunction {
        /// The name.
        name: Text,
        /// The function of the most similar name.
        nearest: Option<&'static str>,
    },
    /// A selector of no built-in kind: a misspelt kind, a plural, a wrong group or version.
    UnknownKind {
        /// The selector.
        selector: Text,
        /// The selector that was probably meant.
        meant: String,
    },
    /// A name with wildcards in an element of an overlay's list.
    PlainWildcard {
        /// The name.
        name: Text,
    },
    /// The key of a condition that is an expression without braces.
    BareExpression {
        /// The expression.
        expression: Text,
    },
    /// A part of a CEL policy that selects nothing.
    NeverMatches {
        /// What it is.
        text: String,
    },
    /// A part of a CEL policy without effect.
    NoEffect {
        /// What it is.
        text: String,
    },
    /// A field that no kind of the rule has.
    NoSuchField {
        /// The field.
        path: String,
        /// The kinds.
        kinds: String,
        /// The name or path that was probably meant.
        meant: Option<String>,
    },
    /// A value of a type that the field does not have.
    WrongFieldType {
        /// The field.
        path: String,
        /// The kinds.
        kinds: String,
        /// The types of the field.
        expected: String,
        /// The type of the value.
        found: &'static str,
    },
    /// A policy without rules.
    NoRules,
    /// A variable about the user that is null where no user is known.
    NoUser {
        /// The expression.
        expression: String,
    },
}

impl WarningCause {
    /// Whether it is one only where the user who sends the requests is not known.
    pub const fn depends_on_user(&self) -> bool {
        matches!(self, Self::NoUser { .. })
    }
}

impl Coded for WarningCause {
    fn code(&self) -> Code {
        match self {
            Self::BrokenAnchor { .. } => Code::BrokenAnchor,
            Self::OpenVariable { .. } => Code::OpenVariable,
            Self::NullMetadata => Code::NullMetadata,
            Self::UncalledFunction { .. } => Code::UncalledFunction,
            Self::QuotedField { .. } => Code::QuotedField,
            Self::UnknownFunction { .. } => Code::UnknownFunction,
            Self::UnknownKind { .. } | Self::NeverMatches { .. } => Code::NeverMatches,
            Self::NoEffect { .. } => Code::IgnoredField,
            Self::PlainWildcard { .. } => Code::PlainWildcard,
            Self::BareExpression { .. } => Code::BareExpression,
            Self::NoSuchField { .. } => Code::NoSuchField,
            Self::WrongFieldType { .. } => Code::WrongFieldType,
            Self::NoRules => Code::NoRules,
            Self::NoUser { .. } => Code::NoUser,
        }
    }
}

impl fmt::Display for WarningCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BrokenAnchor { key, meant } => {
                write!(f, "`{key}` is no anchor: it is written as the name of a field; write `{meant}`")
            }
            Self::OpenVariable { text } => write!(
                f,
                "`{text}` is no variable but plain text: close it with `}}}}`, or write `\\{{{{` where text is meant"
            ),
            Self::NullMetadata => f.write_str(
                "`metadata: null` deletes the name, labels and annotations of the object: remove it, or set fields below it",
            ),
            Self::UncalledFunction { name } => write!(
                f,
                "`{name}` is a function, and here the name of a field, which objects do not have: write `{name}(…)`"
            ),
            Self::QuotedField { name } => write!(
                f,
                "`\"{name}\"` is the name of a field, and its value null where there is none: write `'{name}'` for a string"
            ),
            Self::UnknownFunction { name, nearest } => {
                write!(f, "there is no function `{name}`: the rule fails where it is called")?;
                match nearest {
                    Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
                    None => f.write_str("; `kubectl kyv jp function` lists all"),
                }
            }
            Self::UnknownKind { selector, meant } => {
                write!(f, "`{selector}` matches no built-in kind of Kubernetes; did you mean `{meant}`?")
            }
            Self::PlainWildcard { name } => write!(
                f,
                "an element with the name `{name}` is added: write `(name)` for a condition on elements with such names"
            ),
            Self::BareExpression { expression } => write!(
                f,
                "`{expression}` without braces is compared as text: write `{{{{ {expression} }}}}` for its value"
            ),
            Self::NeverMatches { text } | Self::NoEffect { text } => f.write_str(text),
            Self::NoSuchField { path, kinds, meant } => {
                write!(f, "`{path}` is no field of {kinds}")?;
                match meant {
                    Some(meant) => write!(f, "; did you mean `{meant}`?"),
                    None => Ok(()),
                }
            }
            Self::WrongFieldType { path, kinds, expected, found } => {
                write!(f, "`{path}` of {kinds} is {expected}, not {found}")
            }
            Self::NoRules => {
                f.write_str("the policy has no rules and does nothing: add `spec.rules`, or remove the policy")
            }
            Self::NoUser { expression } => {
                write!(f, "the user of the request is unknown and counts as null in `{expression}`")
            }
        }
    }
}
