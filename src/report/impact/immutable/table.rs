//! Kinds with immutable fields.

/// API group, kinds, immutable fields, and mutable fields inside of those. Kinds and fields are separated by spaces.
pub(super) type Row = (&'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
pub(super) const TABLE: &[Row] = &[
    ("", "Node", "spec.externalID", ""),
    ("", "PersistentVolume", "spec", "spec.capacity spec.accessModes spec.claimRef spec.persistentVolumeReclaimPolicy \
        spec.storageClassName spec.mountOptions spec.volumeAttributesClassName"),
    ("", "Pod PersistentVolumeClaim", "spec", ""),
    ("", "ResourceQuota", "spec.scopes", ""),
    ("", "Secret", "type", ""),
    ("apiextensions.k8s.io", "CustomResourceDefinition",
        "spec.group spec.scope spec.names.kind spec.names.plural", ""),
    ("apps", "ControllerRevision", "data", ""),
    ("apps", "Deployment DaemonSet ReplicaSet", "spec.selector", ""),
    ("apps", "StatefulSet", "spec", "spec.replicas spec.ordinals spec.template spec.updateStrategy \
        spec.revisionHistoryLimit spec.persistentVolumeClaimRetentionPolicy spec.minReadySeconds"),
    ("batch", "Job", "spec.selector spec.template spec.completions spec.completionMode spec.podFailurePolicy \
        spec.backoffLimitPerIndex spec.managedBy spec.successPolicy", ""),
    ("discovery.k8s.io", "EndpointSlice", "addressType", ""),
    ("events.k8s.io", "Event", "action deprecatedSource deprecatedCount deprecatedFirstTimestamp \
        deprecatedLastTimestamp eventTime note reason regarding related reportingController reportingInstance type", ""),
    ("networking.k8s.io", "IPAddress", "spec.parentRef", ""),
    ("networking.k8s.io", "IngressClass", "spec.controller", ""),
    ("node.k8s.io", "RuntimeClass", "handler", ""),
    ("rbac.authorization.k8s.io", "RoleBinding ClusterRoleBinding", "roleRef", ""),
    ("resource.k8s.io", "ResourceClaim ResourceClaimTemplate", "spec", ""),
    ("resource.k8s.io", "ResourceSlice", "spec.driver spec.nodeName spec.pool.name", ""),
    ("scheduling.k8s.io", "PriorityClass", "value preemptionPolicy", ""),
    ("storage.k8s.io", "CSIDriver", "spec.attachRequired spec.volumeLifecycleModes", ""),
    ("storage.k8s.io", "CSIStorageCapacity", "nodeTopology storageClassName", ""),
    ("storage.k8s.io", "StorageClass", "parameters provisioner reclaimPolicy volumeBindingMode", ""),
    ("storage.k8s.io", "VolumeAttachment", "spec", ""),
    ("storage.k8s.io", "VolumeAttributesClass", "driverName parameters", ""),
];
