//! The objects of a cluster that a command line selects, in kubectl's grammar.

use std::collections::BTreeSet;

use crate::diagnostics::{Code, Coded};
use crate::policy::KindSelector;
use crate::resources::ApiResource;

use super::served::{fitting, most_fitting, resolve_for};
use super::{Cluster, ClusterError, ClusterResult, object_name};

/// The arguments of a command line that name objects: `TYPE [NAME]` and the flags beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectArguments {
    /// The namespace of `-n`.
    pub namespace: Option<String>,
    /// Whether `-A` is set.
    pub all_namespaces: bool,
    /// A label selector.
    pub labels: Option<String>,
    /// A field selector.
    pub fields: Option<String>,
    /// Types, with names or without, as [`ObjectArguments::parse`] found them.
    pub types: Vec<(String, Vec<String>)>,
}

/// An error in these arguments, in kubectl's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// `TYPE/NAME` without one of both.
    #[error("arguments in resource/name form must have a single resource and name")]
    Incomplete,
    /// More than one `/`.
    #[error("arguments in resource/name form may not have more than one slash")]
    Slashes,
    /// `TYPE/NAME` beside a TYPE.
    #[error(
        "there is no need to specify a resource type as a separate argument when passing arguments in resource/name \
         form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource resource/<resource_name>'"
    )]
    Mixed,
    /// An empty TYPE, as after the comma of `pods,`.
    #[error("the server doesn't have a resource type \"\"")]
    EmptyType,
    /// An empty name.
    #[error("resource name may not be empty")]
    EmptyName,
    /// A name that is no segment of a path.
    #[error("invalid resource name \"{0}\": [may not {1}]")]
    Name(String, String),
    /// Names together with a selector.
    #[error("name cannot be provided when a selector is specified")]
    NamesAndSelector,
    /// Names together with all namespaces.
    #[error("a resource cannot be retrieved by name across all namespaces")]
    NamesEverywhere,
    /// A namespace that cannot be one.
    #[error("`{0}` cannot be the name of a namespace")]
    Namespace(String),
}

impl Coded for SelectionError {
    fn code(&self) -> Code {
        match self {
            Self::Incomplete
            | Self::Slashes
            | Self::EmptyType
            | Self::EmptyName
            | Self::Name(..)
            | Self::Namespace(_) => Code::InvalidValue,
            Self::Mixed | Self::NamesAndSelector | Self::NamesEverywhere => Code::ArgumentConflict,
        }
    }
}

impl ObjectArguments {
    /// Parses `TYPE[,TYPE…] [NAME…]` or `TYPE/NAME…`. The flags have to be set before, because some of them exclude
    /// names.
    ///
    /// # Errors
    ///
    /// Arguments that kubectl refuses too.
    pub fn parse(mut self, arguments: &[String]) -> Result<Self, SelectionError> {
        if let Some(namespace) = &self.namespace
            && check_name(namespace).is_err()
        {
            return Err(SelectionError::Namespace(namespace.clone()));
        }
        let Some((first, rest)) = arguments.split_first() else { return Ok(self) };
        if arguments.iter().any(|argument| argument.contains('/')) {
            if let Some(bare) = arguments.iter().find(|argument| !argument.contains('/')) {
                // An empty argument is no type either.
                return Err(if bare.is_empty() { SelectionError::Incomplete } else { SelectionError::Mixed });
            }
            for argument in arguments {
                let mut parts = argument.split('/');
                let (Some(kind), Some(name), None) = (parts.next(), parts.next(), parts.next()) else {
                    return Err(SelectionError::Slashes);
                };
                if kind.is_empty() || name.is_empty() {
                    return Err(SelectionError::Incomplete);
                }
                check_name(name)?;
                self.types.push((kind.to_owned(), vec![name.to_owned()]));
            }
        } else {
            if first.split(',').any(str::is_empty) {
                // kubectl rewrites several types with names as `TYPE/NAME`.
                let is_combined = !rest.is_empty() && first.contains(',');
                return Err(if is_combined { SelectionError::Incomplete } else { SelectionError::EmptyType });
            }
            rest.iter().try_for_each(|name| check_name(name))?;
            self.types.extend(first.split(',').map(|kind| (kind.to_owned(), rest.to_vec())));
        }
        let named = self.types.iter().any(|(_, names)| !names.is_empty());
        match (named, self.labels.is_some() || self.fields.is_some(), self.all_namespaces) {
            (true, true, _) => Err(SelectionError::NamesAndSelector),
            (true, _, true) => Err(SelectionError::NamesEverywhere),
            _ => Ok(self),
        }
    }

    /// The namespace of the objects of a kind; `None` for all, and for kinds without namespaces.
    fn namespace<'a>(&'a self, resource: &ApiResource, default: &'a str) -> Option<&'a str> {
        if !resource.is_namespaced || self.all_namespaces {
            return None;
        }
        Some(self.namespace.as_deref().unwrap_or(default))
    }

    /// Finds the resources of the types, in the versions that are written or else in those that most selectors match. An
    /// object that is named twice is selected once. A type that the cluster does not serve is an error of its own, so that
    /// the others can be read.
    ///
    /// # Errors
    ///
    /// The resources that the cluster serves cannot be read.
    pub fn resolve(
        &self,
        cluster: &dyn Cluster,
        selectors: &[KindSelector],
    ) -> ClusterResult<Vec<ClusterResult<Selection>>> {
        let served = cluster.resources()?;
        let mut selections = Vec::new();
        for (name, names) in &self.types {
            let select = |resource| Ok(self.select(resource, names, cluster));
            let category = served.category(name);
            if !category.is_empty() {
                if !names.is_empty() {
                    return Err(ClusterError::NamesOfCategory);
                }
                let listed = category.into_iter().filter(|resource| resource.is_listed);
                let fitting = listed.map(|resource| most_fitting(&served, resource, selectors, |_| true));
                selections.extend(fitting.map(select));
                continue;
            }
            let found = resolve_for(&served, name, selectors).ok_or_else(|| {
                let name = name.split_once('.').map_or(&**name, |(name, _)| name);
                ClusterError::UnknownType(name.to_owned())
            });
            selections.push(found.and_then(|resource| {
                let readable = !names.is_empty() || resource.is_listed;
                if readable { select(resource) } else { Err(ClusterError::NotListed(resource.full_name())) }
            }));
        }
        // `all,pods` means no Pod twice, and an object that is named twice would change twice.
        let mut whole = BTreeSet::new();
        let mut single = BTreeSet::new();
        selections.retain_mut(|selection| match selection {
            Ok(selection) if selection.names.is_empty() => whole.insert(selection.resource.identity()),
            Ok(Selection { resource, names, .. }) => {
                names.retain(|name| single.insert((resource.identity(), name.clone())));
                !names.is_empty()
            }
            Err(_) => true,
        });
        Ok(selections)
    }

    /// All objects of the kinds that one of the selectors matches. Cluster-scoped kinds are selected only with all
    /// namespaces.
    ///
    /// # Errors
    ///
    /// The resources that the cluster serves cannot be read.
    pub fn fitting<'s>(
        &self,
        selectors: impl IntoIterator<Item = &'s KindSelector>,
        cluster: &dyn Cluster,
    ) -> ClusterResult<MatchedSelections> {
        let served = cluster.resources()?;
        let (selections, outside) = fitting(&served, selectors)
            .into_iter()
            .map(|resource| self.select(resource, &[], cluster))
            .partition(|selection| self.all_namespaces || selection.resource.is_namespaced);
        Ok(MatchedSelections { selections, outside })
    }

    fn select(&self, resource: &ApiResource, names: &[String], cluster: &dyn Cluster) -> Selection {
        Selection {
            namespace: self.namespace(resource, cluster.default_namespace()).map(str::to_owned),
            resource: resource.clone(),
            names: names.to_vec(),
            labels: self.labels.clone(),
            fields: self.fields.clone(),
        }
    }
}

/// The objects that policies can match.
#[derive(Clone, Debug, Default)]
pub struct MatchedSelections {
    /// What is read.
    pub selections: Vec<Selection>,
    /// What is left out, because it is cluster-scoped.
    pub outside: Vec<Selection>,
}

/// Objects of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The kind.
    pub resource: ApiResource,
    /// The namespace; `None` for all, and for kinds without namespaces.
    pub namespace: Option<String>,
    /// The objects' names; empty for all objects.
    pub names: Vec<String>,
    /// A label selector.
    pub labels: Option<String>,
    /// A field selector.
    pub fields: Option<String>,
}

impl Selection {
    /// All objects of a resource.
    pub(super) const fn all(resource: ApiResource) -> Self {
        Self { resource, namespace: None, names: Vec::new(), labels: None, fields: None }
    }

    /// The name of one of its objects in messages.
    pub fn object_name(&self, name: &str) -> String {
        object_name(&self.resource, self.namespace.as_deref(), name)
    }
}

/// Checks that a name is one segment of a path.
fn check_name(name: &str) -> Result<(), SelectionError> {
    if name.is_empty() {
        return Err(SelectionError::EmptyName);
    }
    let rule = match name {
        "." | ".." => format!("be '{name}'"),
        _ => match name.chars().find(|c| matches!(c, '/' | '%')) {
            Some(c) => format!("contain '{c}'"),
            None => return Ok(()),
        },
    };
    Err(SelectionError::Name(name.to_owned(), rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Vec<(String, Vec<String>)>, SelectionError> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        ObjectArguments::default().parse(&arguments).map(|wanted| wanted.types)
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
            vec!["pods", ""],
            vec!["pods", "pod/a"],
            vec!["pod/a", "pods"],
            vec!["pod/"],
            vec!["/a"],
            vec!["pod/a/b"],
            vec!["pod/.."],
            vec!["pods", "a%2fb"],
            vec!["pods,"],
            vec![","],
            vec![""],
            vec!["pods,", "a"],
        ] {
            assert!(parse(&arguments).is_err(), "{arguments:?}");
        }
    }

    #[test]
    fn names_go_with_neither_selector_nor_all_namespaces() {
        let arguments = ["pods".to_owned(), "a".to_owned()];
        let labels = ObjectArguments { labels: Some("a=b".into()), ..ObjectArguments::default() };
        assert_eq!(labels.parse(&arguments), Err(SelectionError::NamesAndSelector));
        let everywhere = ObjectArguments { all_namespaces: true, ..ObjectArguments::default() };
        assert_eq!(everywhere.parse(&arguments), Err(SelectionError::NamesEverywhere));
        let odd = ObjectArguments { namespace: Some("a/b".into()), ..ObjectArguments::default() };
        assert_eq!(odd.parse(&arguments), Err(SelectionError::Namespace("a/b".into())));
    }
}
