//! The real Kyverno beside a real API server.

use std::io::Write as _;
use std::time::{Duration, Instant};

use super::apiserver::ApiServer;
use super::keeper::Keeper;

/// How long Kyverno may take until a policy is in force.
const PATIENCE: Duration = Duration::from_secs(60);

/// The admission and the background controller, alive until this value is dropped. About 15 seconds to start.
pub(crate) struct Kyverno<'a> {
    server: &'a ApiServer,
    _keeper: Keeper,
    probes: u32,
}

impl<'a> Kyverno<'a> {
    /// Starts both beside a server that runs no other Kyverno.
    pub(crate) fn start(server: &'a ApiServer) -> Self {
        let keeper = Keeper::start("kyverno-controllers", &[server.kubeconfig().as_os_str()]);
        Self { server, _keeper: keeper, probes: 0 }
    }

    /// Waits until everything that was said to the cluster about policies is in force: until a policy that came
    /// after them is.
    pub(crate) fn settle(&mut self) {
        self.probes += 1;
        let mark = format!("n{}", self.probes);
        let probe = format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: zz-rig-probe}}\nspec:\n  rules:\n  \
             - name: probe\n    match: {{any: [{{resources: {{kinds: [ConfigMap], names: [zz-rig-probe]}}}}]}}\n    \
             mutate: {{patchStrategicMerge: {{metadata: {{labels: {{probed: {mark}}}}}}}}}\n"
        );
        let asked = [
            "create",
            "configmap",
            "zz-rig-probe",
            "--dry-run=server",
            "-o",
            "jsonpath={.metadata.labels.probed}",
        ];
        let start = Instant::now();
        let mut said = false;
        loop {
            said = said || self.server.kubectl_with(&["apply", "-f", "-"], &probe).status.success();
            let answer = self.server.kubectl_with(&asked, "");
            if said && answer.stdout == mark.as_bytes() {
                break;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "no policy came into force: {}",
                String::from_utf8_lossy(&answer.stderr)
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        // Policies of one kind come in order, but not those of both kinds.
        std::thread::sleep(Duration::from_millis(300));
    }

    /// Installs a policy and waits until it is in force; what the cluster says if it refuses.
    pub(crate) fn install(&mut self, policy: &str) -> Result<(), String> {
        let output = self.server.kubectl_with(&["create", "-f", "-"], policy);
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        self.settle();
        Ok(())
    }

    /// Removes a policy, without waiting.
    pub(crate) fn remove(&self, policy: &str) {
        self.server.kubectl_ok(&["delete", "--wait=true", "-f", "-"], policy);
    }
}

/// A line past the test harness, which keeps the output of a passing test to itself.
pub(crate) fn say(line: &str) {
    drop(std::io::stderr().write_all(format!("{line}\n").as_bytes()));
}
