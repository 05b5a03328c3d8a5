//! The renderers of applications: kustomize, Helm, plain manifests.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::{Application, ArgocdError};

/// The names of a kustomization.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The environment of programs. Kustomizations may write any variable into a manifest, so that none may be a secret.
const PASSED_VARIABLES: [&str; 20] = [
    "PATH",
    "HOME",
    "USER",
    "TMPDIR",
    "TZ",
    "LANG",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "HELM_CACHE_HOME",
    "HELM_CONFIG_HOME",
    "HELM_DATA_HOME",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    // Needed on Windows.
    "APPDATA",
    "LOCALAPPDATA",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERPROFILE",
];

/// Further variables for programs with network access.
const NETWORK_VARIABLES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSH_AUTH_SOCK"];
const NETWORK_PREFIXES: [&str; 2] = ["GIT_", "ARGOCD_GIT_"];

/// Variables that prevent network access: a proxy that does not exist, and no protocol for git.
const NO_NETWORK: [(&str, &str); 5] = [
    ("HTTP_PROXY", "http://127.0.0.1:9"),
    ("HTTPS_PROXY", "http://127.0.0.1:9"),
    ("NO_PROXY", ""),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// What makes manifests of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renderer {
    /// `kustomize build`.
    Kustomize,
    /// `helm template`.
    Helm,
    /// Nothing: the files are manifests.
    Plain,
}

/// Whether programs may fetch what an application names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Allowed.
    Open,
    /// Prevented.
    Closed,
}

/// The input of a chart.
#[derive(Clone, Copy, Debug)]
pub struct Chart<'a> {
    /// The application.
    pub application: &'a Application,
    /// Files with values, the later ones winning; absolute.
    pub value_files: &'a [PathBuf],
    /// Whether further values come on standard input, winning over the files.
    pub values_on_stdin: bool,
    /// Single values, winning over everything.
    pub set: &'a [(String, String)],
}

impl Renderer {
    /// All renderers by their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("kustomize", Self::Kustomize), ("helm", Self::Helm), ("plain", Self::Plain)];

    /// Its name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kustomize => "kustomize",
            Self::Helm => "helm",
            Self::Plain => "plain",
        }
    }

    /// The renderer of a folder with these files: Helm for a chart, kustomize for a kustomization.
    pub fn of_folder<'a>(names: impl Iterator<Item = &'a OsStr>) -> Self {
        let mut found = Self::Plain;
        for name in names {
            if name == "Chart.yaml" {
                return Self::Helm;
            }
            if KUSTOMIZATIONS.iter().any(|known| name == *known) {
                found = Self::Kustomize;
            }
        }
        found
    }

    /// The environment of its program, out of these variables.
    pub fn environment(
        variables: impl Iterator<Item = (OsString, OsString)>,
        network: Network,
    ) -> Vec<(OsString, OsString)> {
        let is_any_of =
            |name: &str, names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let is_passed = |name: &str| {
            is_any_of(name, &PASSED_VARIABLES)
                || network == Network::Open
                    && (is_any_of(name, &NETWORK_VARIABLES)
                        || NETWORK_PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
        };
        let mut kept: Vec<_> = variables.filter(|(name, _)| name.to_str().is_some_and(is_passed)).collect();
        if network == Network::Closed {
            kept.extend(NO_NETWORK.iter().map(|(name, value)| (name.into(), value.into())));
        }
        kept
    }
}

impl Chart<'_> {
    /// The arguments of `helm` that render the chart of the current folder.
    ///
    /// # Errors
    ///
    /// Names that have a special meaning for Helm.
    pub fn arguments(&self) -> Result<Vec<OsString>, ArgocdError> {
        let Application { namespace, kube_version, api_versions, .. } = self.application;
        // A schema may refer to any file and address, and Helm shows their content in errors.
        let flags = ["--include-crds", "--skip-schema-validation"].map(OsString::from);
        let mut arguments: Vec<OsString> =
            vec!["template".into(), self.application.release()?.into(), ".".into()];
        arguments.extend(flags);
        let mut add = |flag: &str, value: &OsStr| {
            let mut argument = OsString::from(flag);
            argument.push("=");
            argument.push(value);
            arguments.push(argument);
        };
        if !namespace.is_empty() {
            add("--namespace", namespace.as_ref());
        }
        if !kube_version.is_empty() {
            add("--kube-version", kube_version.as_ref());
        }
        for version in api_versions {
            add("--api-versions", version.as_ref());
        }
        for file in self.value_files {
            // Helm reads comma-separated values here.
            if file.as_os_str().as_encoded_bytes().iter().any(|byte| b",\"\n".contains(byte)) {
                let reason =
                    "a comma, quote or line break in the path of a file, which Helm would read as two";
                return Err(ArgocdError::parameter("helm-value-files", reason));
            }
            add("--values", file.as_os_str());
        }
        if self.values_on_stdin {
            add("--values", "-".as_ref());
        }
        for (name, value) in self.set {
            if name.is_empty() || name.contains(['=', ',']) {
                let reason = "a name that is empty or holds `=` or `,`";
                return Err(ArgocdError::parameter("helm-parameters", reason));
            }
            add("--set", format!("{name}={}", escaped(value)).as_ref());
        }
        Ok(arguments)
    }
}

/// A value escaped for `helm --set`.
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for (index, c) in value.chars().enumerate() {
        if matches!(c, '\\' | ',') || index == 0 && c == '{' {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &[&str]) -> Renderer {
        Renderer::of_folder(names.iter().map(OsStr::new))
    }

    #[test]
    fn the_renderer_is_detected_from_files() {
        assert_eq!(found(&["a.yaml", "README.md"]), Renderer::Plain);
        assert_eq!(found(&[]), Renderer::Plain);
        for name in KUSTOMIZATIONS {
            assert_eq!(found(&["a.yaml", name]), Renderer::Kustomize);
        }
        assert_eq!(found(&["kustomization.yaml", "Chart.yaml"]), Renderer::Helm);
        assert_eq!(found(&["chart.yaml"]), Renderer::Plain);
    }

    #[test]
    fn programs_get_no_variables_with_secrets() {
        let names =
            ["PATH", "ARGOCD_ENV_TOKEN", "AWS_SECRET_ACCESS_KEY", "https_proxy", "GIT_ASKPASS", "PARAM_X"];
        let variables = || names.iter().map(|name| (OsString::from(name), OsString::from("x")));
        let kept = |network| {
            let kept = Renderer::environment(variables(), network);
            kept.into_iter().map(|(name, value)| format!("{}={}", name.display(), value.display()))
        };
        let closed: Vec<_> = kept(Network::Closed).collect();
        assert_eq!(closed[..2], ["PATH=x", "HTTP_PROXY=http://127.0.0.1:9"]);
        assert!(closed.contains(&"GIT_ALLOW_PROTOCOL=none".to_owned()), "{closed:?}");
        assert_eq!(kept(Network::Open).collect::<Vec<_>>(), ["PATH=x", "https_proxy=x", "GIT_ASKPASS=x"]);
    }

    #[test]
    fn charts_are_rendered_as_in_argo_cd() {
        let application = Application {
            name: "ns_web".into(),
            namespace: "shop".into(),
            kube_version: "1.36.0".into(),
            api_versions: vec!["v1".into(), "apps/v1".into()],
            ..Application::default()
        };
        let files = [PathBuf::from("/t/prod values.yaml")];
        let set = [("a.b".to_owned(), "$(id) `x`; {1},\\".to_owned()), ("c".to_owned(), "{1}".to_owned())];
        let chart =
            Chart { application: &application, value_files: &files, values_on_stdin: true, set: &set };
        let expected = [
            "template",
            "web",
            ".",
            "--include-crds",
            "--skip-schema-validation",
            "--namespace=shop",
            "--kube-version=1.36.0",
            "--api-versions=v1",
            "--api-versions=apps/v1",
            "--values=/t/prod values.yaml",
            "--values=-",
            r"--set=a.b=$(id) `x`; {1}\,\\",
            r"--set=c=\{1}",
        ];
        assert_eq!(chart.arguments().unwrap(), expected);
        for (files, set) in [
            (vec![PathBuf::from("/t/a,b.yaml")], vec![]),
            (vec![], vec![("a=b".to_owned(), String::new())]),
            (vec![], vec![(String::new(), String::new())]),
        ] {
            let chart = Chart { value_files: &files, set: &set, ..chart };
            assert!(chart.arguments().is_err());
        }
    }
}
