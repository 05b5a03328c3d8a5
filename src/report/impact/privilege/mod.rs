//! Changes that grant more privileges.

mod restricted;

use std::collections::{BTreeMap, BTreeSet};

use crate::value::{GroupVersionKind, Pointer, Value};

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

/// The paths of fields that grant more privileges than before.
pub(super) fn gained(kind: &GroupVersionKind, before: &Value, after: &Value) -> Vec<Pointer> {
    let mut escalations = Escalations { found: Vec::new() };
    match (&*kind.group, &*kind.kind) {
        (RBAC, "Role" | "ClusterRole") => {
            escalations.rules(before, after);
            escalations.replaced(before, after, &Pointer::ROOT, "aggregationRule");
            escalations.aggregated(before, after);
        }
        (RBAC, "RoleBinding" | "ClusterRoleBinding") => {
            escalations.added(before, after, &Pointer::ROOT, "subjects");
            escalations.replaced(before, after, &Pointer::ROOT, "roleRef");
        }
        ("", "ServiceAccount") => {
            escalations.no_longer_safe(before, after, &Pointer::ROOT, "automountServiceAccountToken", false);
        }
        ("", "Namespace") => escalations.level(before, after),
        ("resource.k8s.io", "ResourceClaim") => {
            escalations.devices(before, after, &["spec", "devices", "requests"]);
        }
        ("resource.k8s.io", "ResourceClaimTemplate") => {
            escalations.devices(before, after, &["spec", "spec", "devices", "requests"]);
        }
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => {
            escalations.webhooks(before, after);
        }
        _ => {
            let has_pod =
                |path: &&&[&str]| after.path(path).is_some_and(|spec| spec.get("containers").is_some());
            if let Some(path) = PODS.iter().find(has_pod) {
                let at = path.iter().fold(Pointer::ROOT, |at, key| at.key(*key));
                let none = Value::Null;
                let (old, new) = (before.path(path).unwrap_or(&none), after.path(path).unwrap_or(&none));
                if !old.same_storage(new) {
                    escalations.pod(old, new, &at);
                }
                let whole = path.split_last().map_or(&path[..], |(_, whole)| whole);
                let metadata: Vec<&str> = whole.iter().copied().chain(["metadata", "annotations"]).collect();
                escalations.profiles(before, after, &metadata);
            }
        }
    }
    escalations.found
}

/// Collects the paths of fields that grant more privileges.
struct Escalations {
    found: Vec<Pointer>,
}

impl Escalations {
    fn pod(&mut self, before: &Value, after: &Value, at: &Pointer) {
        for field in ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"] {
            self.enabled(before, after, at, field);
        }
        for field in ["hostUsers", "automountServiceAccountToken"] {
            self.no_longer_safe(before, after, at, field, false);
        }
        self.account(before, after, at);
        let none = Value::Null;
        let (old, new) = (before.get("securityContext"), after.get("securityContext"));
        self.context(old.unwrap_or(&none), new.unwrap_or(&none), &at.key("securityContext"));
        self.volumes(before, after, &at.key("volumes"));
        for field in ["containers", "initContainers", "ephemeralContainers"] {
            let known = by_name(before.get(field));
            for (index, container) in elements(after.get(field)).iter().enumerate() {
                let old = name(container).and_then(|name| known.get(name));
                self.host_ports(old.copied().unwrap_or(&none), container, &at.key(field).index(index));
                self.hosts(old.copied().unwrap_or(&none), container, &at.key(field).index(index));
                let old = old.and_then(|old| old.get("securityContext"));
                let new = container.get("securityContext").unwrap_or(&none);
                let place = at.key(field).index(index).key("securityContext");
                self.context(old.unwrap_or(&none), new, &place);
                // A container overrides its Pod.
                let is_rooted = |context: &Value| context.get("runAsNonRoot") == Some(&Value::Bool(false));
                let was_kept = before.path(&["securityContext", "runAsNonRoot"]) == Some(&Value::Bool(true));
                let is_undone = was_kept && is_rooted(new) && !old.is_some_and(is_rooted);
                self.note(is_undone, &place, "runAsNonRoot");
            }
        }
        self.restricted(before, after, at);
    }

    /// Violations of the level `restricted`, if the Pod met it before.
    fn restricted(&mut self, before: &Value, after: &Value, at: &Pointer) {
        if elements(before.get("containers")).is_empty() || !restricted::violations(before, at).is_empty() {
            return;
        }
        for place in restricted::violations(after, at) {
            // A field inside of it, or the same field of the Pod, may have been found already.
            let last = place.segments().last();
            let is_same = |found: &Pointer| {
                found.segments().starts_with(place.segments())
                    || found.segments().len() == at.segments().len() + 2 && found.segments().last() == last
            };
            if !self.found.iter().any(is_same) {
                self.found.push(place);
            }
        }
    }

    /// The service account of a Pod, by either of the field's names.
    fn account(&mut self, before: &Value, after: &Value, at: &Pointer) {
        let fields = ["serviceAccountName", "serviceAccount"];
        let account = |pod: &Value| {
            let text = |field: &'static str| {
                let name = pod.get(field)?.as_str().filter(|text| !text.is_empty())?;
                Some((field, name.to_owned()))
            };
            fields.into_iter().find_map(text)
        };
        let (old, new) = (account(before), account(after));
        if let Some((field, name)) = new
            && old.is_none_or(|(_, old)| old != name)
        {
            self.found.push(at.key(field));
        }
    }

    /// Probes and hooks that call another host than their Pod, from the node.
    fn hosts(&mut self, before: &Value, after: &Value, at: &Pointer) {
        let calls: [&[&str]; 5] = [
            &["livenessProbe"],
            &["readinessProbe"],
            &["startupProbe"],
            &["lifecycle", "postStart"],
            &["lifecycle", "preStop"],
        ];
        for call in calls {
            for action in ["httpGet", "tcpSocket"] {
                let place: Vec<&str> = call.iter().copied().chain([action, "host"]).collect();
                let host = |container: &Value| {
                    container
                        .path(&place)
                        .and_then(Value::as_str)
                        .filter(|host| !host.is_empty())
                        .map(str::to_owned)
                };
                if host(after).is_some() && host(after) != host(before) {
                    self.found.push(place.iter().fold(at.clone(), |at, key| at.key(*key)));
                }
            }
        }
    }

    /// Profiles in annotations: one that is removed or becomes `unconfined`.
    fn profiles(&mut self, before: &Value, after: &Value, place: &[&str]) {
        let none = Value::Null;
        let (old, new) = (before.path(place).unwrap_or(&none), after.path(place).unwrap_or(&none));
        let open = Some("unconfined");
        let keys =
            [old, new].into_iter().filter_map(Value::as_object).flat_map(|annotations| annotations.keys());
        let keys = keys.filter(|key| PROFILES.iter().any(|profile| key.starts_with(profile)));
        for key in keys.collect::<BTreeSet<_>>() {
            let (was, is) = (old.get(key).and_then(Value::as_str), new.get(key).and_then(Value::as_str));
            let at = place.iter().fold(Pointer::ROOT, |at, key| at.key(*key));
            self.note(was != is && was != open && (is == open || is.is_none()), &at, key);
        }
    }

    /// Requests for devices with admin access.
    fn devices(&mut self, before: &Value, after: &Value, place: &[&str]) {
        let known = by_name(before.path(place));
        let none = Value::Null;
        let at = place.iter().fold(Pointer::ROOT, |at, key| at.key(*key));
        for (index, request) in elements(after.path(place)).iter().enumerate() {
            let old = name(request).and_then(|name| known.get(name)).and_then(|old| old.get("exactly"));
            let new = request.get("exactly").unwrap_or(&none);
            self.enabled(old.unwrap_or(&none), new, &at.index(index).key("exactly"), "adminAccess");
        }
    }

    /// Webhooks that call another service, ignore failures, or are removed.
    fn webhooks(&mut self, before: &Value, after: &Value) {
        let (old, new) = (by_name(before.get("webhooks")), by_name(after.get("webhooks")));
        let at = Pointer::ROOT.key("webhooks");
        for (index, webhook) in elements(after.get("webhooks")).iter().enumerate() {
            let known = name(webhook).and_then(|name| old.get(name)).copied();
            let none = Value::Null;
            self.replaced(known.unwrap_or(&none), webhook, &at.index(index), "clientConfig");
            let ignores =
                |webhook: &Value| webhook.get("failurePolicy").and_then(Value::as_str) == Some("Ignore");
            let is_undone = known.is_some_and(|known| !ignores(known)) && ignores(webhook);
            self.note(is_undone, &at.index(index), "failurePolicy");
        }
        self.note(old.keys().any(|name| !new.contains_key(name)), &Pointer::ROOT, "webhooks");
    }

    /// The security context of a Pod or a container.
    fn context(&mut self, before: &Value, after: &Value, at: &Pointer) {
        self.enabled(before, after, at, "privileged");
        let nothing = Value::Null;
        let windows = |context: &Value| context.get("windowsOptions").unwrap_or(&nothing).clone();
        self.enabled(&windows(before), &windows(after), &at.key("windowsOptions"), "hostProcess");
        self.no_longer_safe(before, after, at, "allowPrivilegeEscalation", false);
        self.no_longer_safe(before, after, at, "runAsNonRoot", true);
        self.no_longer_safe(before, after, at, "readOnlyRootFilesystem", true);
        let number = |context: &Value, field| context.get(field).map(Value::to_json);
        for field in ["runAsUser", "runAsGroup"] {
            let (old, new) = (number(before, field), number(after, field));
            let was_other = old.as_deref().is_some_and(|old| old != "0");
            if old != new && (new.as_deref() == Some("0") || new.is_none() && was_other) {
                self.found.push(at.key(field));
            }
        }
        for field in ["seccompProfile", "appArmorProfile", "seLinuxOptions"] {
            let is_open = |context: &Value| {
                let profile = context.get(field);
                profile.and_then(|profile| profile.get("type")).and_then(Value::as_str) == Some("Unconfined")
            };
            let is_dropped = before.get(field).is_some() && after.get(field).is_none() && !is_open(before);
            if is_dropped || is_open(after) && !is_open(before) {
                self.found.push(at.key(field));
            }
        }
        let selinux = |context: &Value| {
            let kind = context.path(&["seLinuxOptions", "type"]).and_then(Value::as_str);
            kind.filter(|kind| !SELINUX.contains(kind)).map(str::to_owned)
        };
        if selinux(after).is_some() && selinux(after) != selinux(before) {
            self.found.push(at.key("seLinuxOptions").key("type"));
        }
        for field in ["user", "role"] {
            let part = |context: &Value| {
                let part = context.path(&["seLinuxOptions", field]).and_then(Value::as_str);
                part.filter(|part| !part.is_empty()).map(str::to_owned)
            };
            let is_gain = part(after).is_some() && part(after) != part(before);
            self.note(is_gain, &at.key("seLinuxOptions"), field);
        }
        let known = elements(before.get("sysctls"));
        let is_unsafe = |sysctl: &Value| name(sysctl).is_none_or(|name| !SYSCTLS.contains(&name));
        let mut sysctls = elements(after.get("sysctls")).iter().filter(|sysctl| is_unsafe(sysctl));
        self.note(sysctls.any(|sysctl| !known.contains(sysctl)), at, "sysctls");
        if after.get("procMount").and_then(Value::as_str) == Some("Unmasked") {
            self.replaced(before, after, at, "procMount");
        }
        let none = Value::Null;
        let (old, new) =
            (before.get("capabilities").unwrap_or(&none), after.get("capabilities").unwrap_or(&none));
        self.added(old, new, &at.key("capabilities"), "add");
        // Fewer capabilities are dropped.
        self.removed(old, new, &at.key("capabilities"), "drop");
    }

    /// Ports of the host.
    fn host_ports(&mut self, before: &Value, after: &Value, at: &Pointer) {
        let port = |port: &Value| port.get("hostPort").filter(|port| port.to_json() != "0").cloned();
        let known: Vec<Value> = elements(before.get("ports")).iter().filter_map(port).collect();
        for (index, one) in elements(after.get("ports")).iter().enumerate() {
            if port(one).is_some_and(|port| !known.contains(&port)) {
                self.found.push(at.key("ports").index(index).key("hostPort"));
            }
        }
    }

    /// Rules that no single old rule grants.
    fn rules(&mut self, before: &Value, after: &Value) {
        let old = elements(before.get("rules"));
        let is_new = |rule: &Value| !old.contains(rule) && !old.iter().any(|old| grants(old, rule));
        self.note(elements(after.get("rules")).iter().any(is_new), &Pointer::ROOT, "rules");
    }

    /// Labels by which other roles aggregate this one.
    fn aggregated(&mut self, before: &Value, after: &Value) {
        let labels = |object: &Value| object.path(&["metadata", "labels"]).cloned().unwrap_or_default();
        let (old, new) = (labels(before), labels(after));
        for (key, value) in new.as_object().into_iter().flat_map(|labels| labels.iter()) {
            if key.starts_with(AGGREGATED) && value.as_str() == Some("true") && old.get(key) != Some(value) {
                self.found.push(Pointer::ROOT.key("metadata").key("labels").key(key.clone()));
            }
        }
    }

    /// Host volumes, other volume types that are not allowed, and tokens.
    fn volumes(&mut self, before: &Value, after: &Value, at: &Pointer) {
        let known = by_name(before.get("volumes"));
        for (index, volume) in elements(after.get("volumes")).iter().enumerate() {
            let old = name(volume).and_then(|name| known.get(name)).copied();
            let host = |volume: &Value| volume.path(&["hostPath", "path"]).cloned();
            if host(volume).is_some() && old.and_then(host) != host(volume) {
                self.found.push(at.index(index).key("hostPath"));
            }
            let others = volume.as_object().into_iter().flat_map(|members| members.keys());
            for kind in others.filter(|kind| ***kind != *"hostPath" && !VOLUMES.contains(&&***kind)) {
                self.note(old.is_none_or(|old| old.get(kind).is_none()), &at.index(index), kind);
            }
            let tokens = |volume: &Value| {
                let sources = elements(volume.path(&["projected", "sources"])).iter();
                sources.filter(|source| source.get("serviceAccountToken").is_some()).count()
            };
            if tokens(volume) > old.map_or(0, tokens) {
                self.found.push(at.index(index).key("projected"));
            }
        }
    }

    /// The enforced level of the Pod Security Standards.
    fn level(&mut self, before: &Value, after: &Value) {
        let level = |object: &Value| {
            let label =
                object.path(&["metadata", "labels", ENFORCE]).and_then(Value::as_str).unwrap_or("privileged");
            LEVELS.iter().position(|level| *level == label).unwrap_or(LEVELS.len())
        };
        let labels = Pointer::ROOT.key("metadata").key("labels");
        self.note(level(after) > level(before), &labels, ENFORCE);
        // Older versions of a level are less strict. Without a label it is the latest.
        let version = |object: &Value| {
            let label = object.path(&["metadata", "labels", ENFORCE_VERSION]).and_then(Value::as_str);
            let minor = label.and_then(|label| label.strip_prefix("v1."));
            minor.and_then(|minor| minor.parse::<u32>().ok()).unwrap_or(u32::MAX)
        };
        let is_enforced = level(after) < LEVELS.len() - 1;
        self.note(is_enforced && version(after) < version(before), &labels, ENFORCE_VERSION);
    }

    /// A field that becomes true.
    fn enabled(&mut self, before: &Value, after: &Value, at: &Pointer, field: &str) {
        let is_on = |value: &Value| value.get(field) == Some(&Value::Bool(true));
        self.note(is_on(after) && !is_on(before), at, field);
    }

    /// A field that loses its safe value.
    fn no_longer_safe(&mut self, before: &Value, after: &Value, at: &Pointer, field: &str, safe: bool) {
        let is_safe = |value: &Value| value.get(field) == Some(&Value::Bool(safe));
        self.note(is_safe(before) && !is_safe(after), at, field);
    }

    /// A field that gets another value.
    fn replaced(&mut self, before: &Value, after: &Value, at: &Pointer, field: &str) {
        self.note(after.get(field).is_some() && before.get(field) != after.get(field), at, field);
    }

    /// A list with new elements.
    fn added(&mut self, before: &Value, after: &Value, at: &Pointer, field: &str) {
        let old = elements(before.get(field));
        self.note(elements(after.get(field)).iter().any(|element| !old.contains(element)), at, field);
    }

    /// A list that lost elements.
    fn removed(&mut self, before: &Value, after: &Value, at: &Pointer, field: &str) {
        self.added(after, before, at, field);
    }

    fn note(&mut self, is_gain: bool, at: &Pointer, field: &str) {
        let place = at.key(field);
        if is_gain && !self.found.contains(&place) {
            self.found.push(place);
        }
    }
}

/// Whether a rule of a role grants all that another one grants.
fn grants(old: &Value, new: &Value) -> bool {
    let holds = |field: &str| {
        let allowed = elements(old.get(field));
        let is_allowed = |one: &Value| {
            allowed.contains(one) || field != "resourceNames" && allowed.contains(&Value::from("*"))
        };
        elements(new.get(field)).iter().all(is_allowed)
    };
    let names = |rule: &Value| elements(rule.get("resourceNames")).len();
    let by_name = names(old) == 0 || names(new) > 0 && holds("resourceNames");
    by_name && ["verbs", "apiGroups", "resources", "nonResourceURLs"].into_iter().all(holds)
}

fn elements(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).unwrap_or_default()
}

fn name(element: &Value) -> Option<&str> {
    element.get("name").and_then(Value::as_str)
}

fn by_name(list: Option<&Value>) -> BTreeMap<&str, &Value> {
    elements(list).iter().filter_map(|element| Some((name(element)?, element))).collect()
}

#[cfg(test)]
mod tests;
