//! Lists read page by page, while earlier pages are evaluated.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use crate::resources::ApiResource;
use crate::value::Value;

use super::advance::Advance;
use super::{Cluster, ClusterError, ClusterResult, ListQuery, ListedObject, Selection};

/// The number of lists that are read at once. Most lists of a cluster are short, and reading them one after another would
/// take longer than all else.
const CONCURRENT_LISTS: usize = 4;

/// The most requests in a row without a response.
const MAX_UNANSWERED: u32 = 2;

/// The objects of one response.
#[derive(Debug)]
pub struct PageBatch {
    /// Which of the selections it belongs to.
    pub selection: usize,
    /// The objects, or the error, which is the last batch of a list.
    pub objects: ClusterResult<Vec<ListedObject>>,
    /// The name of the object, if it is selected by its name and does not exist.
    pub absent: Option<String>,
    /// Whether it is the last of its selection.
    pub is_last: bool,
    /// Whether the list is not of one moment; see [`super::Page::is_inconsistent`].
    pub is_inconsistent: bool,
}

impl PageBatch {
    /// Its objects, parsed.
    ///
    /// # Errors
    ///
    /// The request failed, or an object is malformed.
    pub fn read(self) -> ClusterResult<Vec<Value>> {
        self.objects?.into_iter().map(ListedObject::read).collect()
    }

    /// Whether it is an error after which nothing more is read.
    const fn ends_all(&self) -> bool {
        use ClusterError::{ConnectionRefused, Interrupted, Unauthorized};
        matches!(self.objects, Err(Interrupted | Unauthorized | ConnectionRefused(_)))
    }

    const fn is_unanswered(&self) -> bool {
        matches!(self.objects, Err(ClusterError::Unreachable(_)))
    }
}

/// The pages of lists, in order. While one is evaluated the next one and the first ones of the next lists are fetched.
///
/// The pages end early if the server does not respond: then the last batch is an error.
#[derive(Debug)]
pub struct Pages {
    cluster: Arc<dyn Cluster>,
    selections: Arc<[Selection]>,
    size: u32,
    /// The lists that are read, in order.
    open: VecDeque<Receiver<PageBatch>>,
    /// The number of selections that were started.
    started: usize,
    /// The number of requests in a row without a response.
    unanswered: u32,
}

impl Pages {
    /// Starts to read. `size` is the most objects of a page; 0 reads lists at once.
    pub fn start(cluster: Arc<dyn Cluster>, selections: Vec<Selection>, size: u32) -> Self {
        let mut pages = Self {
            cluster,
            selections: selections.into(),
            size,
            open: VecDeque::new(),
            started: 0,
            unanswered: 0,
        };
        pages.start_next();
        pages
    }

    /// Starts to read the next selection; `None` after the last.
    fn start_next(&mut self) -> Option<()> {
        let index = self.started;
        self.selections.get(index)?;
        self.started += 1;
        // Without a buffer, so that the thread waits with one page.
        let (sender, arrived) = mpsc::sync_channel(0);
        let reader = Reader { cluster: Arc::clone(&self.cluster), size: self.size, sender };
        let selections = Arc::clone(&self.selections);
        thread::spawn(move || selections.get(index).and_then(|selection| reader.read(index, selection)));
        self.open.push_back(arrived);
        Some(())
    }

    /// Counts a batch, and starts the next lists.
    fn note(&mut self, batch: &PageBatch) {
        self.unanswered = if batch.is_unanswered() { self.unanswered + 1 } else { 0 };
        if batch.ends_all() || self.unanswered >= MAX_UNANSWERED {
            self.open.clear();
            self.started = self.selections.len();
            return;
        }
        if batch.is_last {
            self.open.pop_front();
        }
        // A server that does not respond gets one request at a time.
        while self.unanswered == 0 && self.open.len() < CONCURRENT_LISTS && self.start_next().is_some() {}
    }
}

impl Iterator for Pages {
    type Item = PageBatch;

    fn next(&mut self) -> Option<PageBatch> {
        if self.open.is_empty() {
            self.start_next()?;
        }
        let selection = self.started - self.open.len();
        let batch = self.open.front()?.recv().unwrap_or_else(|_| {
            let gone = ClusterError::Unreachable("whoever read the list is gone".into());
            PageBatch { selection, objects: Err(gone), absent: None, is_last: true, is_inconsistent: false }
        });
        self.note(&batch);
        Some(batch)
    }
}

/// The thread that reads one selection.
struct Reader {
    cluster: Arc<dyn Cluster>,
    size: u32,
    sender: SyncSender<PageBatch>,
}

impl Reader {
    /// Sends a batch; `None` when nothing more is to be read.
    fn send(&self, batch: PageBatch) -> Option<()> {
        let is_over = batch.ends_all();
        self.sender.send(batch).ok()?;
        (!is_over).then_some(())
    }

    /// Reads one object. As in kubectl the error is that of the namespace if it does not exist.
    fn named(&self, selection: &Selection, name: &str) -> ClusterResult {
        let namespace = selection.namespace.as_deref();
        let object = self.cluster.get(&selection.resource, namespace, name);
        match (object, namespace) {
            (Err(error), Some(namespace)) if error.is_not_found() => {
                let namespace = self.cluster.get(ApiResource::namespaces(), None, namespace);
                Err(namespace.err().filter(ClusterError::is_not_found).unwrap_or(error))
            }
            (object, _) => object,
        }
    }

    /// Reads a selection to its end, or until the receiver is gone.
    fn read(&self, index: usize, selection: &Selection) -> Option<()> {
        let batch = |objects, is_last| PageBatch {
            selection: index,
            objects,
            absent: None,
            is_last,
            is_inconsistent: false,
        };
        let namespace = selection.namespace.as_deref();
        if let Some(last) = selection.names.len().checked_sub(1) {
            let mut unanswered = 0;
            for (number, name) in selection.names.iter().enumerate() {
                let object = self.named(selection, name);
                let absent = object.as_ref().is_err_and(ClusterError::is_not_found).then(|| name.clone());
                let objects = object.map(|object| vec![object.into()]);
                let batch = PageBatch { absent, ..batch(objects, number == last) };
                unanswered = if batch.is_unanswered() { unanswered + 1 } else { 0 };
                self.send(batch)?;
                if unanswered >= MAX_UNANSWERED {
                    return None;
                }
            }
            return Some(());
        }
        let mut after = None;
        let mut advance = Advance::default();
        loop {
            let query = ListQuery {
                namespace,
                labels: selection.labels.as_deref(),
                fields: selection.fields.as_deref(),
                after: after.as_deref(),
                ..ListQuery::all(&selection.resource, self.size)
            };
            let page = match self.cluster.list_lazily(&query) {
                Ok(page) => page,
                Err(error) => return self.send(batch(Err(error), true)),
            };
            let is_last = page.next.is_none();
            if let Err(error) = advance.add(&selection.resource, &page) {
                return self.send(batch(Err(error), true));
            }
            let is_inconsistent = page.is_inconsistent;
            self.send(PageBatch { is_inconsistent, ..batch(Ok(page.objects), is_last) })?;
            if is_last {
                return Some(());
            }
            after = page.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use crate::resources::Resources;
    use crate::source::cluster::Page;

    use super::*;

    /// A cluster of the numbers below ten, whose list may expire.
    #[derive(Debug, Default)]
    struct Numbers {
        asked: Mutex<Vec<String>>,
        expires_at: Option<i64>,
        cause: Option<ClusterError>,
    }

    impl Cluster for Numbers {
        fn resources(&self) -> ClusterResult<Arc<Resources>> {
            Ok(Arc::default())
        }

        fn list(&self, query: &ListQuery<'_>) -> ClusterResult<Page> {
            let start: i64 = query.after.map_or(0, |after| after.parse().unwrap());
            self.asked.lock().unwrap().push(format!("{start}"));
            if let Some(cause) = &self.cause {
                return Err(cause.clone());
            }
            if self.expires_at == Some(start) {
                return Err(ClusterError::Refused { reason: "Expired".into(), message: "too old".into() });
            }
            let end = if query.limit == 0 { 10 } else { (start + i64::from(query.limit)).min(10) };
            Ok(Page {
                objects: (start..end).map(Value::from).collect(),
                next: (end < 10).then(|| end.to_string().into()),
                is_inconsistent: false,
            })
        }

        fn get(&self, _: &ApiResource, _: Option<&str>, name: &str) -> ClusterResult {
            name.parse::<i64>().map(Value::from).map_err(|_| ClusterError::Refused {
                reason: "NotFound".into(),
                message: format!("numbers \"{name}\" not found"),
            })
        }

        fn get_path(&self, path: &str) -> ClusterResult {
            Err(ClusterError::UnknownType(path.to_owned()))
        }

        fn default_namespace(&self) -> &'static str {
            "default"
        }
    }

    fn selection(names: &[&str]) -> Selection {
        let names = names.iter().map(ToString::to_string).collect();
        Selection { names, ..Selection::all(ApiResource::namespaces().clone()) }
    }

    fn shown(pages: Pages) -> Vec<String> {
        pages
            .map(|batch| match batch.read() {
                Ok(objects) => Value::array(objects).to_json(),
                Err(error) => error.to_string(),
            })
            .collect()
    }

    #[test]
    fn pages_arrive_in_order() {
        let cluster = Arc::new(Numbers::default());
        let lists = vec![selection(&[]), selection(&["7"])];
        assert_eq!(
            shown(Pages::start(cluster.clone(), lists, 4)),
            ["[0,1,2,3]", "[4,5,6,7]", "[8,9]", "[7]"]
        );
        assert_eq!(shown(Pages::start(cluster, vec![selection(&[])], 0)), ["[0,1,2,3,4,5,6,7,8,9]"]);
    }

    #[test]
    fn no_more_than_one_page_is_fetched_ahead() {
        let cluster = Arc::new(Numbers::default());
        let mut pages = Pages::start(cluster.clone(), vec![selection(&[])], 2);
        assert!(pages.next().is_some());
        assert!(pages.next().is_some());
        // The fourth page is not requested before the third one is used.
        thread::sleep(std::time::Duration::from_millis(50));
        assert!(cluster.asked.lock().unwrap().len() <= 3);
    }

    #[test]
    fn requests_to_a_server_without_responses_end() {
        for (error, asked) in [
            (ClusterError::ConnectionRefused("x".into()), 1),
            (ClusterError::Interrupted, 1),
            (ClusterError::Unreachable("x".into()), 2),
            (ClusterError::Malformed { asked: "x".into(), cause: "x".into() }, 3),
        ] {
            let cluster = Arc::new(Numbers { cause: Some(error), ..Numbers::default() });
            let pages =
                Pages::start(cluster.clone(), vec![selection(&[]), selection(&[]), selection(&[])], 4);
            assert_eq!(pages.count(), asked);
            assert_eq!(cluster.asked.lock().unwrap().len(), asked);
        }
    }

    #[test]
    fn an_error_ends_only_its_list() {
        let cluster = Arc::new(Numbers { expires_at: Some(4), ..Numbers::default() });
        let lists = vec![selection(&[]), selection(&["x", "5"])];
        assert_eq!(
            shown(Pages::start(cluster, lists, 4)),
            [
                "[0,1,2,3]",
                "Error from server (Expired): too old",
                "Error from server (NotFound): numbers \"x\" not found",
                "[5]"
            ]
        );
    }
}
