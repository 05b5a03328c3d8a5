//! Live objects, listed from a real API server.
//!
//! It is not checked here that kyv and the Kyverno CLI do the same: the one takes live objects as updated, the other as
//! created, as each does by default, and a policy of the thirty asks.

use std::ops::Range;

use kyv::yaml::parse_value;
use serde_json::Value;

use crate::compare::contestant::Contestant;
use crate::compare::manifests;
use crate::compare::policies::MATCHING;
use test_support::api_server::ApiServer;
use test_support::rest::Rest;

use super::{Axis, Bench, KYV, KYVERNO};

const CONNECTIONS: usize = 16;

pub(crate) fn live(bench: &mut Bench) -> Result<(), String> {
    let server = ApiServer::start();
    let rest = Rest::open(&server);
    let spaces: Vec<Value> = (0..manifests::NAMESPACES).map(namespace).collect();
    rest.create_all(&spaces, CONNECTIONS);
    let policies = bench.policies(MATCHING, 0);
    let kyv = Contestant::new(KYV, &bench.programs.kyv).args(&["mutate", "-A", "-p"]).arg(&policies);
    let kyv = kyv.arg("--kubeconfig").arg(server.kubeconfig());
    let (few, many) = (bench.sizes.yardstick, bench.sizes.large);
    // Minutes for 1,000 objects.
    let kyverno = Contestant::new(KYVERNO, bench.programs.kyverno()).at_most(1);
    let kyverno = kyverno.arg("apply").arg(&policies).args(&["--cluster", "--remove-color", "--kubeconfig"]);
    let kyverno = kyverno.arg(server.kubeconfig());
    create(&rest, 0..few)?;
    bench.take(Axis::Live, vec![(few, kyv.clone()), (few, kyverno)])?;
    create(&rest, few..many)?;
    bench.take(Axis::Live, vec![(many, kyv)])
}

fn namespace(number: usize) -> Value {
    let name = manifests::namespace(number);
    serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn create(rest: &Rest, numbers: Range<usize>) -> Result<(), String> {
    let objects: Result<Vec<Value>, String> = numbers.map(object).collect();
    rest.create_all(&objects?, CONNECTIONS);
    Ok(())
}

fn object(number: usize) -> Result<Value, String> {
    let value = parse_value(&manifests::object(number)).map_err(|error| error.to_string())?;
    let mut object: Value = serde_json::from_str(&value.to_json()).map_err(|error| error.to_string())?;
    // The server has few addresses to give.
    if object["kind"] == "Service" {
        object["spec"]["clusterIP"] = "None".into();
    }
    Ok(object)
}
