//! Which live objects a command line names, in kubectl's grammar.

use super::{Cluster, ClusterError, Resource};

/// What a command line asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The namespace that was given.
    pub namespace: Option<String>,
    /// Whether all namespaces are meant.
    pub all_namespaces: bool,
    /// A label selector.
    pub labels: Option<String>,
    /// Types, with names or without, as [`Wanted::parse`] found them.
    pub types: Vec<(String, Vec<String>)>,
}

/// Why a command line names no objects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// An empty argument, or one with an empty part.
    #[error("`{0}` names no objects: expected TYPE, TYPE NAME or TYPE/NAME")]
    Empty(String),
    /// `TYPE/NAME` beside a TYPE.
    #[error(
        "there is no need to specify a resource type as a separate argument when arguments are given as TYPE/NAME: `{0}`"
    )]
    Mixed(String),
    /// Names together with a selector.
    #[error("a name cannot be provided when a selector is specified")]
    NamesAndSelector,
    /// Names together with all namespaces.
    #[error("a resource cannot be retrieved by name across all namespaces")]
    NamesEverywhere,
    /// A namespace that cannot be one.
    #[error("`{0}` cannot be the name of a namespace")]
    Namespace(String),
}

impl Wanted {
    /// Reads `TYPE[,TYPE…] [NAME…]` or `TYPE/NAME…`; `namespace`, `all_namespaces` and `labels` have to be
    /// set before, because they rule names out.
    ///
    /// # Errors
    ///
    /// Arguments that kubectl refuses too.
    pub fn parse(mut self, arguments: &[String]) -> Result<Self, SelectionError> {
        if let Some(namespace) = &self.namespace
            && !is_name(namespace)
        {
            return Err(SelectionError::Namespace(namespace.clone()));
        }
        let Some((first, rest)) = arguments.split_first() else { return Ok(self) };
        if first.contains('/') {
            for argument in arguments {
                let Some((kind, name)) = argument.split_once('/') else {
                    return Err(SelectionError::Mixed(argument.clone()));
                };
                if kind.is_empty() || !is_name(name) {
                    return Err(SelectionError::Empty(argument.clone()));
                }
                self.types.push((kind.to_owned(), vec![name.to_owned()]));
            }
        } else {
            if let Some(mixed) = rest.iter().find(|name| name.contains('/')) {
                return Err(SelectionError::Mixed(mixed.clone()));
            }
            if let Some(empty) = rest.iter().find(|name| !is_name(name)) {
                return Err(SelectionError::Empty(empty.clone()));
            }
            for kind in first.split(',') {
                if kind.is_empty() {
                    return Err(SelectionError::Empty(first.clone()));
                }
                self.types.push((kind.to_owned(), rest.to_vec()));
            }
        }
        let named = self.types.iter().any(|(_, names)| !names.is_empty());
        match (named, self.labels.is_some(), self.all_namespaces) {
            (true, true, _) => Err(SelectionError::NamesAndSelector),
            (true, _, true) => Err(SelectionError::NamesEverywhere),
            _ => Ok(self),
        }
    }

    /// The namespace to ask for objects of a kind in; `None` where it does not count.
    fn namespace<'a>(&'a self, resource: &Resource, default: &'a str) -> Option<&'a str> {
        if !resource.is_namespaced || self.all_namespaces {
            return None;
        }
        Some(self.namespace.as_deref().unwrap_or(default))
    }

    /// Finds the kinds that are meant; a type that the cluster does not serve is an error of its own, so
    /// that the others can be answered.
    ///
    /// # Errors
    ///
    /// Whatever keeps the cluster from telling what it serves.
    pub fn resolve(
        &self,
        cluster: &dyn Cluster,
    ) -> Result<Vec<Result<Selection, ClusterError>>, ClusterError> {
        let served = cluster.resources()?;
        let selections = self.types.iter().map(|(asked, names)| {
            let unknown = || {
                let name = asked.split_once('.').map_or(&**asked, |(name, _)| name);
                ClusterError::UnknownType(name.to_owned())
            };
            let resource = served.resolve(asked).ok_or_else(unknown)?;
            if names.is_empty() && !resource.is_listed {
                return Err(ClusterError::NotListed(resource.full_name()));
            }
            Ok(Selection {
                namespace: self.namespace(resource, cluster.default_namespace()).map(str::to_owned),
                resource: resource.clone(),
                names: names.clone(),
                labels: self.labels.clone(),
            })
        });
        Ok(selections.collect())
    }
}

/// Objects of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The kind.
    pub resource: Resource,
    /// The namespace; `None` for all, and for kinds without namespaces.
    pub namespace: Option<String>,
    /// The objects' names; empty for all objects.
    pub names: Vec<String>,
    /// A label selector.
    pub labels: Option<String>,
}

/// Whether this can stand as one segment of a path.
fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '%'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Vec<(String, Vec<String>)>, SelectionError> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        Wanted::default().parse(&arguments).map(|wanted| wanted.types)
    }

    #[test]
    fn types_and_names_are_read_in_both_forms() {
        for (arguments, expected) in [
            (vec!["pods"], vec![("pods", vec![])]),
            (vec!["pods", "a", "b"], vec![("pods", vec!["a", "b"])]),
            (vec!["pods,svc", "a"], vec![("pods", vec!["a"]), ("svc", vec!["a"])]),
            (vec!["pod/a", "deployments.apps/b"], vec![("pod", vec!["a"]), ("deployments.apps", vec!["b"])]),
            (vec![], vec![]),
        ] {
            let found = parse(&arguments).unwrap();
            let found: Vec<(&str, Vec<&str>)> = found
                .iter()
                .map(|(kind, names)| (&**kind, names.iter().map(|name| &**name).collect()))
                .collect();
            assert_eq!(found, expected, "{arguments:?}");
        }
    }

    #[test]
    fn what_kubectl_refuses_is_refused() {
        for arguments in [
            vec![""],
            vec!["pods,"],
            vec!["pods", "pod/a"],
            vec!["pod/a", "pods"],
            vec!["pod/"],
            vec!["/a"],
            vec!["pod/a/b"],
            vec!["pod/.."],
            vec!["pods", "a%2fb"],
        ] {
            assert!(parse(&arguments).is_err(), "{arguments:?}");
        }
    }

    #[test]
    fn names_go_with_neither_selector_nor_all_namespaces() {
        let arguments = ["pods".to_owned(), "a".to_owned()];
        let labels = Wanted { labels: Some("a=b".into()), ..Wanted::default() };
        assert_eq!(labels.parse(&arguments), Err(SelectionError::NamesAndSelector));
        let everywhere = Wanted { all_namespaces: true, ..Wanted::default() };
        assert_eq!(everywhere.parse(&arguments), Err(SelectionError::NamesEverywhere));
        let odd = Wanted { namespace: Some("a/b".into()), ..Wanted::default() };
        assert_eq!(odd.parse(&arguments), Err(SelectionError::Namespace("a/b".into())));
    }
}
