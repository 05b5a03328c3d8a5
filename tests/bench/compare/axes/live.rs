//! Live objects, listed from a real API server.

use super::Bench;

pub(crate) fn live(_bench: &mut Bench) -> Result<(), String> {
    Ok(())
}
