//! Classic policies: `standard` rules change the object itself, `mutate_existing` rules the targets that it triggers.

mod conditions;
mod context;
mod exemption;
mod foreach;
mod hints;
mod mutate_existing;
mod patch;
mod request;
mod rule;
mod shared;
mod standard;
pub(super) mod state;

pub use context::image_name;
pub use mutate_existing::LAST_APPLIED;

pub(super) use mutate_existing::run as run_targets;
pub(super) use standard::{is_silent, run};
