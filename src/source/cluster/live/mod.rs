//! A cluster over the network.

mod account;
mod config;
mod discovery;
mod error;
mod plugin;
mod proxy;
mod request;

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use kube::client::Client;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use crate::resources::{ApiResource, Resources};
use crate::value::Value;

use super::api_path::{api_path, segment};
use super::listing::{is_of_kind, with_kind};
use super::{
    Access, Cluster, ClusterError, ClusterResult, Connection, DryRunRequest, DryRunVerb, ListQuery,
    ListedPage, Page, Subject,
};

use config::{Configured, configure};
use plugin::Plugin;
use request::{ApiRequest, Failure, StatusError};

const JSON: &str = "application/json";

/// The most requests in a row without a response, each of which takes as long as its timeout.
const MAX_UNANSWERED: u32 = 3;

/// A cluster over the network. It sends GET and LIST requests, access reviews, and server dry runs.
///
/// All requests are sent by one thread; the calls block until it has a response.
pub struct LiveCluster {
    client: Client,
    plugin: Option<Arc<Plugin>>,
    jobs: UnboundedSender<Job>,
    server: String,
    namespace: String,
    limit: Option<Duration>,
    interrupter: Arc<watch::Sender<bool>>,
    /// The number of requests in a row without a response.
    unanswered: AtomicU32,
    resources: OnceLock<ClusterResult<Arc<Resources>>>,
}

type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

impl std::fmt::Debug for LiveCluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveCluster").field("server", &self.server).finish_non_exhaustive()
    }
}

impl LiveCluster {
    /// Reads the configuration and starts the thread; nothing is sent yet.
    ///
    /// # Errors
    ///
    /// A kubeconfig that cannot be read, has no such context or names no server.
    pub fn connect(connection: &Connection) -> ClusterResult<Self> {
        let (ready, readiness) = mpsc::sync_channel(1);
        let (limit, connection) = (connection.request_timeout, connection.clone());
        thread::Builder::new()
            .name("cluster".into())
            .spawn(move || serve(&connection, &ready))
            .map_err(|error| ClusterError::Config(format!("cannot start a thread: {error}")))?;
        let Started { client, plugin, jobs, server, namespace } =
            readiness.recv().unwrap_or_else(|_| Err(ended()))?;
        Ok(Self {
            client,
            plugin,
            jobs,
            server,
            namespace,
            limit,
            interrupter: Arc::new(watch::Sender::new(false)),
            unanswered: AtomicU32::new(0),
            resources: OnceLock::new(),
        })
    }

    /// Makes Ctrl-C end the requests instead of the process, so that what was read until then can be reported. A second
    /// Ctrl-C ends the process.
    pub fn outlive_interrupts(&self) {
        // If the thread has ended there are no requests.
        let _ended = self.jobs.send(Box::pin(listen(Arc::clone(&self.interrupter))));
    }

    /// The names of the contexts, clusters and users that a kubeconfig has.
    pub fn names(connection: &Connection) -> [Vec<String>; 3] {
        config::names(connection)
    }

    /// Sends a request on the cluster's thread and waits for the response.
    fn send(&self, request: ApiRequest) -> ClusterResult<Result<String, Failure>> {
        let (sender, receiver) = mpsc::sync_channel(1);
        if self.unanswered.load(Ordering::Relaxed) >= MAX_UNANSWERED {
            let why = "it did not respond several times in a row, and gets no more requests";
            return Err(ClusterError::Unreachable(why.into()));
        }
        let (client, plugin) = (self.client.clone(), self.plugin.clone());
        let (limit, mut interrupt) = (self.limit, self.interrupter.subscribe());
        let job = Box::pin(async move {
            let response = tokio::select! {
                response = request::send(&client, plugin.as_ref(), &request, limit) => Ok(response),
                Ok(_) = interrupt.wait_for(|is_interrupted| *is_interrupted) => Err(ClusterError::Interrupted),
            };
            // The caller may be gone.
            let _sent = sender.send(response);
        });
        self.jobs.send(job).map_err(|_| ended())?;
        let response = receiver.recv().map_err(|_| ended())?;
        match &response {
            Ok(Err(Failure::Timeout(_) | Failure::Broken(_))) => {
                self.unanswered.fetch_add(1, Ordering::Relaxed);
            }
            _ => self.unanswered.store(0, Ordering::Relaxed),
        }
        response
    }

    fn error(&self, failure: &Failure, asked: &str) -> ClusterError {
        failure.error(&self.server, self.limit, asked)
    }

    /// The response to a GET of a path.
    fn read(&self, path: &str, accept: &'static str, asked: &str) -> ClusterResult {
        self.object(ApiRequest::get(path.to_owned(), accept), asked)
    }

    /// The response to a request, which is an object.
    fn object(&self, request: ApiRequest, asked: &str) -> ClusterResult {
        let text = self.send(request)?.map_err(|failure| self.error(&failure, asked))?;
        let malformed = |cause: String| ClusterError::Malformed { asked: asked.to_owned(), cause };
        let object = Value::from_json(&text).map_err(|error| malformed(error.to_string()))?;
        if object.as_object().is_none() {
            return Err(malformed(format!("expected an object, found {}", object.type_name())));
        }
        Ok(object)
    }
}

impl Cluster for LiveCluster {
    fn resources(&self) -> ClusterResult<Arc<Resources>> {
        self.resources.get_or_init(|| self.discover().map(Arc::new)).clone()
    }

    fn list(&self, query: &ListQuery<'_>) -> ClusterResult<Page> {
        self.list_lazily(query)?.read()
    }

    fn list_lazily(&self, query: &ListQuery<'_>) -> ClusterResult<ListedPage> {
        let mut is_inconsistent = false;
        let mut response = self.send(ApiRequest::list(query))?;
        if let Err(Failure::Status(StatusError { code: 410, next: Some(next), .. })) = &response {
            // The snapshot expired; this token continues with the current objects.
            let query = ListQuery { after: Some(next), ..query.clone() };
            is_inconsistent = true;
            response = self.send(ApiRequest::list(&query))?;
        }
        let asked = query.resource.full_name();
        let text = response.map_err(|failure| list_error(self.error(&failure, &asked), query))?;
        let listing = ListedPage::of(text, &query.resource.kind, asked)?;
        Ok(ListedPage { is_inconsistent, ..listing })
    }

    fn get(&self, resource: &ApiResource, namespace: Option<&str>, name: &str) -> ClusterResult {
        let path = format!("{}/{}", api_path(resource, namespace), segment(name));
        let asked = format!("{} \"{name}\"", resource.full_name());
        let object = self.read(&path, JSON, &asked)?;
        named(object, resource, name, asked)
    }

    fn get_path(&self, path: &str) -> ClusterResult {
        self.read(path, JSON, path)
    }

    fn is_allowed(&self, subject: Option<&Subject>, access: &Access<'_>) -> ClusterResult<bool> {
        let (plural, body) = access.review(subject);
        let asked = format!("{plural}.authorization.k8s.io");
        let review = self.object(ApiRequest::review(plural, body.to_json()), &asked)?;
        match review.path(&["status", "allowed"]) {
            Some(Value::Bool(allowed)) => Ok(*allowed),
            _ => Err(ClusterError::Malformed {
                asked,
                cause: "it does not report whether it is allowed".into(),
            }),
        }
    }

    fn dry_run(&self, request: &DryRunRequest<'_>) -> ClusterResult {
        let mut path = api_path(request.resource, request.namespace);
        if request.verb != DryRunVerb::Create {
            path.extend(["/", &*segment(request.name)]);
        }
        let asked = format!("{} \"{}\"", request.resource.full_name(), request.name);
        let object =
            self.object(ApiRequest::dry_run(request.verb, &path, request.object.to_json()), &asked)?;
        named(object, request.resource, request.name, asked)
    }

    fn default_namespace(&self) -> &str {
        &self.namespace
    }
}

/// The response, if it is the requested object. An empty name is generated by the server.
fn named(object: Value, resource: &ApiResource, name: &str, asked: String) -> ClusterResult {
    let object = with_kind(object, &resource.kind);
    let own_name = object.path(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
    let is_named = if name.is_empty() { !own_name.is_empty() } else { own_name == name };
    if is_named && is_of_kind(&object, &resource.kind) {
        return Ok(object);
    }
    let cause = "it is not the requested object".to_owned();
    Err(ClusterError::Malformed { asked, cause })
}

/// The error of a list in kubectl's words.
fn list_error(error: ClusterError, query: &ListQuery<'_>) -> ClusterError {
    match error {
        ClusterError::Refused { reason, message } if matches!(&*reason, "NotFound" | "BadRequest") => {
            let ApiResource { kind, plural, .. } = query.resource;
            let name = format!("{}/{}, Resource={plural}", kind.group, kind.version);
            let message = match (query.labels, query.fields) {
                (None, None) => format!("Unable to list \"{name}\": {message}"),
                (labels, fields) => format!(
                    "Unable to find \"{name}\" that match label selector \"{}\", field selector \"{}\": {message}",
                    labels.unwrap_or_default(),
                    fields.unwrap_or_default()
                ),
            };
            ClusterError::Refused { reason, message }
        }
        other => other,
    }
}

/// What the thread sends when it runs.
struct Started {
    client: Client,
    plugin: Option<Arc<Plugin>>,
    jobs: UnboundedSender<Job>,
    server: String,
    namespace: String,
}

/// The cluster's thread, which ends when all senders of jobs are gone.
fn serve(connection: &Connection, ready: &mpsc::SyncSender<ClusterResult<Started>>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let _sent = ready.send(Err(ClusterError::Config(format!("cannot start a runtime: {error}"))));
            return;
        }
    };
    runtime.block_on(async {
        let started = configure(connection).await.map(|Configured { config, client, plugin }| {
            let (jobs, waiting) = unbounded_channel::<Job>();
            let server = config.cluster_url.authority().map_or_else(
                || config.cluster_url.host().unwrap_or_default().to_owned(),
                |authority| authority.as_str().rsplit('@').next().unwrap_or_default().to_owned(),
            );
            let namespace = Some(config.default_namespace).filter(|namespace| !namespace.is_empty());
            let namespace = namespace.unwrap_or_else(|| "default".to_owned());
            (Started { client, plugin, jobs, server, namespace }, waiting)
        });
        match started {
            Ok((started, mut waiting)) => {
                let _sent = ready.send(Ok(started));
                while let Some(job) = waiting.recv().await {
                    tokio::spawn(job);
                }
            }
            Err(error) => {
                let _sent = ready.send(Err(error));
            }
        }
    });
}

/// Waits for Ctrl-C.
async fn listen(interrupter: Arc<watch::Sender<bool>>) {
    while tokio::signal::ctrl_c().await.is_ok() {
        if interrupter.send_replace(true) {
            #[expect(clippy::exit, reason = "the user does not want to wait any more")]
            std::process::exit(130);
        }
    }
}

fn ended() -> ClusterError {
    ClusterError::Unreachable("the connection's thread ended".into())
}
