//! The types of Kubernetes 1.21 that contain lists which merge.
//!
//! Kyverno embeds the schema of this version, whatever the version of the cluster. Only fields that lead to a list that
//! merges are listed; all other lists are replaced.

/// A type, with its fields that contain lists which merge.
#[derive(Debug)]
pub(in crate::patch) struct Type(pub(in crate::patch) &'static [(&'static str, Field)]);

/// A field of a [`Type`].
#[derive(Debug)]
pub(in crate::patch) enum Field {
    /// An object.
    Object(&'static Type),
    /// A list of scalars that merges.
    Set,
    /// A list of objects that merges by keys.
    Keyed(&'static [&'static str], &'static Type),
    /// A list of objects that is replaced.
    Replaced(&'static Type),
}

impl Type {
    #[inline]
    pub(in crate::patch) fn field(&self, name: &str) -> Option<&Field> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, field)| field)
    }
}

use Field::{Keyed, Object, Replaced, Set};

const NAME: &[&str] = &["name"];
const KIND: &[&str] = &["type"];

static OPAQUE: Type = Type(&[]);
pub(in crate::patch) static OBJECT_META: Type =
    Type(&[("finalizers", Set), ("ownerReferences", Keyed(&["uid"], &OPAQUE))]);
static META_ONLY: Type = Type(&[("metadata", Object(&OBJECT_META))]);
static CONDITIONED: Type = Type(&[("conditions", Keyed(KIND, &OPAQUE))]);
static CONDITIONED_STATUS: Type =
    Type(&[("metadata", Object(&OBJECT_META)), ("status", Object(&CONDITIONED))]);

static CONTAINER: Type = Type(&[
    ("env", Keyed(NAME, &OPAQUE)),
    ("ports", Keyed(&["containerPort", "protocol"], &OPAQUE)),
    ("volumeMounts", Keyed(&["mountPath"], &OPAQUE)),
    ("volumeDevices", Keyed(&["devicePath"], &OPAQUE)),
]);
static EPHEMERAL_CONTAINER: Type = Type(&[
    ("env", Keyed(NAME, &OPAQUE)),
    ("volumeMounts", Keyed(&["mountPath"], &OPAQUE)),
    ("volumeDevices", Keyed(&["devicePath"], &OPAQUE)),
]);
static EPHEMERAL_VOLUME: Type = Type(&[("volumeClaimTemplate", Object(&META_ONLY))]);
static VOLUME: Type = Type(&[("ephemeral", Object(&EPHEMERAL_VOLUME))]);
static POD_SPEC: Type = Type(&[
    ("containers", Keyed(NAME, &CONTAINER)),
    ("initContainers", Keyed(NAME, &CONTAINER)),
    ("ephemeralContainers", Keyed(NAME, &EPHEMERAL_CONTAINER)),
    ("volumes", Keyed(NAME, &VOLUME)),
    ("imagePullSecrets", Keyed(NAME, &OPAQUE)),
    ("hostAliases", Keyed(&["ip"], &OPAQUE)),
    ("topologySpreadConstraints", Keyed(&["topologyKey", "whenUnsatisfiable"], &OPAQUE)),
]);
static POD_STATUS: Type = Type(&[("conditions", Keyed(KIND, &OPAQUE)), ("podIPs", Keyed(&["ip"], &OPAQUE))]);
static POD: Type =
    Type(&[("metadata", Object(&OBJECT_META)), ("spec", Object(&POD_SPEC)), ("status", Object(&POD_STATUS))]);
static POD_TEMPLATE_SPEC: Type = Type(&[("metadata", Object(&OBJECT_META)), ("spec", Object(&POD_SPEC))]);
static POD_TEMPLATE: Type =
    Type(&[("metadata", Object(&OBJECT_META)), ("template", Object(&POD_TEMPLATE_SPEC))]);
static TEMPLATED_SPEC: Type = Type(&[("template", Object(&POD_TEMPLATE_SPEC))]);
static TEMPLATED: Type = Type(&[
    ("metadata", Object(&OBJECT_META)),
    ("spec", Object(&TEMPLATED_SPEC)),
    ("status", Object(&CONDITIONED)),
]);
static STATEFUL_SET_SPEC: Type = Type(&[
    ("template", Object(&POD_TEMPLATE_SPEC)),
    ("volumeClaimTemplates", Replaced(&CONDITIONED_STATUS)),
]);
static STATEFUL_SET: Type = Type(&[
    ("metadata", Object(&OBJECT_META)),
    ("spec", Object(&STATEFUL_SET_SPEC)),
    ("status", Object(&CONDITIONED)),
]);
static JOB_TEMPLATE: Type = Type(&[("metadata", Object(&OBJECT_META)), ("spec", Object(&TEMPLATED_SPEC))]);
static CRON_JOB_SPEC: Type = Type(&[("jobTemplate", Object(&JOB_TEMPLATE))]);
static CRON_JOB: Type = Type(&[("metadata", Object(&OBJECT_META)), ("spec", Object(&CRON_JOB_SPEC))]);
static SERVICE_SPEC: Type = Type(&[("ports", Keyed(&["port", "protocol"], &OPAQUE))]);
static SERVICE: Type = Type(&[
    ("metadata", Object(&OBJECT_META)),
    ("spec", Object(&SERVICE_SPEC)),
    ("status", Object(&CONDITIONED)),
]);
static SERVICE_ACCOUNT: Type = Type(&[("metadata", Object(&OBJECT_META)), ("secrets", Keyed(NAME, &OPAQUE))]);
static NODE_SPEC: Type = Type(&[("podCIDRs", Set)]);
static NODE_STATUS: Type = Type(&[("addresses", Keyed(KIND, &OPAQUE)), ("conditions", Keyed(KIND, &OPAQUE))]);
static NODE: Type = Type(&[
    ("metadata", Object(&OBJECT_META)),
    ("spec", Object(&NODE_SPEC)),
    ("status", Object(&NODE_STATUS)),
]);
static COMPONENT_STATUS: Type =
    Type(&[("metadata", Object(&OBJECT_META)), ("conditions", Keyed(KIND, &OPAQUE))]);
static CSI_NODE_SPEC: Type = Type(&[("drivers", Keyed(NAME, &OPAQUE))]);
static CSI_NODE: Type = Type(&[("metadata", Object(&OBJECT_META)), ("spec", Object(&CSI_NODE_SPEC))]);
static WEBHOOKS: Type = Type(&[("metadata", Object(&OBJECT_META)), ("webhooks", Keyed(NAME, &OPAQUE))]);
static KUSTOMIZATION: Type = Type(&[
    ("metadata", Object(&OBJECT_META)),
    ("configMapGenerator", Keyed(NAME, &OPAQUE)),
    ("secretGenerator", Keyed(NAME, &OPAQUE)),
]);

/// Kinds of which only the metadata contains lists that merge.
const META_ONLY_KINDS: &[(&str, &[&str], &[&str])] = &[
    ("", &["v1"], &["Binding", "ConfigMap", "Endpoints", "Event", "LimitRange", "PersistentVolume"]),
    ("", &["v1"], &["ResourceQuota", "Secret"]),
    ("apps", &["v1"], &["ControllerRevision"]),
    ("autoscaling", &["v1"], &["Scale"]),
    ("autoscaling", &["v1", "v2beta1", "v2beta2"], &["HorizontalPodAutoscaler"]),
    ("networking.k8s.io", &["v1", "v1beta1"], &["Ingress", "IngressClass"]),
    ("networking.k8s.io", &["v1"], &["NetworkPolicy"]),
    ("extensions", &["v1beta1"], &["Ingress"]),
    ("policy", &["v1beta1"], &["Eviction", "PodSecurityPolicy"]),
    (
        "rbac.authorization.k8s.io",
        &["v1", "v1beta1"],
        &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
    ),
    ("storage.k8s.io", &["v1", "v1beta1"], &["CSIDriver", "StorageClass", "VolumeAttachment"]),
    ("storage.k8s.io", &["v1beta1"], &["CSIStorageCapacity"]),
    ("apiextensions.k8s.io", &["v1", "v1beta1"], &["CustomResourceDefinition"]),
    ("certificates.k8s.io", &["v1", "v1beta1"], &["CertificateSigningRequest"]),
    ("coordination.k8s.io", &["v1", "v1beta1"], &["Lease"]),
    ("discovery.k8s.io", &["v1", "v1beta1"], &["EndpointSlice"]),
    ("events.k8s.io", &["v1", "v1beta1"], &["Event"]),
    ("node.k8s.io", &["v1", "v1beta1"], &["RuntimeClass"]),
    ("scheduling.k8s.io", &["v1", "v1beta1"], &["PriorityClass"]),
    ("flowcontrol.apiserver.k8s.io", &["v1beta1"], &["FlowSchema", "PriorityLevelConfiguration"]),
    ("authentication.k8s.io", &["v1"], &["TokenRequest"]),
    ("authentication.k8s.io", &["v1", "v1beta1"], &["TokenReview"]),
    (
        "authorization.k8s.io",
        &["v1", "v1beta1"],
        &[
            "LocalSubjectAccessReview",
            "SelfSubjectAccessReview",
            "SelfSubjectRulesReview",
            "SubjectAccessReview",
        ],
    ),
];

/// The type of a kind of Kubernetes 1.21.
pub(in crate::patch) fn kind(group: &str, version: &str, kind: &str) -> Option<&'static Type> {
    Some(match (group, version, kind) {
        ("", "v1", "Pod") => &POD,
        ("", "v1", "PodTemplate") => &POD_TEMPLATE,
        ("", "v1", "Service") => &SERVICE,
        ("", "v1", "ServiceAccount") => &SERVICE_ACCOUNT,
        ("", "v1", "Node") => &NODE,
        ("", "v1", "Namespace" | "PersistentVolumeClaim") => &CONDITIONED_STATUS,
        ("", "v1", "ComponentStatus") => &COMPONENT_STATUS,
        ("", "v1", "ReplicationController") | ("apps", "v1", "DaemonSet" | "Deployment" | "ReplicaSet") => {
            &TEMPLATED
        }
        ("apps", "v1", "StatefulSet") => &STATEFUL_SET,
        ("batch", "v1", "Job") => &TEMPLATED,
        ("batch", "v1" | "v1beta1", "CronJob") => &CRON_JOB,
        ("policy", "v1" | "v1beta1", "PodDisruptionBudget")
        | ("apiregistration.k8s.io", "v1" | "v1beta1", "APIService") => &CONDITIONED_STATUS,
        ("storage.k8s.io", "v1" | "v1beta1", "CSINode") => &CSI_NODE,
        (
            "admissionregistration.k8s.io",
            "v1" | "v1beta1",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => &WEBHOOKS,
        ("kustomize.config.k8s.io", "v1beta1", "Kustomization") => &KUSTOMIZATION,
        (group, version, name) => {
            META_ONLY_KINDS.iter().find(|(known, versions, kinds)| {
                *known == group && versions.contains(&version) && kinds.contains(&name)
            })?;
            &META_ONLY
        }
    })
}
