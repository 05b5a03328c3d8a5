//! How a cluster is reached.

use std::path::PathBuf;
use std::time::Duration;

/// How a cluster is reached: what is not given is what the kubeconfig says.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// The kubeconfig; `None` for what `KUBECONFIG` or the home folder names, else the cluster that the
    /// process runs in.
    pub kubeconfig: Option<PathBuf>,
    /// The context in it; `None` for its current one.
    pub context: Option<String>,
    /// The name of the cluster in the kubeconfig.
    pub cluster: Option<String>,
    /// The name of the user in the kubeconfig.
    pub user: Option<String>,
    /// The address of the API server.
    pub server: Option<String>,
    /// A bearer token.
    pub token: Option<Secret>,
    /// The file with the certificate of the authority that the server's certificate comes from.
    pub certificate_authority: Option<PathBuf>,
    /// The name that the server's certificate is checked against.
    pub tls_server_name: Option<String>,
    /// Whether the server's certificate is taken as it is.
    pub insecure_skip_tls_verify: bool,
    /// The file with the user's certificate.
    pub client_certificate: Option<PathBuf>,
    /// The file with the key of the user's certificate.
    pub client_key: Option<PathBuf>,
    /// As whom requests are made.
    pub impersonation: Impersonation,
    /// How long one request may take; `None` for as long as it takes.
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

/// As whom requests are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impersonation {
    /// The user.
    pub user: Option<String>,
    /// The groups.
    pub groups: Vec<String>,
    /// The user's id.
    pub uid: Option<String>,
    /// Further names and values.
    pub extra: Vec<(String, String)>,
}

impl Impersonation {
    /// Whether something is given for a user that is not.
    pub fn lacks_user(&self) -> bool {
        self.user.is_none() && !(self.groups.is_empty() && self.uid.is_none() && self.extra.is_empty())
    }
}
