//! What is missing in an answer.

use std::fmt;

/// So many objects and look-ups are named in words.
const NAMED: usize = 10;

/// What a cluster was asked for and did not give.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Kinds that could not be read.
    pub unread: Vec<String>,
    /// Kinds of which some objects could be read.
    pub in_part: Vec<String>,
    /// Objects that were named and are not there.
    pub absent: Vec<String>,
    /// Kinds of policies that could not be read, so that other objects may change, or change otherwise.
    pub policies: Vec<String>,
    /// What was to be looked up for an object and could not be.
    pub missed: Vec<String>,
}

impl Gaps {
    /// Whether nothing is missing.
    pub const fn is_empty(&self) -> bool {
        self.unread.is_empty()
            && self.in_part.is_empty()
            && self.absent.is_empty()
            && self.policies.is_empty()
            && self.missed.is_empty()
    }
}

/// On one line.
impl fmt::Display for Gaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [
            ("not read", &self.unread, usize::MAX),
            ("read in part", &self.in_part, usize::MAX),
            ("not found", &self.absent, NAMED),
            ("policies not read", &self.policies, usize::MAX),
            ("not looked up", &self.missed, NAMED),
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
    fn all_that_is_missing_stands_on_one_line() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let mut gaps = Gaps { unread: names(&["pods", "secrets"]), ..Gaps::default() };
        assert_eq!(gaps.to_string(), "not read: pods, secrets");
        gaps.in_part = names(&["nodes"]);
        gaps.absent = names(&["pods \"a\" in web"]);
        gaps.policies = names(&["policies.kyverno.io"]);
        gaps.missed = (0..12).map(|number| format!("/{number}")).collect();
        let all = "not read: pods, secrets; read in part: nodes; not found: pods \"a\" in web; policies not read: policies.kyverno.io; \
                   not looked up: /0, /1, /2, /3, /4, /5, /6, /7, /8, /9 and 2 more";
        assert_eq!(gaps.to_string(), all);
        assert!(!gaps.is_empty() && Gaps::default().is_empty());
    }
}
