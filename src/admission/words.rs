//! Fields in which the API server accepts only names, values of labels and the like.

/// Whether a text at these keys, lists on the way entered, is a word: one without blanks, `*` and `?`. Far from all such
/// fields are known. `tests/cluster/words.rs` asks an API server; it takes any text as an image or a scheduler's name.
pub fn is_word(keys: &[&str]) -> bool {
    matches!(
        keys,
        ["metadata", "name" | "namespace" | "generateName"]
            | [.., "metadata", "labels", _]
            | [.., "metadata", "finalizers"]
            | [.., "ports", "name" | "protocol"]
            | ["labels", _]
            | [.., "containers" | "initContainers" | "ephemeralContainers" | "volumes", "name"]
            | [.., "containers" | "initContainers" | "ephemeralContainers", "imagePullPolicy"]
            | [.., "tolerations", "key" | "value" | "effect"]
            | [.., "spec", "dnsPolicy" | "restartPolicy" | "priorityClassName" | "serviceAccountName"]
    )
}
