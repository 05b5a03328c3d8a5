//! The cluster of a kubeconfig.

mod account;
mod config;
mod discovery;
mod fault;
mod plugin;
mod proxy;
mod request;
mod wire;

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
    Access, Cluster, ClusterError, Connection, DryRunRequest, DryRunVerb, ListQuery, ListedPage, Page,
    Subject,
};

use config::{Configured, configure};
use plugin::Plugin;
use request::{ApiRequest, Failure, StatusError};
use wire::list_path;

const JSON: &str = "application/json";

/// The most requests in a row without any answer: each takes as long as a request may.
const MAX_UNANSWERED: u32 = 3;

/// A cluster over the network. It sends GET and LIST requests, access reviews, and server dry runs.
///
/// All traffic runs on one thread; the calls block until it has an answer.
pub struct LiveCluster {
    client: Client,
    plugin: Option<Arc<Plugin>>,
    jobs: UnboundedSender<Job>,
    server: String,
    namespace: String,
    limit: Option<Duration>,
    interrupter: Arc<watch::Sender<bool>>,
    /// The number of requests in a row without any answer.
    silent: AtomicU32,
    resources: OnceLock<Result<Arc<Resources>, ClusterError>>,
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
    pub fn connect(connection: &Connection) -> Result<Self, ClusterError> {
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
            silent: AtomicU32::new(0),
            resources: OnceLock::new(),
        })
    }

    /// From now on Ctrl-C ends every request, not the process, so that what was read until then can be reported. A second
    /// Ctrl-C ends the process.
    pub fn outlive_interrupts(&self) {
        // If the thread has ended nothing is looked up any more.
        let _unheard = self.jobs.send(Box::pin(listen(Arc::clone(&self.interrupter))));
    }

    /// The names of the contexts, clusters and users that a kubeconfig has.
    pub fn names(connection: &Connection) -> [Vec<String>; 3] {
        config::names(connection)
    }

    /// Makes a request on the cluster's thread and waits for the answer.
    fn send(&self, ask: ApiRequest) -> Result<Result<String, Failure>, ClusterError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        if self.silent.load(Ordering::Relaxed) >= MAX_UNANSWERED {
            let why = "it did not answer several times in a row and is asked no more";
            return Err(ClusterError::Unreachable(why.into()));
        }
        let (client, plugin) = (self.client.clone(), self.plugin.clone());
        let (limit, mut interrupt) = (self.limit, self.interrupter.subscribe());
        let job = Box::pin(async move {
            let answer = tokio::select! {
                answer = request::send(&client, plugin.as_ref(), &ask, limit) => Ok(answer),
                Ok(_) = interrupt.wait_for(|is_interrupted| *is_interrupted) => Err(ClusterError::Interrupted),
            };
            // Nobody waits any more when the run was given up.
            let _unheard = sender.send(answer);
        });
        self.jobs.send(job).map_err(|_| ended())?;
        let answer = receiver.recv().map_err(|_| ended())?;
        match &answer {
            Ok(Err(Failure::Timeout(_) | Failure::Broken(_))) => {
                self.silent.fetch_add(1, Ordering::Relaxed);
            }
            _ => self.silent.store(0, Ordering::Relaxed),
        }
        answer
    }

    /// The response to a GET of a path.
    fn read(&self, path: &str, accept: &'static str, asked: &str) -> Result<Value, ClusterError> {
        self.object(ApiRequest::get(path.to_owned(), accept), asked)
    }

    /// The object that is the answer.
    fn object(&self, ask: ApiRequest, asked: &str) -> Result<Value, ClusterError> {
        let text = self.send(ask)?.map_err(|failure| self.fault(&failure, asked))?;
        let malformed = |fault: String| ClusterError::Malformed { asked: asked.to_owned(), fault };
        let object = Value::from_json(&text).map_err(|error| malformed(error.to_string()))?;
        if object.as_object().is_none() {
            return Err(malformed(format!("expected an object, found {}", object.type_name())));
        }
        Ok(object)
    }
}

impl Cluster for LiveCluster {
    fn resources(&self) -> Result<Arc<Resources>, ClusterError> {
        self.resources.get_or_init(|| self.discover().map(Arc::new)).clone()
    }

    fn list(&self, query: &ListQuery<'_>) -> Result<Page, ClusterError> {
        self.list_lazily(query)?.read()
    }

    fn list_lazily(&self, query: &ListQuery<'_>) -> Result<ListedPage, ClusterError> {
        let mut is_inconsistent = false;
        let mut answer = self.send(ApiRequest::get(list_path(query), JSON))?;
        if let Err(Failure::Status(StatusError { code: 410, next: Some(next), .. })) = &answer {
            // The server forgot the list as it was, and says how to go on with it as it is now.
            let query = ListQuery { after: Some(next), ..query.clone() };
            is_inconsistent = true;
            answer = self.send(ApiRequest::get(list_path(&query), JSON))?;
        }
        let asked = query.resource.full_name();
        let text = answer.map_err(|failure| in_a_list(self.fault(&failure, &asked), query))?;
        let listing = ListedPage::of(text, &query.resource.kind, asked)?;
        Ok(ListedPage { is_inconsistent, ..listing })
    }

    fn get(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, ClusterError> {
        let path = format!("{}/{}", api_path(resource, namespace), segment(name));
        let asked = format!("{} \"{name}\"", resource.full_name());
        let object = self.read(&path, JSON, &asked)?;
        named(object, resource, name, asked)
    }

    fn get_path(&self, path: &str) -> Result<Value, ClusterError> {
        self.read(path, JSON, path)
    }

    fn is_allowed(&self, subject: Option<&Subject>, access: &Access<'_>) -> Result<bool, ClusterError> {
        let (plural, body) = access.review(subject);
        let asked = format!("{plural}.authorization.k8s.io");
        let review = self.object(ApiRequest::review(plural, body.to_json()), &asked)?;
        match review.path(&["status", "allowed"]) {
            Some(Value::Bool(allowed)) => Ok(*allowed),
            _ => {
                Err(ClusterError::Malformed { asked, fault: "it does not say whether it is allowed".into() })
            }
        }
    }

    fn dry_run(&self, request: &DryRunRequest<'_>) -> Result<Value, ClusterError> {
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

/// The answer, if it is the object that was asked for; the server makes up names that are empty.
fn named(object: Value, resource: &ApiResource, name: &str, asked: String) -> Result<Value, ClusterError> {
    let object = with_kind(object, &resource.kind);
    let own_name = object.path(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
    let is_named = if name.is_empty() { !own_name.is_empty() } else { own_name == name };
    if is_named && is_of_kind(&object, &resource.kind) {
        return Ok(object);
    }
    let fault = "it is not the object that was asked for".to_owned();
    Err(ClusterError::Malformed { asked, fault })
}

/// What kubectl makes of a list that there is not.
fn in_a_list(error: ClusterError, query: &ListQuery<'_>) -> ClusterError {
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

/// What the thread hands over once it runs.
struct Started {
    client: Client,
    plugin: Option<Arc<Plugin>>,
    jobs: UnboundedSender<Job>,
    server: String,
    namespace: String,
}

/// The cluster's thread: ends when nobody can give it work any more.
fn serve(connection: &Connection, ready: &mpsc::SyncSender<Result<Started, ClusterError>>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let _unheard = ready.send(Err(ClusterError::Config(format!("cannot start a runtime: {error}"))));
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
                let _unheard = ready.send(Ok(started));
                while let Some(job) = waiting.recv().await {
                    tokio::spawn(job);
                }
            }
            Err(error) => {
                let _unheard = ready.send(Err(error));
            }
        }
    });
}

/// Waits for Ctrl-C.
async fn listen(interrupter: Arc<watch::Sender<bool>>) {
    while tokio::signal::ctrl_c().await.is_ok() {
        if interrupter.send_replace(true) {
            #[expect(clippy::exit, reason = "the user does not want to wait for anything any more")]
            std::process::exit(130);
        }
    }
}

fn ended() -> ClusterError {
    ClusterError::Unreachable("the connection's thread ended".into())
}
