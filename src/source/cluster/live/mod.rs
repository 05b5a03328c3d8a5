//! The cluster that a kubeconfig leads to.

mod config;
mod fault;
mod wire;

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;

use kube::client::Client;
use kube::core::Request;
use kube::core::params::{GetParams, ListParams};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::value::Value;

use super::{Cluster, ClusterError, ListQuery, Page, Resource, Resources};

use config::configure;
use fault::fault;
use wire::{page, path, segment, with_kind};

/// How a cluster is reached.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// The kubeconfig; `None` for what `KUBECONFIG` or the home folder names, else the cluster that the
    /// process runs in.
    pub kubeconfig: Option<PathBuf>,
    /// The context in it; `None` for its current one.
    pub context: Option<String>,
}

/// A cluster that is asked over the network, with GET and LIST alone.
///
/// All traffic runs on one thread; the calls block until it has an answer.
pub struct LiveCluster {
    client: Client,
    jobs: UnboundedSender<Job>,
    server: String,
    namespace: String,
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
        let connection = connection.clone();
        thread::Builder::new()
            .name("cluster".into())
            .spawn(move || serve(&connection, &ready))
            .map_err(|error| ClusterError::Config(format!("cannot start a thread: {error}")))?;
        let Started { client, jobs, server, namespace } =
            readiness.recv().unwrap_or_else(|_| Err(ended()))?;
        Ok(Self { client, jobs, server, namespace, resources: OnceLock::new() })
    }

    /// Runs a future on the cluster's thread and waits for what it gives.
    fn wait<T: Send + 'static>(
        &self,
        answer: impl Future<Output = Result<T, kube::Error>> + Send + 'static,
    ) -> Result<T, ClusterError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let job = Box::pin(async move {
            // Nobody waits any more when the run was given up.
            let _unheard = sender.send(answer.await);
        });
        self.jobs.send(job).map_err(|_| ended())?;
        receiver.recv().map_err(|_| ended())?.map_err(|error| fault(&error, &self.server))
    }

    fn discover(&self) -> Result<Arc<Resources>, ClusterError> {
        let (core, groups) = (self.client.clone(), self.client.clone());
        let core = self.wait(async move { core.list_core_api_versions_aggregated().await })?;
        let groups = self.wait(async move { groups.list_api_groups_aggregated().await })?;
        let mut found = Vec::new();
        for group in core.items.iter().chain(&groups.items) {
            let name =
                group.metadata.as_ref().and_then(|metadata| metadata.name.as_deref()).unwrap_or_default();
            for version in &group.versions {
                let of = |resource| wire::resource(name, version.version.as_deref(), resource);
                found.extend(version.resources.iter().filter_map(of));
            }
        }
        if found.is_empty() {
            return Err(ClusterError::Malformed {
                asked: "the kinds it serves".into(),
                fault: "it does not speak aggregated discovery, as Kubernetes does from 1.27 on".into(),
            });
        }
        Ok(Arc::new(Resources::new(found)))
    }
}

impl Cluster for LiveCluster {
    fn resources(&self) -> Result<Arc<Resources>, ClusterError> {
        self.resources.get_or_init(|| self.discover()).clone()
    }

    fn list(&self, query: &ListQuery<'_>) -> Result<Page, ClusterError> {
        let parameters = ListParams {
            label_selector: query.labels.map(str::to_owned),
            limit: (query.limit > 0).then_some(query.limit),
            continue_token: query.after.map(str::to_owned),
            ..ListParams::default()
        };
        let path = path(query.resource, query.namespace);
        let client = self.client.clone();
        let text = self.wait(async move {
            let request = Request::new(path).list(&parameters).map_err(kube::Error::BuildRequest)?;
            client.request_text(request).await
        })?;
        page(&text, &query.resource.kind)
            .map_err(|fault| ClusterError::Malformed { asked: query.resource.full_name(), fault })
    }

    fn get(&self, resource: &Resource, namespace: Option<&str>, name: &str) -> Result<Value, ClusterError> {
        let (path, segment, client) = (path(resource, namespace), segment(name), self.client.clone());
        let text = self.wait(async move {
            let request = Request::new(path).get(&segment, &GetParams::default());
            client.request_text(request.map_err(kube::Error::BuildRequest)?).await
        })?;
        let malformed = |fault: String| ClusterError::Malformed {
            asked: format!("{} \"{name}\"", resource.full_name()),
            fault,
        };
        let object = Value::from_json(&text).map_err(|error| malformed(error.to_string()))?;
        if object.as_object().is_none() {
            return Err(malformed(format!("expected an object, found {}", object.type_name())));
        }
        Ok(with_kind(object, &resource.kind))
    }

    fn default_namespace(&self) -> &str {
        &self.namespace
    }
}

/// What the thread hands over once it runs.
struct Started {
    client: Client,
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
        let started = configure(connection).await.map(|(config, client)| {
            let (jobs, waiting) = unbounded_channel::<Job>();
            let server = config.cluster_url.authority().map_or_else(
                || config.cluster_url.host().unwrap_or_default().to_owned(),
                |authority| authority.as_str().rsplit('@').next().unwrap_or_default().to_owned(),
            );
            let namespace = Some(config.default_namespace).filter(|namespace| !namespace.is_empty());
            let namespace = namespace.unwrap_or_else(|| "default".to_owned());
            (Started { client, jobs, server, namespace }, waiting)
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

fn ended() -> ClusterError {
    ClusterError::Unreachable("the connection's thread ended".into())
}
