//! The service account of a Pod, with which a program in a cluster connects to it.

use std::fs;
use std::path::PathBuf;

use kube::config::{AuthInfo, Cluster};

/// The folder with the files of the service account.
const FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// A variable for another folder.
const FOLDER_VARIABLE: &str = "KYV_SERVICE_ACCOUNT";

/// A service account.
#[derive(Debug)]
pub(super) struct Account {
    folder: PathBuf,
    server: String,
    namespace: Option<String>,
}

impl Account {
    /// The account of the Pod that the process runs in; `None` outside of Pods. `variable` reads the environment.
    pub(super) fn find(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let not_empty = |name: &str| variable(name).filter(|text| !text.is_empty());
        let (host, port) = (not_empty("KUBERNETES_SERVICE_HOST")?, not_empty("KUBERNETES_SERVICE_PORT")?);
        // An IPv6 address needs brackets.
        let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host };
        let folder = PathBuf::from(not_empty(FOLDER_VARIABLE).unwrap_or_else(|| FOLDER.to_owned()));
        if !folder.join("token").is_file() {
            return None;
        }
        let namespace = not_empty("POD_NAMESPACE").or_else(|| {
            let text = fs::read_to_string(folder.join("namespace")).ok()?;
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        });
        Some(Self { folder, server: format!("https://{host}:{port}"), namespace })
    }

    /// The cluster of the Pod.
    pub(super) fn cluster(&self) -> Cluster {
        let authority = self.folder.join("ca.crt").display().to_string();
        Cluster {
            server: Some(self.server.clone()),
            certificate_authority: Some(authority),
            ..Cluster::default()
        }
    }

    /// The credentials. The token stays in its file, because it changes.
    pub(super) fn auth_info(&self) -> AuthInfo {
        AuthInfo { token_file: Some(self.folder.join("token").display().to_string()), ..AuthInfo::default() }
    }

    /// The namespace of the Pod.
    pub(super) fn namespace(&self) -> Option<String> {
        self.namespace.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_detected_by_its_environment_and_files() {
        let folder = tempfile::tempdir().unwrap();
        let of = folder.path().display().to_string();
        let find = |variables: &[(&str, &str)]| {
            Account::find(|name| {
                let known = variables.iter().find(|(known, _)| *known == name);
                let folder = (name == FOLDER_VARIABLE).then(|| of.clone());
                known.map(|(_, value)| (*value).to_owned()).or(folder)
            })
        };
        let both = [("KUBERNETES_SERVICE_HOST", "10.0.0.1"), ("KUBERNETES_SERVICE_PORT", "443")];
        assert!(find(&both).is_none(), "there is no token");
        fs::write(folder.path().join("token"), "secret").unwrap();
        assert!(find(&both[..1]).is_none() && find(&both[1..]).is_none());
        let [host, port] = both;
        for (variables, server, namespace) in [
            (&[host, port][..], "https://10.0.0.1:443", None),
            (&[("KUBERNETES_SERVICE_HOST", "fd00::1"), port], "https://[fd00::1]:443", None),
            (&[host, port, ("POD_NAMESPACE", "own")], "https://10.0.0.1:443", Some("own")),
        ] {
            let found = find(variables).unwrap();
            assert_eq!((&*found.server, found.namespace().as_deref()), (server, namespace));
        }
        fs::write(folder.path().join("namespace"), "shop\n").unwrap();
        assert_eq!(find(&both).unwrap().namespace().as_deref(), Some("shop"));
        assert_eq!(
            find(&[host, port, ("POD_NAMESPACE", "own")]).unwrap().namespace().as_deref(),
            Some("own")
        );
    }
}
