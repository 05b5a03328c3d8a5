//! A replay responds as the recorded cluster.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::resources::{ApiResource, Resources, UnavailableVersion};
use crate::source::SourceError;
use crate::source::cluster::{Cluster, ClusterError, ClusterResult, ListQuery, Page};
use crate::value::Value;

use super::{RecordedCluster, RecordingCluster};

const NOW: &str = "2026-01-31T12:00:00.123456789Z";

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap()
}

/// Four objects on two pages with an opaque continue token.
#[derive(Debug)]
struct Small;

impl Cluster for Small {
    fn resources(&self) -> ClusterResult<Arc<Resources>> {
        let unknown = UnavailableVersion { group: "a.b".into(), version: "v1".into(), why: "down".into() };
        Ok(Arc::new(Resources::new(
            vec![ApiResource::namespaces().clone(), ApiResource::config_maps().clone()],
            vec![unknown],
        )))
    }

    fn list(&self, query: &ListQuery<'_>) -> ClusterResult<Page> {
        let object = |number: i64| {
            let number = Value::from(number);
            [("number", number), ("kept", json("1.50")), ("kind", "Secret".into())].into_iter().collect()
        };
        Ok(match query.after {
            None => {
                Page { objects: vec![object(1), object(2)], next: Some("xyz".into()), is_inconsistent: false }
            }
            Some("xyz") => Page { objects: vec![object(3), object(4)], next: None, is_inconsistent: true },
            Some(_) => return Err(ClusterError::Unreachable("lost".into())),
        })
    }

    fn get(&self, _: &ApiResource, _: Option<&str>, name: &str) -> ClusterResult {
        let message = format!("\"{name}\" not found");
        Err(ClusterError::Refused { reason: "NotFound".into(), message })
    }

    fn get_path(&self, path: &str) -> ClusterResult {
        Ok(Value::from(path))
    }

    fn default_namespace(&self) -> &'static str {
        "shop"
    }
}

fn recording(folder: &Path) -> Result<RecordingCluster, SourceError> {
    RecordingCluster::new(Arc::new(Small), folder, NOW.parse().unwrap(), true)
}

/// Sends all kinds of requests.
fn all(cluster: &dyn Cluster) -> Vec<String> {
    let maps = ApiResource::config_maps();
    let mut shown = vec![cluster.default_namespace().to_owned(), format!("{:?}", cluster.resources())];
    let mut after = None;
    loop {
        let query = ListQuery {
            resource: maps,
            namespace: Some("web"),
            labels: Some("a=b"),
            fields: None,
            limit: 2,
            after: after.as_deref(),
        };
        let page = cluster.list(&query).unwrap();
        shown.push(format!("{} {}", Value::array(page.objects).to_json(), page.is_inconsistent));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    shown.push(format!("{:?}", cluster.get(maps, Some("web"), "../a")));
    shown.push(format!("{:?}", cluster.get_path("/api/v1/pods?limit=1")));
    shown
}

#[test]
fn a_replay_responds_as_the_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let shown = all(&recording(folder.path()).unwrap());
    let replay = RecordedCluster::open(folder.path()).unwrap();
    assert_eq!(all(&replay), shown);
    assert_eq!(replay.now().unwrap().to_string(), NOW);

    let missing = replay.get_path("/api/v1/nodes").unwrap_err();
    assert_eq!(missing.to_string(), "the recording has no response: ask /api/v1/nodes");
}

#[test]
fn a_second_recording_replaces_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let names = || {
        let names = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    all(&recording(folder.path()).unwrap());
    let first = names();
    recording(folder.path()).unwrap().get_path("/version").unwrap();
    assert_eq!(names().len(), 2);
    all(&recording(folder.path()).unwrap());
    assert_eq!(names(), first);
}

#[test]
fn a_directory_with_other_files_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.txt"), "years of work").unwrap();
    assert!(matches!(recording(folder.path()), Err(SourceError::Occupied { .. })));
    assert!(matches!(RecordedCluster::open(folder.path()), Err(SourceError::NoRecording { .. })));
    fs::write(folder.path().join("recording.json"), "{}").unwrap();
    assert!(matches!(recording(folder.path()), Err(SourceError::Occupied { .. })));
}

#[test]
fn an_edited_response_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    recording(folder.path()).unwrap().get_path("/version").unwrap();
    let replay = RecordedCluster::open(folder.path()).unwrap();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if !path.ends_with("recording.json") {
            fs::write(path, "{").unwrap();
        }
    }
    assert!(matches!(replay.get_path("/version"), Err(ClusterError::Malformed { .. })));
}
