//! The objects of a cluster as the objects of a run.

use std::path::Path;
use std::sync::Arc;

use crate::source::cluster::{
    Batch, Cluster, ClusterWorld, Connection, LiveCluster, Pages, Selection, Wanted,
};
use crate::source::{Content, Manifests, Piece, SourceError};
use crate::value::Value;

use super::arguments::Inputs;
use super::driver::Show;
use super::exit::Exit;
use super::ledger::Ledger;
use super::session::{Session, add_targets};
use super::talk::{About, Talk};

/// Evaluates live objects page by page and prints the result. Everything that is wrong is said; `None` if
/// nothing was evaluated.
pub(super) fn run(
    inputs: &Inputs,
    session: Option<&Session>,
    show: &impl Show,
    talk: &mut Talk,
) -> Option<Ledger> {
    let wanted = wanted(inputs, talk)?;
    // Policies that are refused need no cluster to be named.
    let session = session?;
    let connection =
        Connection { kubeconfig: inputs.live.kubeconfig.clone(), context: inputs.live.context.clone() };
    let cluster = match LiveCluster::connect(&connection) {
        Ok(cluster) => Arc::new(cluster),
        Err(error) => {
            talk.fault(&error.into());
            return None;
        }
    };
    let selections = selections(&wanted, &*cluster, talk)?;
    let mut manifests = Manifests::new(inputs.limits());
    if !add_targets(inputs, session, &mut manifests, talk) {
        return None;
    }
    let world = session.offline_world(inputs, &manifests);
    let world =
        ClusterWorld::new(world, Arc::<LiveCluster>::clone(&cluster), session.asks_for_namespace_labels());
    let pages = Pages::start(cluster, selections.clone(), inputs.live.chunk_size);
    let pieces = pages.flat_map(|Batch { objects, .. }| match objects {
        Ok(objects) => objects.into_iter().map(piece).collect(),
        Err(error) => vec![Err(SourceError::from(error))],
    });
    let ledger = show.run(session, &world, pieces.chain(manifests.pieces()), talk);
    for error in world.take_faults() {
        talk.fault(&error.into());
    }
    if ledger.tally.objects == 0 && talk.exit() < Exit::Cluster {
        talk.note(About::Other, &nothing(&selections));
    }
    Some(ledger)
}

fn piece(object: Value) -> Result<Piece, SourceError> {
    Ok(Piece { input: 0, content: Content::Object(object), further: false })
}

/// What the arguments name, in kubectl's grammar.
fn wanted(inputs: &Inputs, talk: &mut Talk) -> Option<Wanted> {
    let wanted = Wanted {
        namespace: inputs.namespace.clone().filter(|namespace| !namespace.is_empty()),
        all_namespaces: inputs.live.all_namespaces,
        labels: inputs.live.selector.clone(),
        types: Vec::new(),
    };
    if let Some(path) = inputs.live.objects.iter().find(|argument| is_file(argument)) {
        talk.error(Exit::Input, &format!("{path} is a file: manifests are given with -f"));
        return None;
    }
    wanted.parse(&inputs.live.objects).map_err(|error| talk.error(Exit::Input, &error.to_string())).ok()
}

/// Whether somebody forgot a flag.
fn is_file(argument: &str) -> bool {
    let path = Path::new(argument);
    let manifest =
        path.extension().is_some_and(|end| ["json", "yaml", "yml"].iter().any(|known| end == *known));
    (manifest || argument.ends_with('/')) && path.exists()
}

/// The kinds that are meant; one that the cluster does not serve is named, and the others are read.
fn selections(wanted: &Wanted, cluster: &dyn Cluster, talk: &mut Talk) -> Option<Vec<Selection>> {
    let resolved = match wanted.resolve(cluster) {
        Ok(resolved) => resolved,
        Err(error) => {
            talk.fault(&error.into());
            return None;
        }
    };
    let mut selections = Vec::with_capacity(resolved.len());
    for selection in resolved {
        match selection {
            Ok(selection) => selections.push(selection),
            Err(error) => talk.fault(&error.into()),
        }
    }
    (!selections.is_empty()).then_some(selections)
}

fn nothing(selections: &[Selection]) -> String {
    let mut namespaces: Vec<&str> =
        selections.iter().filter_map(|selection| selection.namespace.as_deref()).collect();
    namespaces.dedup();
    match *namespaces {
        [namespace] => format!("no resources found in namespace {namespace}"),
        _ => "no resources found".to_owned(),
    }
}
