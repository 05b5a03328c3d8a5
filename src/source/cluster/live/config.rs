//! The configuration of a cluster, found where kubectl finds it.

use std::io::ErrorKind;

use kube::client::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig, KubeconfigError};

use super::fault::chain;
use super::{ClusterError, Connection};

const AGENT: &str = concat!("kubectl-kyv/", env!("CARGO_PKG_VERSION"));

/// Reads the configuration the way kubectl does: the file that is named, else what `KUBECONFIG` or the
/// home folder holds, else the cluster around the process.
pub(super) async fn configure(connection: &Connection) -> Result<(Config, Client), ClusterError> {
    let options = KubeConfigOptions { context: connection.context.clone(), ..KubeConfigOptions::default() };
    let read = match &connection.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let inside = connection.kubeconfig.is_none() && connection.context.is_none();
    let mut config = match read {
        Ok(kubeconfig) => match Config::from_custom_kubeconfig(kubeconfig, &options).await {
            Err(KubeconfigError::CurrentContextNotSet) if inside => {
                incluster(&KubeconfigError::CurrentContextNotSet)?
            }
            other => other.map_err(|error| unusable(&error))?,
        },
        Err(error) if inside => incluster(&error)?,
        Err(error) => return Err(unusable(&error)),
    };
    // So that an audit log tells who read.
    if let (Ok(name), Ok(agent)) = ("user-agent".parse(), AGENT.parse()) {
        config.headers.push((name, agent));
    }
    let client = Client::try_from(config.clone()).map_err(|error| ClusterError::Config(chain(&error)))?;
    Ok((config, client))
}

/// The cluster around the process; outside of one the fault of the kubeconfig is what to tell.
fn incluster(kubeconfig: &KubeconfigError) -> Result<Config, ClusterError> {
    let missing = match kubeconfig {
        KubeconfigError::ReadConfig(error, _) => error.kind() == ErrorKind::NotFound,
        KubeconfigError::CurrentContextNotSet | KubeconfigError::FindPath => true,
        _ => false,
    };
    if missing { Config::incluster().map_err(|_| unusable(kubeconfig)) } else { Err(unusable(kubeconfig)) }
}

fn unusable(error: &KubeconfigError) -> ClusterError {
    match error {
        KubeconfigError::LoadContext(name) => ClusterError::UnknownContext(name.clone()),
        KubeconfigError::CurrentContextNotSet => ClusterError::Config("it has no current context".into()),
        KubeconfigError::FindPath => {
            ClusterError::Config("there is none, and no home folder to look in".into())
        }
        KubeconfigError::ReadConfig(error, path) => {
            ClusterError::Config(format!("cannot read {}: {error}", path.display()))
        }
        other => ClusterError::Config(chain(other)),
    }
}
