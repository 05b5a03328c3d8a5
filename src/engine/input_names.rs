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
    /// The labels of namespaces.
    pub namespace_labels: &'static str,
    /// Objects that only rules with targets may change; `None` if they are not an input.
    pub targets: Option<&'static str>,
    /// The stored objects of updates; `None` if they are not an input.
    pub old: Option<&'static str>,
    /// The flag that evaluates objects by the state of a cluster; `None` if there is none.
    pub cluster: Option<&'static str>,
    /// The input that sets a limit to N, with NAME for its name.
    pub limits: &'static str,
}

impl InputNames {
    /// For the command line.
    pub const FLAGS: Self = Self {
        objects: "`--context-from PATH`",
        images: "`--images FILE`",
        entries: "`--values FILE`",
        values: "`--values FILE` or `--set NAME=VALUE`",
        user: "`--userinfo FILE`",
        namespace_labels: "`--values` or a Namespace among the objects",
        targets: Some("`--targets`"),
        cluster: Some("`--live`"),
        old: Some("`--old PATH`"),
        limits: "`--limit NAME=N`",
    };
    /// For the plugin of Argo CD.
    pub const PLUGIN: Self = Self { old: None, targets: None, cluster: None, ..Self::FLAGS };
    /// For the functionConfig of the KRM function.
    pub const FUNCTION: Self = Self {
        objects: "`contextFrom`",
        images: "a Context document in `contextFrom`",
        entries: "`values`",
        values: "`values`",
        user: "`userInfo`",
        namespace_labels: "`values` or a Namespace among the items",
        targets: None,
        cluster: None,
        old: None,
        limits: "`limits: {NAME: N}`",
    };
    /// For a test suite.
    pub const SUITE: Self = Self {
        objects: "`clusterResources` or `context` of the suite",
        images: "`context` of the suite",
        entries: "`variables` of the suite",
        values: "`variables` of the suite",
        user: "`userinfo` of the suite",
        namespace_labels: "`variables` of the suite",
        targets: None,
        cluster: None,
        old: None,
        limits: "`--limit NAME=N`",
    };

    /// How to raise a limit.
    pub fn limit_hint(&self, limit: &str) -> String {
        format!("{} allows more", self.limits.replace("NAME", limit))
    }
}

impl Default for InputNames {
    fn default() -> Self {
        Self::FLAGS
    }
}
