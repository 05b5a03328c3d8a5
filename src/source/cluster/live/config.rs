//! The configuration of a cluster, found where kubectl finds it.

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
use super::fault::chain;
use super::plugin::{Plugin, UNFIT};
use super::proxy::proxy;
use super::{ClusterError, Connection};

const AGENT: &str = concat!("kubectl-kyv/", env!("CARGO_PKG_VERSION"));

/// The name of everything in the kubeconfig that is made of files and arguments.
const EFFECTIVE: &str = "effective";

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(30);

/// Reads the configuration the way kubectl does: the file that is named, else what `KUBECONFIG` or the
/// home folder holds, else the cluster around the process; arguments win.
pub(super) async fn configure(connection: &Connection) -> Result<Configured, ClusterError> {
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
    // The library's own choice looks at NO_PROXY for the proxy's address, not for the server's.
    config.proxy_url = proxy(proxy_url.as_deref(), &config.cluster_url, variable)?;
    // Requests are repeated where that is decided with all that is known of them.
    config.default_retry = false;
    // A little less than the request may take, so that it is told which of both did not come about.
    config.connect_timeout = Some(connect_limit(connection.request_timeout).mul_f32(0.95));
    // So that an audit log tells who read.
    if let (Ok(name), Ok(agent)) = ("user-agent".parse(), AGENT.parse()) {
        config.headers.push((name, agent));
    }
    let client = Client::try_from(config.clone()).map_err(|error| unusable_client(&error))?;
    Ok(Configured { config, client, plugin })
}

/// What a cluster is asked with.
pub(super) struct Configured {
    pub(super) config: Config,
    pub(super) client: Client,
    /// What says who asks, if a program does.
    pub(super) plugin: Option<Arc<Plugin>>,
}

/// How long a connection may take to come about, where one request may take so long.
pub(super) fn connect_limit(request: Option<Duration>) -> Duration {
    request.map_or(CONNECT, |limit| limit.min(CONNECT))
}

/// What the files and arguments come to.
enum Found {
    /// One cluster and one user.
    Kubeconfig(Box<Chosen>),
    /// Nothing at all; why not, for those who are in no cluster.
    Nothing(ClusterError),
}

/// One cluster and one user, with what the arguments say.
struct Chosen {
    context: Context,
    cluster: Cluster,
    auth_info: AuthInfo,
}

impl Chosen {
    /// Takes the line end from a token in a file, as kubectl does, and refuses one that no header can hold.
    fn trim_token(&mut self) -> Result<(), ClusterError> {
        let auth = &mut self.auth_info;
        if let Some(text) = auth.token_file.as_ref().and_then(|path| std::fs::read_to_string(path).ok())
            && text.trim() != text
        {
            (auth.token, auth.token_file) = (Some(text.trim().to_owned().into()), None);
        }
        if auth.token.as_ref().is_some_and(|token| token.expose_secret().contains(char::is_control)) {
            return Err(ClusterError::Unreachable(UNFIT.into()));
        }
        Ok(())
    }

    /// Runs the program that makes credentials, where nothing else tells who asks: the library would do it several
    /// times, and end in a panic for a token that no header can hold.
    fn run_plugin(&mut self) -> Result<Option<Plugin>, ClusterError> {
        let auth = &mut self.auth_info;
        let is_known = auth.auth_provider.is_some()
            || auth.token.is_some()
            || auth.token_file.is_some()
            || auth.username.is_some() && auth.password.is_some();
        let Some(exec) = auth.exec.take().filter(|_| !is_known) else { return Ok(None) };
        let (plugin, pair) = Plugin::start(&exec, &self.cluster)?;
        if let Some((certificate, key)) = pair {
            auth.client_certificate_data = Some(STANDARD.encode(certificate));
            auth.client_key_data = Some(STANDARD.encode(key).into());
        }
        Ok(Some(plugin))
    }

    /// Looks whether the files with certificates can be read, for what kubectl says of one that cannot.
    fn check_files(&self) -> Result<(), ClusterError> {
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

    /// A kubeconfig of these alone, and the proxy that the cluster is reached through.
    fn effective(self) -> (Kubeconfig, Option<String>) {
        let Self { context, mut cluster, mut auth_info } = self;
        // A token in a file may have been changed since the other one was written down.
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

fn kubeconfig(connection: &Connection) -> Result<Found, ClusterError> {
    let read = read(connection.kubeconfig.as_deref())?;
    let given = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
    let asked = given(&connection.context);
    let is_named = connection.kubeconfig.is_some() || asked.is_some() || connection.server.is_some();
    let files = match read {
        Some(files) => files,
        None if !is_named => {
            let why = "there is none where KUBECONFIG or the home folder should have it";
            return Ok(Found::Nothing(ClusterError::Config(why.into())));
        }
        None => Kubeconfig::default(),
    };
    let name = asked.or_else(|| given(&files.current_context));
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
    let cluster_name = given(&connection.cluster).unwrap_or_else(|| context.cluster.clone());
    let cluster = files.clusters.iter().find(|cluster| cluster.name == cluster_name);
    let mut cluster = cluster.and_then(|cluster| cluster.cluster.clone()).unwrap_or_default();
    override_cluster(&mut cluster, connection);
    if cluster.server.as_ref().is_none_or(String::is_empty) {
        return Err(ClusterError::UnknownCluster(cluster_name));
    }
    let user = given(&connection.user).or_else(|| context.user.clone()).unwrap_or_default();
    let found = files.auth_infos.iter().find(|info| info.name == user);
    if found.is_none() && connection.user.is_some() {
        return Err(ClusterError::UnknownUser(user));
    }
    let mut auth_info = found.and_then(|found| found.auth_info.clone()).unwrap_or_default();
    override_user(&mut auth_info, connection);
    Ok(Found::Kubeconfig(Box::new(Chosen { context, cluster, auth_info })))
}

/// What the file that is named holds, or those of `KUBECONFIG`, of which the first that says something
/// wins and some may be missing, or that of the home folder.
fn read(named: Option<&Path>) -> Result<Option<Kubeconfig>, ClusterError> {
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
        // A name for the certificate belongs to the server that it was given with.
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
        // Whatever else would tell who asks steps back.
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
    let who = &connection.impersonation;
    if let Some(user) = &who.user {
        auth.impersonate = Some(user.clone());
    }
    if !who.groups.is_empty() {
        auth.impersonate_groups = Some(who.groups.clone());
    }
    if let Some(uid) = &who.uid {
        auth.impersonate_uid = Some(uid.clone());
    }
    for (name, value) in &who.extra {
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
        // What the reader says shows lines of the file, and with them tokens.
        KubeconfigError::Parse(fault) => format!("it cannot be understood{}", place(&fault.to_string())),
        other => chain(other),
    })
}

/// The same for one of several files.
fn unusable_file(error: &KubeconfigError, path: &Path) -> ClusterError {
    let name = path.display();
    match error {
        KubeconfigError::ReadConfig(..) => unusable(error),
        KubeconfigError::Parse(fault) => {
            ClusterError::Config(format!("{name} cannot be understood{}", place(&fault.to_string())))
        }
        other => ClusterError::Config(format!("{name}: {}", chain(other))),
    }
}

/// What the system says of a file, without its number.
fn plain(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file or directory".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::IsADirectory => "is a directory".to_owned(),
        _ => error.to_string(),
    }
}

/// Where a reader of YAML found a fault.
fn place(fault: &str) -> String {
    let number = |name: &str| {
        let digits = fault.split_once(name)?.1.split(|c: char| !c.is_ascii_digit()).next()?;
        (!digits.is_empty()).then(|| digits.to_owned())
    };
    match (number("line "), number("column ")) {
        (Some(line), Some(column)) => format!(" at line {line}, column {column}"),
        _ => String::new(),
    }
}

fn unusable_client(error: &kube::Error) -> ClusterError {
    match super::fault::fault(error, "") {
        told @ ClusterError::Config(_) => told,
        _ => ClusterError::Config(chain(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_the_kubeconfig_is_told_without_its_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, "users:\n- name: x\n  user: {token: hidden, exec: {command: [a]}}\n").unwrap();
        let told = read(Some(&path)).unwrap_err().to_string();
        assert_eq!(told, format!("kubeconfig: {} cannot be understood at line 3, column 41", path.display()));
    }
}
