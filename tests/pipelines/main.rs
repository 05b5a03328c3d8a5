//! Inside other tools: the KRM function in kustomize, kubectl and kpt, and the Argo CD plugin. The tests with the real
//! tools run when `KYV_REAL_PROGRAMS` is 1.
//!
//! The examples of `krm-function/examples` are built unchanged; their expected output is in `tests/pipelines`.

#[cfg(unix)]
mod argocd;
#[cfg(unix)]
mod argocd_inputs;
#[cfg(target_os = "linux")]
mod argocd_install;
#[cfg(unix)]
mod ci_recipes;
#[cfg(unix)]
mod drift;
mod folder;
mod kpt;
mod kustomize;
#[cfg(unix)]
mod page_runner;
#[cfg(unix)]
mod pages;
mod recipes;
mod schema;
#[cfg(unix)]
mod workspace;
