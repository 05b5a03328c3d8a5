//! Data that a cluster did not return.

use std::fmt;

/// How many objects and lookups are listed.
const MAX_LISTED: usize = 10;

/// Requested data that a cluster did not return.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingData {
    /// Kinds that could not be read.
    pub unreadable: Vec<String>,
    /// Kinds of which some objects could be read.
    pub partial: Vec<String>,
    /// Named objects that do not exist.
    pub not_found: Vec<String>,
    /// Kinds of policies that could not be read, so that results may be incomplete or differ.
    pub policies: Vec<String>,
    /// Policies that are not valid, by their names.
    pub refused_policies: Vec<String>,
    /// Files that could not be read, in part or whole.
    pub unread_files: Vec<String>,
    /// Lookups for an object that failed.
    pub failed_lookups: Vec<String>,
}

impl MissingData {
    /// Whether nothing is missing.
    pub const fn is_empty(&self) -> bool {
        self.has_all_of_cluster() && self.refused_policies.is_empty() && self.unread_files.is_empty()
    }

    /// Whether nothing of a cluster is missing.
    pub const fn has_all_of_cluster(&self) -> bool {
        self.unreadable.is_empty()
            && self.partial.is_empty()
            && self.not_found.is_empty()
            && self.policies.is_empty()
            && self.failed_lookups.is_empty()
    }
}

/// On one line.
impl fmt::Display for MissingData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [
            ("not read", &self.unreadable, usize::MAX),
            ("read in part", &self.partial, usize::MAX),
            ("not found", &self.not_found, MAX_LISTED),
            ("policies not read", &self.policies, usize::MAX),
            ("policies refused", &self.refused_policies, MAX_LISTED),
            ("files not read", &self.unread_files, MAX_LISTED),
            ("not looked up", &self.failed_lookups, MAX_LISTED),
        ];
        let mut separator = "";
        for (what, names, most) in lists.into_iter().filter(|(_, names, _)| !names.is_empty()) {
            let first: Vec<&str> = names.iter().take(most).map(|name| &**name).collect();
            write!(f, "{separator}{what}: {}", first.join(", "))?;
            let more = names.len() - first.len();
            if more > 0 {
                write!(f, " and {more} more")?;
            }
            separator = "; ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_missing_data_is_on_one_line() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let mut missing = MissingData { unreadable: names(&["pods", "secrets"]), ..MissingData::default() };
        assert_eq!(missing.to_string(), "not read: pods, secrets");
        missing.partial = names(&["nodes"]);
        missing.not_found = names(&["pods \"a\" in web"]);
        missing.policies = names(&["policies.kyverno.io"]);
        missing.refused_policies = names(&["p"]);
        missing.unread_files = names(&["f.yaml"]);
        missing.failed_lookups = (0..12).map(|number| format!("/{number}")).collect();
        let all = "not read: pods, secrets; read in part: nodes; not found: pods \"a\" in web; policies not read: policies.kyverno.io; \
                   policies refused: p; files not read: f.yaml; not looked up: /0, /1, /2, /3, /4, /5, /6, /7, /8, /9 and 2 more";
        assert_eq!(missing.to_string(), all);
        assert!(!missing.is_empty() && MissingData::default().is_empty());
    }
}
