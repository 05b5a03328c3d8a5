//! The configuration of a connection, found where kubectl finds it.

use std::env;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::client::Client;
use kube::config::{
    AuthInfo, Cluster, Config, Context, KubeConfigOptions, Kubeconfig, KubeconfigError, NamedAuthInfo,
    NamedCluster, NamedContext,
};
use secrecy::ExposeSecret as _;

use super::account::Account;
use super::error::{chain, connection_error};
use super::plugin::{INVALID_TOKEN, Plugin};
use super::proxy::proxy;
use super::{ClusterError, ClusterResult, Connection};

const USER_AGENT: &str = concat!("kubectl-kyv/", env!("CARGO_PKG_VERSION"));

/// The name of everything in the merged kubeconfig.
const EFFECTIVE: &str = "effective";

/// The default timeout of establishing a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads the configuration as kubectl does: the file of the argument, else those of `KUBECONFIG` or the home folder, else
/// the service account of the Pod. Other arguments override it.
pub(super) async fn configure(connection: &Connection) -> ClusterResult<Configured> {
    let variable = |name: &str| env::var(name).ok();
    let mut chosen = match kubeconfig(connection)? {
        Found::Kubeconfig(chosen) => *chosen,
        Found::Nothing(why) => {
            let account = Account::find(variable).ok_or(why)?;
            let context = Context { namespace: account.namespace(), ..Context::default() };
            let mut chosen = Chosen { context, cluster: account.cluster(), auth_info: account.auth_info() };
            override_cluster(&mut chosen.cluster, connection);
            override_user(&mut chosen.auth_info, connection);
            chosen
        }
    };
    chosen.trim_token()?;
    chosen.check_files()?;
    let plugin = chosen.run_plugin()?.map(Arc::new);
    let (kubeconfig, proxy_url) = chosen.effective();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| unusable(&error))?;
    if config.root_cert.as_ref().is_some_and(Vec::is_empty) {
        let why = "unable to load root certificates: unable to parse bytes as PEM block";
        return Err(ClusterError::Config(why.into()));
    }
    // kube compares NO_PROXY with the address of the proxy instead of the server.
    config.proxy_url = proxy(proxy_url.as_deref(), &config.cluster_url, variable)?;
    // `request::send` retries.
    config.default_retry = false;
    // A little less than the timeout of a request, to see which of both was exceeded.
    config.connect_timeout = Some(connect_limit(connection.request_timeout).mul_f32(0.95));
    // For audit logs.
    if let (Ok(name), Ok(agent)) = ("user-agent".parse(), USER_AGENT.parse()) {
        config.headers.push((name, agent));
    }
    let client = Client::try_from(config.clone()).map_err(|error| unusable_client(&error))?;
    Ok(Configured { config, client, plugin })
}

/// A configured client.
pub(super) struct Configured {
    pub(super) config: Config,
    pub(super) client: Client,
    /// The credential plugin, if there is one.
    pub(super) plugin: Option<Arc<Plugin>>,
}

/// The timeout of establishing a connection, with this timeout of a request.
pub(super) fn connect_limit(request: Option<Duration>) -> Duration {
    request.map_or(CONNECT_TIMEOUT, |limit| limit.min(CONNECT_TIMEOUT))
}

/// The configuration in files and arguments.
enum Found {
    Kubeconfig(Box<Chosen>),
    /// None, with the error for a process outside of a cluster.
    Nothing(ClusterError),
}

/// One cluster and one user, overridden by arguments.
struct Chosen {
    context: Context,
    cluster: Cluster,
    auth_info: AuthInfo,
}

impl Chosen {
    /// Trims a token in a file, as kubectl does, and refuses one that is no header value.
    fn trim_token(&mut self) -> ClusterResult<()> {
        let auth = &mut self.auth_info;
        if let Some(text) = auth.token_file.as_ref().and_then(|path| std::fs::read_to_string(path).ok())
            && text.trim() != text
        {
            (auth.token, auth.token_file) = (Some(text.trim().to_owned().into()), None);
        }
        if auth.token.as_ref().is_some_and(|token| token.expose_secret().contains(char::is_control)) {
            return Err(ClusterError::Unreachable(INVALID_TOKEN.into()));
        }
        Ok(())
    }

    /// Runs the credential plugin if there are no other credentials. kube would run it several times, and panic for a
    /// token that is no header value.
    fn run_plugin(&mut self) -> ClusterResult<Option<Plugin>> {
        let auth = &mut self.auth_info;
        let has_credentials = auth.auth_provider.is_some()
            || auth.token.is_some()
            || auth.token_file.is_some()
            || auth.username.is_some() && auth.password.is_some();
        let Some(exec) = auth.exec.take().filter(|_| !has_credentials) else { return Ok(None) };
        let (plugin, pair) = Plugin::start(&exec, &self.cluster)?;
        if let Some((certificate, key)) = pair {
            auth.client_certificate_data = Some(STANDARD.encode(certificate));
            auth.client_key_data = Some(STANDARD.encode(key).into());
        }
        Ok(Some(plugin))
    }

    /// Checks that the files with certificates can be read; the error is that of kubectl.
    fn check_files(&self) -> ClusterResult<()> {
        let (cluster, auth) = (&self.cluster, &self.auth_info);
        let authority =
            cluster.certificate_authority.as_ref().filter(|_| cluster.certificate_authority_data.is_none());
        let certificate = auth.client_certificate.as_ref().filter(|_| auth.client_certificate_data.is_none());
        let key = auth.client_key.as_ref().filter(|_| auth.client_key_data.is_none());
        for (what, path, owner) in [
            ("certificate-authority", authority, &self.context.cluster),
            ("client-cert", certificate, self.context.user.as_ref().unwrap_or(&self.context.cluster)),
            ("client-key", key, self.context.user.as_ref().unwrap_or(&self.context.cluster)),
        ] {
            let Some(path) = path.filter(|path| !path.is_empty()) else { continue };
            if let Err(error) = std::fs::read(path) {
                let act = if error.kind() == ErrorKind::IsADirectory { "read" } else { "open" };
                let why = format!("{act} {path}: {}", plain(&error));
                let owner = if owner.is_empty() { String::new() } else { format!(" for {owner}") };
                return Err(ClusterError::UnreadableFile(format!("{what} {path}{owner} due to {why}")));
            }
        }
        Ok(())
    }

    /// A kubeconfig with only these, and the proxy of the cluster.
    fn effective(self) -> (Kubeconfig, Option<String>) {
        let Self { context, mut cluster, mut auth_info } = self;
        // A token in a file is newer than one in the kubeconfig.
        if auth_info.token_file.as_ref().is_some_and(|path| Path::new(path).is_file()) {
            auth_info.token = None;
        }
        let proxy_url = cluster.proxy_url.take().filter(|proxy| !proxy.is_empty());
        let context = Context { cluster: EFFECTIVE.into(), user: Some(EFFECTIVE.into()), ..context };
        let named = || EFFECTIVE.to_owned();
        let effective = Kubeconfig {
            clusters: vec![NamedCluster { name: named(), cluster: Some(cluster), ..NamedCluster::default() }],
            contexts: vec![NamedContext { name: named(), context: Some(context), ..NamedContext::default() }],
            auth_infos: vec![NamedAuthInfo {
                name: named(),
                auth_info: Some(auth_info),
                ..NamedAuthInfo::default()
            }],
            current_context: Some(named()),
            ..Kubeconfig::default()
        };
        (effective, proxy_url)
    }
}

fn kubeconfig(connection: &Connection) -> ClusterResult<Found> {
    let read = read(connection.kubeconfig.as_deref())?;
    let not_empty = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
    let context_name = not_empty(&connection.context);
    let is_named = connection.kubeconfig.is_some() || context_name.is_some() || connection.server.is_some();
    let files = match read {
        Some(files) => files,
        None if !is_named => {
            let why = "there is none where KUBECONFIG or the home folder should have it";
            return Ok(Found::Nothing(ClusterError::Config(why.into())));
        }
        None => Kubeconfig::default(),
    };
    let name = context_name.or_else(|| not_empty(&files.current_context));
    let context = match &name {
        Some(name) => {
            let found = files.contexts.iter().find(|context| context.name == *name);
            found
                .and_then(|found| found.context.clone())
                .ok_or_else(|| ClusterError::UnknownContext(name.clone()))?
        }
        None if connection.server.is_some() || connection.cluster.is_some() => Context::default(),
        None => {
            let why = ClusterError::Config("it has no current context".into());
            return if is_named { Err(why) } else { Ok(Found::Nothing(why)) };
        }
    };
    let cluster_name = not_empty(&connection.cluster).unwrap_or_else(|| context.cluster.clone());
    let cluster = files.clusters.iter().find(|cluster| cluster.name == cluster_name);
    let mut cluster = cluster.and_then(|cluster| cluster.cluster.clone()).unwrap_or_default();
    override_cluster(&mut cluster, connection);
    if cluster.server.as_ref().is_none_or(String::is_empty) {
        return Err(ClusterError::UnknownCluster(cluster_name));
    }
    let user = not_empty(&connection.user).or_else(|| context.user.clone()).unwrap_or_default();
    let found = files.auth_infos.iter().find(|info| info.name == user);
    if found.is_none() && connection.user.is_some() {
        return Err(ClusterError::UnknownUser(user));
    }
    let mut auth_info = found.and_then(|found| found.auth_info.clone()).unwrap_or_default();
    override_user(&mut auth_info, connection);
    Ok(Found::Kubeconfig(Box::new(Chosen { context, cluster, auth_info })))
}

/// The file of the argument, or those of `KUBECONFIG` merged, of which some may be missing, or that of the home folder.
fn read(named: Option<&Path>) -> ClusterResult<Option<Kubeconfig>> {
    if let Some(path) = named {
        return Kubeconfig::read_from(path).map(Some).map_err(|error| unusable_file(&error, path));
    }
    let paths: Vec<PathBuf> = match env::var_os("KUBECONFIG").filter(|list| !list.is_empty()) {
        Some(list) => env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect(),
        None => env::home_dir().map(|home| home.join(".kube").join("config")).into_iter().collect(),
    };
    let mut merged: Option<Kubeconfig> = None;
    for path in paths {
        let next = match Kubeconfig::read_from(&path) {
            Err(KubeconfigError::ReadConfig(error, _)) if error.kind() == ErrorKind::NotFound => continue,
            read => read.map_err(|error| unusable_file(&error, &path))?,
        };
        let before = merged.take().unwrap_or_default();
        merged = Some(before.merge(next).map_err(|error| unusable_file(&error, &path))?);
    }
    Ok(merged)
}

fn override_cluster(cluster: &mut Cluster, connection: &Connection) {
    if let Some(server) = connection.server.as_ref().filter(|server| !server.is_empty()) {
        // The name belongs to the certificate of the other server.
        cluster.tls_server_name = None;
        let has_scheme = server.contains("://");
        cluster.server = Some(if has_scheme { server.clone() } else { format!("http://{server}") });
    }
    if let Some(name) = &connection.tls_server_name {
        cluster.tls_server_name = Some(name.clone());
    }
    if connection.insecure_skip_tls_verify {
        cluster.insecure_skip_tls_verify = Some(true);
        cluster.certificate_authority = None;
        cluster.certificate_authority_data = None;
    }
    if let Some(path) = &connection.certificate_authority {
        cluster.certificate_authority = Some(path.display().to_string());
        cluster.certificate_authority_data = None;
        cluster.insecure_skip_tls_verify = None;
    }
}

fn override_user(auth: &mut AuthInfo, connection: &Connection) {
    if let Some(token) = &connection.token {
        // It replaces all other credentials.
        auth.token = Some(token.0.clone().into());
        (auth.token_file, auth.exec, auth.auth_provider) = (None, None, None);
        (auth.username, auth.password) = (None, None);
    }
    if let Some(path) = &connection.client_certificate {
        auth.client_certificate = Some(path.display().to_string());
        auth.client_certificate_data = None;
    }
    if let Some(path) = &connection.client_key {
        auth.client_key = Some(path.display().to_string());
        auth.client_key_data = None;
    }
    let impersonation = &connection.impersonation;
    if let Some(user) = &impersonation.user {
        auth.impersonate = Some(user.clone());
    }
    if !impersonation.groups.is_empty() {
        auth.impersonate_groups = Some(impersonation.groups.clone());
    }
    if let Some(uid) = &impersonation.uid {
        auth.impersonate_uid = Some(uid.clone());
    }
    for (name, value) in &impersonation.extra {
        let extra = auth.impersonate_user_extra.get_or_insert_default();
        extra.entry(name.clone()).or_default().push(value.clone());
    }
}

/// The contexts, clusters and users of the kubeconfig, for completion.
pub(super) fn names(connection: &Connection) -> [Vec<String>; 3] {
    let files = read(connection.kubeconfig.as_deref()).ok().flatten().unwrap_or_default();
    [
        files.contexts.into_iter().map(|context| context.name).collect(),
        files.clusters.into_iter().map(|cluster| cluster.name).collect(),
        files.auth_infos.into_iter().map(|user| user.name).collect(),
    ]
}

fn unusable(error: &KubeconfigError) -> ClusterError {
    ClusterError::Config(match error {
        KubeconfigError::ReadConfig(error, path) => {
            format!("cannot read {}: {}", path.display(), plain(error))
        }
        // The message may contain tokens.
        KubeconfigError::Parse(error) => format!("it cannot be understood{}", place(&error.to_string())),
        other => chain(other),
    })
}

/// The same for one of several files.
fn unusable_file(error: &KubeconfigError, path: &Path) -> ClusterError {
    let name = path.display();
    match error {
        KubeconfigError::ReadConfig(..) => unusable(error),
        KubeconfigError::Parse(error) => {
            ClusterError::Config(format!("{name} cannot be understood{}", place(&error.to_string())))
        }
        other => ClusterError::Config(format!("{name}: {}", chain(other))),
    }
}

/// The message of an error of the system, without its number.
fn plain(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file or directory".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::IsADirectory => "is a directory".to_owned(),
        _ => error.to_string(),
    }
}

/// The place in an error of a YAML parser.
fn place(message: &str) -> String {
    let number = |name: &str| {
        let digits = message.split_once(name)?.1.split(|c: char| !c.is_ascii_digit()).next()?;
        (!digits.is_empty()).then(|| digits.to_owned())
    };
    match (number("line "), number("column ")) {
        (Some(line), Some(column)) => format!(" at line {line}, column {column}"),
        _ => String::new(),
    }
}

fn unusable_client(error: &kube::Error) -> ClusterError {
    match connection_error(error, "") {
        error @ ClusterError::Config(_) => error,
        _ => ClusterError::Config(chain(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_do_not_show_the_text_of_a_kubeconfig() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, "users:\n- name: x\n  user: {token: hidden, exec: {command: [a]}}\n").unwrap();
        let error = read(Some(&path)).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("kubeconfig: {} cannot be understood at line 3, column 41", path.display())
        );
    }
}
