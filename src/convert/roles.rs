//! The roles of a user: those of the bindings that name it.

use super::cel_text::{Cel, Operator};
use super::conditions::Tests;
use super::context::Variable;

/// The variables with the roles, as `namespace:name`, and with the cluster roles.
pub(super) const ROLES: &str = "roles";
pub(super) const CLUSTER_ROLES: &str = "clusterRoles";
pub(super) const BINDINGS: &str = "bindings";

fn variable(name: &str) -> Cel {
    Cel::atom("variables").member(name)
}

/// Whether the user has one of some roles, or of some cluster roles.
pub(super) fn has_one(field: &str, names: &[String]) -> Cel {
    let own = variable(if field == "roles" { ROLES } else { CLUSTER_ROLES });
    match names {
        [one] => Cel::text(one).compare(Operator::In, own),
        several => {
            let list = Cel::List(several.iter().map(Cel::text).collect());
            list.call("exists", [Cel::atom("role"), Cel::atom("role").compare(Operator::In, own)])
        }
    }
}

/// The variables that tests on roles use.
pub(super) fn variables(tests: &Tests) -> Vec<Variable> {
    let uses = |name: &str| tests.tests.iter().any(|test| test.cel.contains(&variable(name)));
    let (roles, cluster_roles) = (uses(ROLES), uses(CLUSTER_ROLES));
    if !roles && !cluster_roles {
        return Vec::new();
    }
    let of = |kind: &str, name: Cel| {
        let binding = || Cel::atom("binding");
        let is_kind = binding().member("roleRef").member("kind").equals(Cel::text(kind));
        variable(BINDINGS).call("filter", [binding(), is_kind]).call("map", [binding(), name])
    };
    let role = || Cel::atom("binding").member("roleRef").member("name");
    let namespace = Cel::atom("binding").member("metadata").member("namespace");
    let mut found = vec![Variable { name: BINDINGS.to_owned(), cel: bindings() }];
    if roles {
        let name = namespace.plus(Cel::text(":")).plus(role());
        found.push(Variable { name: ROLES.to_owned(), cel: of("Role", name) });
    }
    if cluster_roles {
        found.push(Variable { name: CLUSTER_ROLES.to_owned(), cel: of("ClusterRole", role()) });
    }
    found
}

/// The bindings that name the user, one of its groups, or its service account.
fn bindings() -> Cel {
    let list = |plural: &str| {
        let arguments = [Cel::text("rbac.authorization.k8s.io/v1"), Cel::text(plural), Cel::text("")];
        Cel::function("dyn", [Cel::atom("resource").call("List", arguments).member("items")])
    };
    let user = || Cel::atom("request").member("userInfo");
    let groups = user().maybe("groups").or_value(Cel::List(Vec::new()));
    let subject = |field: &str| Cel::atom("subject").member(field);
    let account = Cel::text("system:serviceaccount:")
        .plus(subject("namespace"))
        .plus(Cel::text(":"))
        .plus(subject("name"));
    let is_user = Cel::if_else(
        subject("kind").equals(Cel::text("ServiceAccount")),
        user().member("username").equals(account),
        Cel::any(vec![
            subject("name").equals(user().member("username")),
            subject("name").compare(Operator::In, groups),
        ]),
    );
    let subjects = Cel::atom("binding").maybe("subjects").or_value(Cel::List(Vec::new()));
    let names_user = subjects.call("exists", [Cel::atom("subject"), is_user]);
    list("rolebindings").plus(list("clusterrolebindings")).call("filter", [Cel::atom("binding"), names_user])
}
