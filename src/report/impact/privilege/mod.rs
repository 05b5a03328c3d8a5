//! Changes that grant more privileges.

mod restricted;

use std::collections::{BTreeMap, BTreeSet};

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::value::{GroupVersionKind, Pointer, Value, distinct};

use super::{list, pointer, text};

const RBAC: &str = "rbac.authorization.k8s.io";

/// The levels of the Pod Security Standards, the strictest first.
const LEVELS: [&str; 3] = ["restricted", "baseline", "privileged"];

const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
const ENFORCE_VERSION: &str = "pod-security.kubernetes.io/enforce-version";

/// Deprecated annotations for `AppArmor` and seccomp profiles.
const PROFILES: [&str; 3] = [
    "container.apparmor.security.beta.kubernetes.io/",
    "container.seccomp.security.alpha.kubernetes.io/",
    "seccomp.security.alpha.kubernetes.io/pod",
];

/// Sysctls that the Pod Security Standards allow.
const SYSCTLS: [&str; 12] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
];

/// Volume types that the Pod Security Standards allow.
const VOLUMES: [&str; 10] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "name",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// `SELinux` types that the Pod Security Standards allow.
const SELINUX: [&str; 4] = ["container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

const AGGREGATED: &str = "rbac.authorization.k8s.io/aggregate-to-";

/// The paths of Pod specs.
const PODS: [&[&str]; 3] =
    [&["spec", "jobTemplate", "spec", "template", "spec"], &["spec", "template", "spec"], &["spec"]];

/// The actions of containers that can name a host.
const ACTIONS: [&[&str]; 5] = [
    &["livenessProbe"],
    &["readinessProbe"],
    &["startupProbe"],
    &["lifecycle", "postStart"],
    &["lifecycle", "preStop"],
];

static NULL: Value = Value::Null;

/// The paths of fields that grant more privileges than before.
pub(super) fn gained(kind: &GroupVersionKind, before: &Value, after: &Value) -> Vec<Pointer> {
    let object = Place { before, after, at: Pointer::ROOT };
    let mut gains = Gains::default();
    match (&*kind.group, &*kind.kind) {
        (RBAC, "Role" | "ClusterRole") => {
            gains.rules(&object);
            gains.replaced(&object, "aggregationRule");
            gains.aggregated(&object.path(&["metadata", "labels"]));
        }
        (RBAC, "RoleBinding" | "ClusterRoleBinding") => {
            gains.added(&object, "subjects");
            gains.replaced(&object, "roleRef");
        }
        ("", "ServiceAccount") => gains.no_longer(&object, "automountServiceAccountToken", false),
        ("", "Namespace") => gains.level(&object.path(&["metadata", "labels"])),
        ("resource.k8s.io", "ResourceClaim") => gains.devices(&object.path(&["spec", "devices"])),
        ("resource.k8s.io", "ResourceClaimTemplate") => {
            gains.devices(&object.path(&["spec", "spec", "devices"]));
        }
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => gains.webhooks(&object),
        _ => {
            let has_pod =
                |path: &&&[&str]| after.path(path).is_some_and(|spec| spec.get("containers").is_some());
            if let Some(path) = PODS.iter().find(has_pod) {
                let pod = object.path(path);
                if !pod.before.same_storage(pod.after) {
                    gains.pod(&pod);
                }
                let parent = object.path(&path[..path.len() - 1]);
                gains.profiles(&parent.path(&["metadata", "annotations"]));
            }
        }
    }
    gains.0.into_iter().collect()
}

/// A place in both objects; a value that does not exist is null.
struct Place<'v> {
    before: &'v Value,
    after: &'v Value,
    at: Pointer,
}

impl<'v> Place<'v> {
    fn path(&self, path: &[&str]) -> Self {
        let [before, after] = self.both(|value| value.path(path).unwrap_or(&NULL));
        Self { before, after, at: self.at.join(&pointer(path)) }
    }

    fn both<T>(&self, get: impl Fn(&'v Value) -> T) -> [T; 2] {
        [get(self.before), get(self.after)]
    }

    /// The elements of a list after the change, each with the old one of the same name.
    fn elements(&self, field: &str) -> impl Iterator<Item = Self> {
        let known: BTreeMap<&str, &Value> = by_name(list(self.before, &[field]));
        let at = self.at.key(field);
        list(self.after, &[field]).iter().enumerate().map(move |(index, after)| {
            let before = name(after).and_then(|name| known.get(name).copied()).unwrap_or(&NULL);
            Self { before, after, at: at.index(index) }
        })
    }
}

/// Collects the paths of fields that grant more privileges.
#[derive(Default)]
struct Gains(IndexSet<Pointer, RandomState>);

impl Gains {
    fn pod(&mut self, pod: &Place<'_>) {
        for field in ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"] {
            self.enabled(pod, field);
        }
        for field in ["hostUsers", "automountServiceAccountToken"] {
            self.no_longer(pod, field, false);
        }
        self.account(pod);
        self.security_context(&pod.path(&["securityContext"]));
        self.volumes(pod);
        let was_non_root = pod.before.path(&["securityContext", "runAsNonRoot"]) == Some(&Value::Bool(true));
        for field in ["containers", "initContainers", "ephemeralContainers"] {
            for container in pod.elements(field) {
                self.host_ports(&container);
                self.hosts(&container);
                let context = container.path(&["securityContext"]);
                self.security_context(&context);
                // A container overrides its Pod.
                let [was_root, is_root] =
                    context.both(|context| context.get("runAsNonRoot") == Some(&Value::Bool(false)));
                self.note(was_non_root && is_root && !was_root, &context, "runAsNonRoot");
            }
        }
        self.restricted(pod);
    }

    /// Violations of the level `restricted`, if the Pod met it before.
    fn restricted(&mut self, pod: &Place<'_>) {
        let at = &pod.at;
        if list(pod.before, &["containers"]).is_empty()
            || restricted::violations(pod.before, at).next().is_some()
        {
            return;
        }
        // A field inside of it, or the same field of the Pod, may have been found already.
        let found: BTreeSet<&Pointer> = self.0.iter().collect();
        let of_pod = self.0.iter().filter(|found| found.segments().len() == at.segments().len() + 2);
        let of_pod: BTreeSet<_> = of_pod.map(|found| found.segments().last()).collect();
        let is_new = |place: &Pointer| {
            let next = found.range::<Pointer, _>(place..).next();
            !next.is_some_and(|next| place.contains(next)) && !of_pod.contains(&place.segments().last())
        };
        let new: Vec<Pointer> = restricted::violations(pod.after, at).filter(is_new).collect();
        self.0.extend(new);
    }

    /// The service account of a Pod, by either of the field's names.
    fn account(&mut self, pod: &Place<'_>) {
        let [old, new] = pod.both(|pod| {
            let field = |field| Some((field, text(pod, &[field]).filter(|name| !name.is_empty())?));
            ["serviceAccountName", "serviceAccount"].into_iter().find_map(field)
        });
        if let Some((field, name)) = new {
            self.note(old.is_none_or(|(_, old)| old != name), pod, field);
        }
    }

    /// Probes and hooks that call another host than their Pod, from the node.
    fn hosts(&mut self, container: &Place<'_>) {
        for action in ACTIONS {
            for call in ["httpGet", "tcpSocket"] {
                let host = |action| text(action, &[call, "host"]).filter(|host| !host.is_empty());
                let [old, new] = container.both(|container| container.path(action).and_then(host));
                if new.is_some() && new != old {
                    self.note(true, &container.path(action).path(&[call]), "host");
                }
            }
        }
    }

    /// Profiles in annotations: one that is removed or becomes `unconfined`.
    fn profiles(&mut self, annotations: &Place<'_>) {
        let keys =
            annotations.both(Value::as_object).into_iter().flatten().flat_map(|members| members.keys());
        let keys = keys.filter(|key| PROFILES.iter().any(|profile| key.starts_with(profile)));
        for key in keys.collect::<BTreeSet<_>>() {
            let [was, is] = annotations.both(|annotations| annotations.get(key).and_then(Value::as_str));
            let open = Some("unconfined");
            self.note(was != is && was != open && (is == open || is.is_none()), annotations, key);
        }
    }

    /// Requests for devices with admin access.
    fn devices(&mut self, devices: &Place<'_>) {
        for request in devices.elements("requests") {
            self.enabled(&request.path(&["exactly"]), "adminAccess");
        }
    }

    /// Webhooks that call another service, ignore failures, or are removed.
    fn webhooks(&mut self, object: &Place<'_>) {
        for webhook in object.elements("webhooks") {
            self.replaced(&webhook, "clientConfig");
            let [ignored, ignores] =
                webhook.both(|webhook| text(webhook, &["failurePolicy"]) == Some("Ignore"));
            self.note(!webhook.before.is_null() && !ignored && ignores, &webhook, "failurePolicy");
        }
        let [old, new] = object.both(|object| by_name(list(object, &["webhooks"])));
        self.note(old.keys().any(|name| !new.contains_key(name)), object, "webhooks");
    }

    /// The security context of a Pod or a container.
    fn security_context(&mut self, context: &Place<'_>) {
        self.enabled(context, "privileged");
        self.enabled(&context.path(&["windowsOptions"]), "hostProcess");
        self.no_longer(context, "allowPrivilegeEscalation", false);
        self.no_longer(context, "runAsNonRoot", true);
        self.no_longer(context, "readOnlyRootFilesystem", true);
        for field in ["runAsUser", "runAsGroup"] {
            let [old, new] = context.both(|context| context.get(field).map(Value::to_json));
            let was_other = old.as_deref().is_some_and(|old| old != "0");
            let is_root = new.as_deref() == Some("0") || new.is_none() && was_other;
            self.note(old != new && is_root, context, field);
        }
        for field in ["seccompProfile", "appArmorProfile", "seLinuxOptions"] {
            let [was_open, is_open] =
                context.both(|context| text(context, &[field, "type"]) == Some("Unconfined"));
            let [was_set, is_set] = context.both(|context| context.get(field).is_some());
            self.note(!was_open && (was_set && !is_set || is_open), context, field);
        }
        let selinux = context.path(&["seLinuxOptions"]);
        for field in ["type", "user", "role"] {
            let [old, new] = selinux.both(|options| {
                let is_allowed =
                    |value: &&str| if field == "type" { SELINUX.contains(value) } else { value.is_empty() };
                text(options, &[field]).filter(|value| !is_allowed(value))
            });
            self.note(new.is_some() && new != old, &selinux, field);
        }
        let [known, sysctls] = context.both(|context| list(context, &["sysctls"]));
        let is_unsafe = |sysctl: &&Value| name(sysctl).is_none_or(|name| !SYSCTLS.contains(&name));
        let known = distinct(known);
        let mut is_new = sysctls.iter().filter(is_unsafe).map(|sysctl| !known.contains(sysctl));
        self.note(is_new.any(|is_new| is_new), context, "sysctls");
        if text(context.after, &["procMount"]) == Some("Unmasked") {
            self.replaced(context, "procMount");
        }
        let capabilities = context.path(&["capabilities"]);
        self.added(&capabilities, "add");
        let [old, new] = capabilities.both(|capabilities| list(capabilities, &["drop"]));
        let drops_all = new.iter().any(|dropped| dropped.as_str() == Some("ALL"));
        let new = distinct(new);
        let is_kept = |dropped: &Value| drops_all || new.contains(dropped);
        self.note(!old.iter().all(is_kept), &capabilities, "drop");
    }

    /// Ports of the host.
    fn host_ports(&mut self, container: &Place<'_>) {
        let port = |port: &Value| port.get("hostPort").map(Value::to_json).filter(|port| port != "0");
        let known: BTreeSet<String> = list(container.before, &["ports"]).iter().filter_map(port).collect();
        for (index, one) in list(container.after, &["ports"]).iter().enumerate() {
            if port(one).is_some_and(|port| !known.contains(&port)) {
                self.0.insert(container.at.key("ports").index(index).key("hostPort"));
            }
        }
    }

    /// Rules that no single old rule grants.
    fn rules(&mut self, role: &Place<'_>) {
        let [old, new] = role.both(|role| list(role, &["rules"]));
        let known = distinct(old);
        let is_new = |rule: &Value| !known.contains(rule) && !old.iter().any(|old| grants(old, rule));
        self.note(new.iter().any(is_new), role, "rules");
    }

    /// Labels by which other roles aggregate this one.
    fn aggregated(&mut self, labels: &Place<'_>) {
        for (key, value) in labels.after.as_object().into_iter().flat_map(|labels| labels.iter()) {
            let is_aggregated = key.starts_with(AGGREGATED) && value.as_str() == Some("true");
            self.note(is_aggregated && labels.before.get(key) != Some(value), labels, key);
        }
    }

    /// Host volumes, other volume types that are not allowed, and tokens.
    fn volumes(&mut self, pod: &Place<'_>) {
        for volume in pod.elements("volumes") {
            let [old, new] = volume.both(|volume| volume.path(&["hostPath", "path"]));
            self.note(new.is_some() && old != new, &volume, "hostPath");
            for kind in volume.after.as_object().into_iter().flat_map(|members| members.keys()) {
                let is_allowed = **kind == *"hostPath" || VOLUMES.contains(&&**kind);
                self.note(!is_allowed && volume.before.get(kind).is_none(), &volume, kind);
            }
            let [old, new] = volume.both(|volume| {
                let sources = list(volume, &["projected", "sources"]).iter();
                sources.filter(|source| source.get("serviceAccountToken").is_some()).count()
            });
            self.note(new > old, &volume, "projected");
        }
    }

    /// The enforced level of the Pod Security Standards.
    fn level(&mut self, labels: &Place<'_>) {
        let [old, new] = labels.both(|labels| {
            let label = labels.get(ENFORCE).and_then(Value::as_str).unwrap_or("privileged");
            LEVELS.iter().position(|level| *level == label).unwrap_or(LEVELS.len())
        });
        self.note(new > old, labels, ENFORCE);
        // Older versions of a level are less strict. Without a label it is the latest.
        let [old, version] = labels.both(|labels| {
            let minor = labels.get(ENFORCE_VERSION).and_then(Value::as_str)?.strip_prefix("v1.")?;
            minor.parse::<u32>().ok()
        });
        let is_older = version.unwrap_or(u32::MAX) < old.unwrap_or(u32::MAX);
        self.note(new < LEVELS.len() - 1 && is_older, labels, ENFORCE_VERSION);
    }

    /// A field that becomes true.
    fn enabled(&mut self, place: &Place<'_>, field: &str) {
        let [was_on, is_on] = place.both(|value| value.get(field) == Some(&Value::Bool(true)));
        self.note(is_on && !was_on, place, field);
    }

    /// A field that loses its safe value.
    fn no_longer(&mut self, place: &Place<'_>, field: &str, safe: bool) {
        let [was_safe, is_safe] = place.both(|value| value.get(field) == Some(&Value::Bool(safe)));
        self.note(was_safe && !is_safe, place, field);
    }

    /// A field with another value.
    fn replaced(&mut self, place: &Place<'_>, field: &str) {
        let [old, new] = place.both(|value| value.get(field));
        self.note(new.is_some() && old != new, place, field);
    }

    /// A list with new elements.
    fn added(&mut self, place: &Place<'_>, field: &str) {
        let [old, new] = place.both(|value| list(value, &[field]));
        let old = distinct(old);
        self.note(new.iter().any(|element| !old.contains(element)), place, field);
    }

    fn note(&mut self, is_gain: bool, place: &Place<'_>, field: &str) {
        if is_gain {
            self.0.insert(place.at.key(field));
        }
    }
}

/// Whether a rule of a role grants everything that another one grants.
fn grants(old: &Value, new: &Value) -> bool {
    let includes = |field: &str| {
        let allowed = distinct(list(old, &[field]));
        let has_wildcard = field != "resourceNames" && allowed.contains(&Value::from("*"));
        has_wildcard || list(new, &[field]).iter().all(|one| allowed.contains(one))
    };
    let [old_names, new_names] = [old, new].map(|rule| list(rule, &["resourceNames"]).len());
    let includes_names = old_names == 0 || new_names > 0 && includes("resourceNames");
    includes_names && ["verbs", "apiGroups", "resources", "nonResourceURLs"].into_iter().all(includes)
}

fn name(element: &Value) -> Option<&str> {
    element.get("name").and_then(Value::as_str)
}

fn by_name(list: &[Value]) -> BTreeMap<&str, &Value> {
    list.iter().filter_map(|element| Some((name(element)?, element))).collect()
}

#[cfg(test)]
mod tests;
