//! The real Kyverno beside a real API server.

use crate::api_server::ApiServer;
use crate::service_script::Keeper;

/// The admission and the background controller, alive until this value is dropped. About 15 seconds to start.
pub struct Kyverno {
    _keeper: Keeper,
}

impl Kyverno {
    /// Starts both beside a server that runs no other Kyverno.
    pub fn start(server: &ApiServer) -> Self {
        let keeper = Keeper::start("kyverno-controllers", &[server.kubeconfig().as_os_str()]);
        Self { _keeper: keeper }
    }
}
