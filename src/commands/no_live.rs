//! Live objects, in a program that was built without access to clusters.

use super::arguments::Inputs;
use super::driver::Show;
use super::exit::Exit;
use super::ledger::Ledger;
use super::session::Session;
use super::talk::Talk;

/// Says that this program cannot read live objects.
pub(super) fn run(_: &Inputs, _: Option<&Session>, _: &impl Show, talk: &mut Talk) -> Option<Ledger> {
    talk.error(Exit::Input, "this program was built without access to clusters; give objects with -f or -k");
    None
}
