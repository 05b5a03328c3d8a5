//! Lists read page by page, one page ahead of who takes them.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use crate::value::Value;

use super::{Cluster, ClusterError, ListQuery, Resource, Selection};

/// What arrived in one answer.
#[derive(Debug)]
pub struct Batch {
    /// The kind that was asked for.
    pub resource: Arc<Resource>,
    /// Objects of that kind, or why there are none; after an error nothing more of this list follows.
    pub objects: Result<Vec<Value>, ClusterError>,
}

/// The pages of some lists, in order. While one is worked on the next is fetched, and no further one:
/// memory holds two pages, however long the lists are.
#[derive(Debug)]
pub struct Pages {
    arrived: Receiver<Batch>,
}

impl Pages {
    /// Starts to read. `size` is the number of objects a page has at most; 0 reads a list at once.
    pub fn start(cluster: Arc<dyn Cluster>, selections: Vec<Selection>, size: u32) -> Self {
        // Without room: the thread holds the page that it fetched until somebody takes it.
        let (sender, arrived) = mpsc::sync_channel(0);
        thread::spawn(move || {
            for selection in &selections {
                if read(&*cluster, selection, size, &sender).is_none() {
                    return;
                }
            }
        });
        Self { arrived }
    }
}

impl Iterator for Pages {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        self.arrived.recv().ok()
    }
}

/// Reads one selection; `None` when nobody takes pages any more.
fn read(cluster: &dyn Cluster, selection: &Selection, size: u32, sender: &SyncSender<Batch>) -> Option<()> {
    let resource = Arc::new(selection.resource.clone());
    let send = |objects| sender.send(Batch { resource: Arc::clone(&resource), objects }).ok();
    let namespace = selection.namespace.as_deref();
    if !selection.names.is_empty() {
        for name in &selection.names {
            send(cluster.get(&resource, namespace, name).map(|object| vec![object]))?;
        }
        return Some(());
    }
    let mut after = None;
    loop {
        let query = ListQuery {
            resource: &resource,
            namespace,
            labels: selection.labels.as_deref(),
            limit: size,
            after: after.as_deref(),
        };
        match cluster.list(&query) {
            Ok(page) => {
                send(Ok(page.objects))?;
                // A server that names the same page again would never come to an end.
                if page.next.is_none() || page.next == after {
                    return Some(());
                }
                after = page.next;
            }
            Err(error) => return send(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use crate::source::cluster::{Page, Resources};

    use super::*;

    /// A cluster of numbers below ten, which forgets its list after a while.
    #[derive(Debug, Default)]
    struct Numbers {
        asked: Mutex<Vec<String>>,
        expires_at: Option<i64>,
    }

    impl Cluster for Numbers {
        fn resources(&self) -> Result<Arc<Resources>, ClusterError> {
            Ok(Arc::default())
        }

        fn list(&self, query: &ListQuery<'_>) -> Result<Page, ClusterError> {
            let start: i64 = query.after.map_or(0, |after| after.parse().unwrap());
            self.asked.lock().unwrap().push(format!("{start}"));
            if self.expires_at == Some(start) {
                return Err(ClusterError::Refused { reason: "Expired".into(), message: "too old".into() });
            }
            let end = if query.limit == 0 { 10 } else { (start + i64::from(query.limit)).min(10) };
            Ok(Page {
                objects: (start..end).map(Value::from).collect(),
                next: (end < 10).then(|| end.to_string().into()),
            })
        }

        fn get(&self, _: &Resource, _: Option<&str>, name: &str) -> Result<Value, ClusterError> {
            name.parse::<i64>().map(Value::from).map_err(|_| ClusterError::Refused {
                reason: "NotFound".into(),
                message: format!("numbers \"{name}\" not found"),
            })
        }

        fn default_namespace(&self) -> &'static str {
            "default"
        }
    }

    fn selection(names: &[&str]) -> Selection {
        Selection {
            resource: Resource::namespaces(),
            namespace: None,
            names: names.iter().map(ToString::to_string).collect(),
            labels: None,
        }
    }

    fn told(pages: Pages) -> Vec<String> {
        pages
            .map(|batch| match batch.objects {
                Ok(objects) => Value::array(objects).to_json(),
                Err(error) => error.to_string(),
            })
            .collect()
    }

    #[test]
    fn every_page_arrives_in_order() {
        let cluster = Arc::new(Numbers::default());
        let lists = vec![selection(&[]), selection(&["7"])];
        assert_eq!(told(Pages::start(cluster.clone(), lists, 4)), ["[0,1,2,3]", "[4,5,6,7]", "[8,9]", "[7]"]);
        assert_eq!(told(Pages::start(cluster, vec![selection(&[])], 0)), ["[0,1,2,3,4,5,6,7,8,9]"]);
    }

    #[test]
    fn no_more_than_one_page_is_fetched_ahead() {
        let cluster = Arc::new(Numbers::default());
        let mut pages = Pages::start(cluster.clone(), vec![selection(&[])], 2);
        assert!(pages.next().is_some());
        assert!(pages.next().is_some());
        // The third page is on its way or there; the fourth is not asked for before the third was taken.
        thread::sleep(std::time::Duration::from_millis(50));
        assert!(cluster.asked.lock().unwrap().len() <= 3);
    }

    #[test]
    fn an_error_ends_its_list_and_no_other() {
        let cluster = Arc::new(Numbers { expires_at: Some(4), ..Numbers::default() });
        let lists = vec![selection(&[]), selection(&["x", "5"])];
        assert_eq!(
            told(Pages::start(cluster, lists, 4)),
            [
                "[0,1,2,3]",
                "Error from server (Expired): too old",
                "Error from server (NotFound): numbers \"x\" not found",
                "[5]"
            ]
        );
    }
}
