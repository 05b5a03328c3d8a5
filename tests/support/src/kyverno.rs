//! The real Kyverno beside a real API server.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::api_server::ApiServer;
use crate::service_script::ServiceScript;

/// Tests of one program run at once: with more than one Kyverno at a time a small machine is too slow for its timeouts.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The admission and the background controller, which run until this value is dropped. About 15 seconds to start.
pub struct Kyverno {
    _service: ServiceScript,
    _turn: MutexGuard<'static, ()>,
}

impl Kyverno {
    /// Starts both beside a server that runs no other Kyverno, once no other test of this program runs one.
    pub fn start(server: &ApiServer) -> Self {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let service = ServiceScript::start("kyverno-controllers", &[server.kubeconfig().as_os_str()]);
        Self { _service: service, _turn: turn }
    }
}
