//! Names of the user's inputs in messages: flags, fields of a functionConfig or of a test suite.

/// Names of the user's inputs in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputNames {
    /// Objects that context entries look up.
    pub objects: &'static str,
    /// Metadata of images.
    pub images: &'static str,
    /// Values of context entries.
    pub entries: &'static str,
    /// Values of other variables.
    pub values: &'static str,
    /// The user of the requests.
    pub user: &'static str,
    /// The stored objects of updates; `None` if they are not an input.
    pub old: Option<&'static str>,
    /// Whether `--limit NAME=N` sets limits.
    pub limits: bool,
}

impl InputNames {
    /// For the command line.
    pub const FLAGS: Self = Self {
        objects: "`--context-from PATH`",
        images: "`--images FILE`",
        entries: "`--values FILE`",
        values: "`--values FILE` or `--set NAME=VALUE`",
        user: "`--userinfo FILE`",
        old: Some("`--old PATH`"),
        limits: true,
    };
    /// For the functionConfig of the KRM function.
    pub const FUNCTION: Self = Self {
        objects: "`contextFrom`",
        images: "a Context document in `contextFrom`",
        entries: "`values`",
        values: "`values`",
        user: "`userInfo`",
        old: None,
        limits: false,
    };
    /// For a test suite.
    pub const SUITE: Self = Self {
        objects: "`clusterResources` or `context` of the suite",
        images: "`context` of the suite",
        entries: "`variables` of the suite",
        values: "`variables` of the suite",
        user: "`userinfo` of the suite",
        old: None,
        limits: true,
    };

    /// How to raise a limit; `None` if it cannot be raised.
    pub fn limit_hint(&self, limit: &str) -> Option<String> {
        self.limits.then(|| format!("`--limit {limit}=N` allows more"))
    }
}

impl Default for InputNames {
    fn default() -> Self {
        Self::FLAGS
    }
}
