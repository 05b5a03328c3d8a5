//! The connection to a cluster.

use std::path::PathBuf;
use std::time::Duration;

/// The connection to a cluster. Fields that are not set come from the kubeconfig.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// The kubeconfig; `None` for that of `KUBECONFIG` or the home folder, or else the cluster that the process runs in.
    pub kubeconfig: Option<PathBuf>,
    /// The context; `None` for the current one.
    pub context: Option<String>,
    /// The name of the cluster in the kubeconfig.
    pub cluster: Option<String>,
    /// The name of the user in the kubeconfig.
    pub user: Option<String>,
    /// The address of the API server.
    pub server: Option<String>,
    /// A bearer token.
    pub token: Option<Secret>,
    /// The file with the certificate authority of the server.
    pub certificate_authority: Option<PathBuf>,
    /// The name that the server's certificate is checked against.
    pub tls_server_name: Option<String>,
    /// Whether the server's certificate is not checked.
    pub insecure_skip_tls_verify: bool,
    /// The file with the user's certificate.
    pub client_certificate: Option<PathBuf>,
    /// The file with the key of the user's certificate.
    pub client_key: Option<PathBuf>,
    /// The user to impersonate.
    pub impersonation: Impersonation,
    /// The timeout of a request; `None` for no timeout.
    pub request_timeout: Option<Duration>,
}

/// A text that is not shown.
#[derive(Clone, Default)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// The user to impersonate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impersonation {
    /// The user.
    pub user: Option<String>,
    /// The groups.
    pub groups: Vec<String>,
    /// The user's id.
    pub uid: Option<String>,
    /// Extra attributes: names and values.
    pub extra: Vec<(String, String)>,
}

impl Impersonation {
    /// Whether there are attributes without a user.
    pub fn lacks_user(&self) -> bool {
        self.user.is_none() && !(self.groups.is_empty() && self.uid.is_none() && self.extra.is_empty())
    }
}
