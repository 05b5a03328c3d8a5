//! The arguments of kustomize.

use std::ffi::OsString;

use super::{Application, ArgocdError};

/// The input of a kustomization.
#[derive(Clone, Copy, Debug)]
pub struct Kustomization<'a> {
    /// The application.
    pub application: &'a Application,
    /// Further arguments of `kustomize build`, separated by blanks, as in Argo CD's own `kustomize.buildOptions`.
    pub options: &'a str,
    /// Images in the place of those of the kustomization, in the syntax of `kustomize edit set image`.
    pub images: &'a [String],
}

impl Kustomization<'_> {
    /// The arguments of `kustomize` that build the current folder. With `--enable-helm`, charts see the version and the
    /// API versions of the cluster, as in Argo CD.
    pub fn build(&self) -> Vec<OsString> {
        let Application { kube_version, api_versions, .. } = self.application;
        let mut arguments = vec!["build".to_owned(), ".".to_owned()];
        arguments.extend(self.options.split_whitespace().map(str::to_owned));
        if self.options.contains("--enable-helm") {
            if !kube_version.is_empty() {
                arguments.push(format!("--helm-kube-version={kube_version}"));
            }
            arguments.extend(api_versions.iter().map(|version| format!("--helm-api-versions={version}")));
        }
        arguments.into_iter().map(OsString::from).collect()
    }

    /// The arguments of `kustomize` that write the images into the kustomization of the current folder; `None` without
    /// images.
    ///
    /// # Errors
    ///
    /// Texts that are no images, which kustomize would ignore.
    pub fn set_images(&self) -> Result<Option<Vec<OsString>>, ArgocdError> {
        if self.images.is_empty() {
            return Ok(None);
        }
        for image in self.images {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "._-/:@=*".contains(c);
            let (_, new) = image.split_once('=').unwrap_or(("", image));
            let says_something = image.contains('=') || new.contains([':', '@']);
            if !image.chars().all(allowed)
                || image.starts_with(['-', '='])
                || new.is_empty()
                || !says_something
            {
                let reason = "expected `NAME=NEW-NAME:TAG`, `NAME:TAG`, or a digest behind `@` for the tag";
                return Err(ArgocdError::parameter("kustomize-images", reason));
            }
        }
        let command = ["edit", "set", "image", "--"].into_iter();
        Ok(Some(command.chain(self.images.iter().map(|image| &**image)).map(OsString::from).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_of_kustomizations_see_the_cluster() {
        let application = Application {
            kube_version: "1.36.0".into(),
            api_versions: vec!["v1".into(), "apps/v1".into()],
            ..Application::default()
        };
        let build = |options| Kustomization { application: &application, options, images: &[] }.build();
        assert_eq!(build(""), ["build", "."]);
        assert_eq!(build(" --load-restrictor  X "), ["build", ".", "--load-restrictor", "X"]);
        let expected = [
            "build",
            ".",
            "--enable-helm",
            "--helm-kube-version=1.36.0",
            "--helm-api-versions=v1",
            "--helm-api-versions=apps/v1",
        ];
        assert_eq!(build("--enable-helm"), expected);
    }

    #[test]
    fn texts_that_are_no_images_are_refused() {
        let application = Application::default();
        let set = |images: &[&str]| {
            let images: Vec<String> = images.iter().map(|image| (*image).to_owned()).collect();
            Kustomization { application: &application, options: "", images: &images }.set_images()
        };
        assert_eq!(set(&[]), Ok(None));
        let digest = "registry.example:5000/a/web@sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3";
        let images = ["nginx:1.25", "web=registry.example/web", digest, "web=*:v2"];
        let arguments = set(&images).unwrap().unwrap();
        assert_eq!(arguments[..4], ["edit", "set", "image", "--"]);
        assert_eq!(arguments[4..], images);
        for image in ["", "nginx", "web=", "=web", "--all", "a b:1", "a:1\nb:2", "a:$(id)"] {
            assert!(set(&["nginx:1", image]).is_err(), "{image}");
        }
    }
}
