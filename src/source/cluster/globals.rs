//! Global context entries of a cluster.

use crate::engine::LookupError;
use crate::resources::{ApiResource, GroupVersionResource};
use crate::source::context_objects::EntrySource;
use crate::value::{Text, Value};

use super::{Cluster, ClusterError, ClusterResult, ListQuery};

/// The kind of the entries.
const KIND: &str = "globalcontextentries.kyverno.io";

/// Objects per request.
const PAGE_SIZE: u32 = 500;

/// The `spec` of an entry; `None` where the cluster does not serve the kind.
///
/// # Errors
///
/// The request failed.
pub(super) fn spec(cluster: &dyn Cluster, name: &str) -> ClusterResult<Option<Value>> {
    let served = cluster.resources()?;
    let Some(kind) = served.resolve(KIND).filter(|kind| kind.full_name() == KIND) else { return Ok(None) };
    let entry = cluster.get(kind, None, name)?;
    Ok(Some(entry.get("spec").cloned().unwrap_or_default()))
}

/// Where the data of entries comes from.
pub(super) struct Globals<'a> {
    pub(super) cluster: &'a dyn Cluster,
    /// The most objects of one entry.
    pub(super) most: usize,
    /// Handles failed requests.
    pub(super) unanswered: &'a dyn Fn(ClusterError) -> LookupError,
}

impl Globals<'_> {
    /// The data of an entry with this `spec`. `call` sends a GET of a path.
    pub(super) fn data(
        &self,
        spec: &Value,
        call: impl FnOnce(&str) -> Result<Value, LookupError>,
    ) -> Result<Value, LookupError> {
        let unanswerable = |text: &str| Err(LookupError::Unanswerable(text.to_owned()));
        match EntrySource::of(spec) {
            Ok(EntrySource::Call(path)) => call(&path),
            Ok(EntrySource::Resource { resource, namespace }) => {
                let served = self.cluster.resources().map_err(self.unanswered)?;
                let GroupVersionResource { group, version, plural } = &resource;
                let Some(kind) = served.get(group, version, plural) else {
                    let name = format!("{plural}.{version}.{group}");
                    let name = name.trim_end_matches('.').to_owned();
                    return Err((self.unanswered)(ClusterError::UnknownType(name)));
                };
                self.objects(kind, &namespace).map(Value::array)
            }
            Ok(EntrySource::Unsupported(what)) => unanswerable(&format!("{what} are never sent")),
            Ok(EntrySource::Data(data)) => data,
            Err(why) => unanswerable(why),
        }
    }

    /// All objects of a kind, or those of one namespace.
    fn objects(&self, resource: &ApiResource, namespace: &Text) -> Result<Vec<Value>, LookupError> {
        let Self { cluster, most, unanswered } = *self;
        let namespace = Some(&**namespace).filter(|namespace| !namespace.is_empty());
        if namespace.is_some() && !resource.is_namespaced {
            let text = format!("{} belong to no namespace", resource.full_name());
            return Err(LookupError::Unanswerable(text));
        }
        let mut found = Vec::new();
        for page in (ListQuery { namespace, ..ListQuery::all(resource, PAGE_SIZE) }).pages(cluster) {
            found.extend(page.map_err(unanswered)?.objects);
            if found.len() > most {
                let text =
                    format!("{} are more than {most} objects (limit targets={most})", resource.full_name());
                return Err(LookupError::Unanswerable(text));
            }
        }
        Ok(found)
    }
}
