//! Live objects, in a program that was built without access to clusters.

use std::sync::Arc;

use crate::source::cluster::Cluster;

use super::arguments::Inputs;
use super::driver::Show;
use super::exit::Exit;
use super::ledger::Ledger;
use super::session::Session;
use super::talk::Talk;

/// Never runs: without a cluster there is no session.
pub(super) const fn run(_: &Inputs, _: Option<&Session>, _: &impl Show, _: &mut Talk) -> Option<Ledger> {
    None
}

/// Says that this program asks no cluster.
pub(super) fn connect(_: &Inputs, talk: &mut Talk) -> Option<Arc<dyn Cluster>> {
    talk.error(Exit::Input, "this program was built without access to clusters; give objects with -f or -k");
    None
}
