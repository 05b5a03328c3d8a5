//! The languages of policies and manifests, as the library reads them: YAML, JMESPath, JSON patches, variables.

mod cel;
mod cel_generator;
mod cel_policies;
mod fuzz;
mod go_yaml;
mod go_yaml_texts;
mod jmespath;
mod json_patch;
mod secret_redaction;
