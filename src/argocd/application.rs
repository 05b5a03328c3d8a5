//! The application, as Argo CD's build environment describes it.

use super::ArgocdError;

/// The length of a release's name, in characters; Helm refuses longer ones.
const LONGEST_RELEASE: usize = 53;

/// An application, as the build environment describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Application {
    /// Its name, with the namespace of the application before an underscore where that is not Argo CD's own.
    pub name: String,
    /// The namespace that its objects go to.
    pub namespace: String,
    /// The folder of the repository that it is in.
    pub source_path: String,
    /// The version of the cluster it goes to.
    pub kube_version: String,
    /// What that cluster serves.
    pub api_versions: Vec<String>,
}

impl Application {
    /// Reads the build environment; what is not set is empty.
    ///
    /// # Errors
    ///
    /// A variable that holds what no Argo CD would put there.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ArgocdError> {
        let text = |name: &str| variable(name).unwrap_or_default();
        let checked = |name: &str, allowed: fn(char) -> bool| {
            let text = text(name);
            // These are passed to programs as arguments: nothing that could be a flag.
            if text.starts_with('-') || !text.chars().all(allowed) {
                return Err(ArgocdError::variable(name, "holds what is no such name or version"));
            }
            Ok(text)
        };
        let version = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
        Ok(Self {
            name: checked("ARGOCD_APP_NAME", |c| c.is_ascii_alphanumeric() || "._-".contains(c))?,
            namespace: checked("ARGOCD_APP_NAMESPACE", |c| c.is_ascii_alphanumeric() || ".-".contains(c))?,
            source_path: text("ARGOCD_APP_SOURCE_PATH"),
            kube_version: checked("KUBE_VERSION", version)?,
            api_versions: checked("KUBE_API_VERSIONS", |c| c.is_ascii_alphanumeric() || "._-/,".contains(c))?
                .split(',')
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
        })
    }

    /// The name of the Helm release: that of the application, without a namespace before it, as in Argo CD's own Helm
    /// applications.
    ///
    /// # Errors
    ///
    /// No name, or one that Helm refuses.
    pub fn release(&self) -> Result<&str, ArgocdError> {
        let name = self.name.rsplit_once('_').map_or(&*self.name, |(_, name)| name);
        let fault = if name.is_empty() {
            "not set; a chart is released under the name of the application".to_owned()
        } else if name.len() > LONGEST_RELEASE {
            format!("longer than {LONGEST_RELEASE} characters, which Helm takes for no release")
        } else {
            return Ok(name);
        };
        Err(ArgocdError::variable("ARGOCD_APP_NAME", fault))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Application, String> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        Application::read(|name| find(name).map(|(_, value)| (*value).to_owned()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_not_set_is_empty() {
        assert_eq!(read(&[]).unwrap(), Application::default());
        assert!(read(&[]).unwrap().release().is_err());
    }

    #[test]
    fn a_release_has_the_name_of_the_application_without_its_namespace() {
        for (name, release) in [("web", "web"), ("team-a_web", "web")] {
            assert_eq!(read(&[("ARGOCD_APP_NAME", name)]).unwrap().release(), Ok(release));
        }
        assert!(read(&[("ARGOCD_APP_NAME", &"a".repeat(54))]).unwrap().release().is_err());
    }

    #[test]
    fn the_list_of_what_the_cluster_serves_is_taken_apart() {
        let application = read(&[("KUBE_API_VERSIONS", "v1,apps/v1/Deployment,")]).unwrap();
        assert_eq!(application.api_versions, ["v1", "apps/v1/Deployment"]);
    }

    #[test]
    fn what_could_be_a_flag_is_refused() {
        for (name, value) in [
            ("ARGOCD_APP_NAME", "--post-renderer=sh"),
            ("ARGOCD_APP_NAMESPACE", "a b"),
            ("KUBE_VERSION", "-1"),
            ("KUBE_API_VERSIONS", "v1,$(id)"),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert!(error.starts_with(name) && !error.contains(value), "{error}");
        }
    }
}
