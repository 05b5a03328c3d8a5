//! The two behaviors of the legacy syntax.

/// How legacy patches are applied, if not as their modern counterparts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegacyBehavior {
    /// As the documentation of Kyverno 1.1 says.
    Documented,
    /// As Kyverno 1.1.0 did, defects included; what crashed there is an error.
    Native,
}
