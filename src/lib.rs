//! The engine of `kubectl kyv`: what Kyverno mutate policies do to Kubernetes objects.
//!
//! # Rooms and doors
//!
//! Each module is a room with one concern. The engine and everything below it is pure: values go in, values
//! come out; it never prints, reads no clock and touches neither files nor sockets. Three thin shells give it
//! objects and show its reports: the command line, the KRM function, the live cluster.
//!
//! | room | holds | may use |
//! |---|---|---|
//! | [`value`] | the JSON data model, exact numbers, identity, pointers, differences, quantities | – |
//! | [`resources`] | the built-in kinds with plurals, scopes, subresources; how resources are looked up | `value` |
//! | [`secrets`] | which texts are values of Secrets or were made of them, masks, stand-ins | `value` |
//! | [`semantics`] | the two semantics and the table of their differences | – |
//! | [`yaml`] | text and positions, reading, printing | `value` |
//! | [`pattern`] | wildcards, pattern leaves, conditions | `value` |
//! | [`jmespath`] | Kyverno's dialect of JMESPath | `pattern`, `yaml`, `value` |
//! | [`variables`] | references in strings and their replacement | `jmespath`, `value` |
//! | [`patch`] | JSON patches, overlays with anchors, strategic merge | `pattern`, `yaml`, `value` |
//! | [`policy`] | the families of policies, compiled; the set that finds them; in `classic/` rules, autogen, exceptions | all above |
//! | [`report`] | outcomes, changes, the trace | `value` |
//! | [`engine`] | one object through all policies; looks everything outside up in an [`engine::World`]; in `classic/` the rules of classic policies | all above |
//! | [`suite`] | Kyverno's test documents: selection, comparison | `engine`, `policy`, `report`, `resources`, `yaml`, `value` |
//! | [`krm`] | ResourceList, functionConfig, results | `policy`, `report`, `yaml`, `value` |
//! | [`argocd`] | the Argo CD plugin's environment, parameters, paths, renderers | `pattern`, `value` |
//! | [`render`] | diff, patch, JSON, tables; masking | `report`, `yaml`, `value` |
//! | [`source`] | files, standard input, values, child programs, the cluster | `engine`, `policy`, `resources`, `yaml`, `value` |
//! | `commands` | arguments, terminal, exit codes | all |
//!
//! Every room from [`jmespath`] on may use [`secrets`], every room [`semantics`]. `tests/architecture` checks the doors.
//!
//! # One object through the rooms
//!
//! ```
//! use kyv::engine::{EmptyWorld, Engine, Settings};
//! use kyv::policy::{self, PolicySet};
//! use kyv::semantics::Semantics;
//! use kyv::value::Value;
//! use kyv::yaml;
//!
//! let document = yaml::parse_value(
//!     "
//! apiVersion: kyverno.io/v1
//! kind: ClusterPolicy
//! metadata: {name: pull}
//! spec:
//!   rules:
//!   - name: always
//!     match: {any: [{resources: {kinds: [Pod]}}]}
//!     mutate:
//!       patchStrategicMerge: {spec: {containers: [{(image): '*:latest', imagePullPolicy: Always}]}}
//! ",
//! )?;
//! let policy = policy::parse(&document, Semantics::Documented).map_err(|faults| faults[0].to_string())?;
//! let engine = Engine::new(PolicySet::new(vec![policy]), Settings::default());
//!
//! let pod = yaml::parse_value(
//!     "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: 'a:latest'}]}}",
//! )?;
//! let report = engine.mutate(&pod, None, &EmptyWorld);
//! let pull = report.after.path(&["spec", "containers"]).and_then(|list| list.at(0)?.get("imagePullPolicy"));
//! assert_eq!(pull, Some(&Value::from("Always")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod argocd;
pub mod engine;
pub mod jmespath;
pub mod krm;
pub mod patch;
pub mod pattern;
pub mod policy;
pub mod render;
pub mod report;
pub mod resources;
pub mod secrets;
pub mod semantics;
pub mod source;
pub mod suite;
pub mod value;
pub mod variables;
pub mod yaml;

#[cfg(feature = "cli")]
pub mod commands;
