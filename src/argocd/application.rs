//! The application, as Argo CD's build environment describes it.

use super::ArgocdError;

/// The length of a release's name, in characters; Helm refuses longer ones.
const MAX_RELEASE_CHARACTERS: usize = 53;

/// An application, as the build environment describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Application {
    /// Its name, after the namespace of the application and an underscore if that is not Argo CD's own.
    pub name: String,
    /// The namespace that its objects go to.
    pub namespace: String,
    /// Its project.
    pub project: String,
    /// Its folder in the repository.
    pub source_path: String,
    /// The version of its cluster.
    pub kube_version: String,
    /// The API versions and kinds that its cluster serves.
    pub api_versions: Vec<String>,
}

impl Application {
    /// Reads the build environment; variables that are not set are empty.
    ///
    /// # Errors
    ///
    /// A variable with a value that Argo CD does not set.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ArgocdError> {
        let text = |name: &str| variable(name).unwrap_or_default();
        let checked = |name: &str, allowed: fn(char) -> bool| {
            let text = text(name);
            // They become arguments of programs, and must not be flags.
            if text.starts_with('-') || !text.chars().all(allowed) {
                return Err(ArgocdError::variable(name, "is no valid name or version"));
            }
            Ok(text)
        };
        let version = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
        Ok(Self {
            name: checked("ARGOCD_APP_NAME", |c| c.is_ascii_alphanumeric() || "._-".contains(c))?,
            namespace: checked("ARGOCD_APP_NAMESPACE", |c| c.is_ascii_alphanumeric() || ".-".contains(c))?,
            project: text("ARGOCD_APP_PROJECT_NAME"),
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
        let reason = if name.is_empty() {
            "not set; a chart is released under the name of the application".to_owned()
        } else if name.len() > MAX_RELEASE_CHARACTERS {
            format!(
                "longer than {MAX_RELEASE_CHARACTERS} characters, which Helm does not accept as a name of a release"
            )
        } else {
            return Ok(name);
        };
        Err(ArgocdError::variable("ARGOCD_APP_NAME", reason))
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
    fn missing_variables_are_empty() {
        assert_eq!(read(&[]).unwrap(), Application::default());
        assert!(read(&[]).unwrap().release().is_err());
    }

    #[test]
    fn a_release_has_the_name_of_its_application_without_the_namespace() {
        for (name, release) in [("web", "web"), ("team-a_web", "web")] {
            assert_eq!(read(&[("ARGOCD_APP_NAME", name)]).unwrap().release(), Ok(release));
        }
        assert!(read(&[("ARGOCD_APP_NAME", &"a".repeat(54))]).unwrap().release().is_err());
    }

    #[test]
    fn api_versions_are_split() {
        let application = read(&[("KUBE_API_VERSIONS", "v1,apps/v1/Deployment,")]).unwrap();
        assert_eq!(application.api_versions, ["v1", "apps/v1/Deployment"]);
    }

    #[test]
    fn values_that_could_be_flags_are_refused() {
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
