//! Rules of classic policies.

pub(super) mod context;
pub(super) mod exemption;
mod foreach;
mod legacy;
mod mutate_existing;
pub(super) mod request;
pub(super) mod rule;

pub use context::image_name;
pub use mutate_existing::{LAST_APPLIED, Triggered};

pub(super) use mutate_existing::run as run_targets;
