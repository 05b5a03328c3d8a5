//! The table of divergences. Each has a page with its evidence, `docs/divergences/KYV-Dnn.md`.

use std::fmt;

macro_rules! divergences {
    ($($name:ident = $number:literal, $title:literal, $documented:literal, $kyverno:literal;)*) => {
        /// A case in which the documentation and Kyverno's controllers differ, displayed as `KYV-Dnn`. Numbers are never
        /// used again. `KYV-D76` is taken: it is where views differ, not semantics.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Divergence {
            $(#[doc = $title] $name,)*
        }

        impl Divergence {
            /// All divergences, ordered by their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The `nn` of `KYV-Dnn`.
            pub const fn number(self) -> u32 {
                match self { $(Self::$name => $number,)* }
            }

            /// The title.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            /// The documented behaviour.
            pub const fn documented(self) -> &'static str {
                match self { $(Self::$name => $documented,)* }
            }

            /// The behaviour of Kyverno's controllers.
            pub const fn kyverno(self) -> &'static str {
                match self { $(Self::$name => $kyverno,)* }
            }
        }
    };
}

divergences! {
    ReplaceOfMissing = 1, "replace of a missing map member",
        "`replace` on a map member equals `add`, parents included; on a list the index equal to the length, or `-`, appends",
        "a missing target is an error";
    ListWithoutMergeKey = 2, "anchored element of a list without merge key",
        "the matching elements are edited in place, everything else is kept",
        "nothing changes, or the emitted element replaces the list";
    InlineElement = 3, "`{{@}}` below a list, an anchor or a key of digits",
        "the value at the element being patched, also in foreach",
        "indexes of the overlay are used as indexes of the object; an error in foreach";
    TargetAnnotation = 4, "mark left on changed targets",
        "annotation `policies.kyverno.io/last-applied-patches` on changed targets",
        "no annotation";
    TypedLabel = 5, "label or annotation that is no string",
        "written as a string",
        "the policy is refused; the value of a variable is written as it is";
    PatchDirective = 6, "kubectl directives other than `$patch`",
        "directives, which are not supported here: the policy runs as in Kyverno",
        "written into the object as literal fields";
    ConditionWritten = 7, "content of a condition anchor",
        "only a test, never written",
        "written into the object, wildcard text included";
    ConditionList = 8, "condition anchor over several listed elements",
        "every listed element is satisfied by some element, and every element by some listed one",
        "only the first listed element counts";
    AddAnchorInList = 9, "`+()` inside a list element",
        "decided for each element",
        "the first element decides for all";
    AnchoredElements = 10, "several anchored elements in one list",
        "the elements are independent",
        "the list is reduced to the last patch element, or evaluation panics";
    MissingMergeKey = 11, "patch element without the merge key",
        "an error",
        "the list is emptied";
    LegacySyntax = 12, "legacy `overlay` and `patches`",
        "the rule runs",
        "a cluster refuses the policy";
    FailedRule = 13, "rules after a failed one",
        "later rules of the policy run on the object as it was, for the report",
        "later rules see an empty object and stay silent";
    EmptyListGlobal = 14, "empty list under a global anchor",
        "the condition fails, as for a missing list",
        "the condition passes";
    BesideGlobal = 15, "content beside `<()` in a list element",
        "applied to the elements that satisfied the anchor",
        "discarded";
    ForeachMissingList = 16, "foreach over a missing key",
        "zero iterations, with a note",
        "an error";
    ForeachBadList = 17, "foreach without a list, or with the list in braces",
        "not valid: the policy runs as in Kyverno",
        "an error at each object";
    WholePolicyRequest = 18, "other rules of a policy with targets",
        "only the named rule runs for a request",
        "the whole policy runs for each request";
    WholeRuleSubstitution = 19, "unresolved variables outside the patch",
        "only the patch is substituted",
        "the whole rule is substituted, so an unused unresolved variable is an error";
    ForeignAnchor = 20, "anchors `=()`, `^()` and `X()` in an overlay",
        "not valid: the policy runs as in Kyverno",
        "written into the object as literal keys";
    EmptyMap = 21, "empty map in an overlay",
        "kept",
        "dropped";
    AnchorShapedText = 22, "text shaped like an anchor in an overlay",
        "text is text",
        "the element counts as anchored";
    LiteralPatchElement = 23, "`$patch` element of a list that cannot take it",
        "the directive is stripped and the other elements are kept",
        "the directive is written literally, other elements can be lost";
    DuplicateMergeKey = 24, "elements that share a merge key",
        "all are patched, all are kept",
        "only one survives";
    PartialMergeKey = 25, "port without protocol",
        "a missing protocol is `TCP`; an element is matched by its primary key when that is unambiguous",
        "the patch is lost";
    CreatedParent = 26, "parents created by a JSON patch",
        "escapes are decoded, and a numeric key creates a list only where the list would not be padded",
        "a numeric key always creates a list padded with nulls; an escaped parent is created under its encoded name";
    AutogenForeach = 27, "autogen of foreach",
        "`order` is carried over and nested entries are wrapped, or autogen is refused",
        "`order` is lost and a nested foreach deletes the pod template";
    AutogenTargets = 28, "autogen of a rule with targets",
        "no rule is generated",
        "beside a rule without targets, the generated rule loses its targets and patches the controllers";
    StandardRuleOnDelete = 29, "standard rule on DELETE",
        "no result",
        "an error";
    NumberText = 30, "text of large numbers in conditions",
        "plain decimal below 1e21",
        "exponent form from 1e+06, until another rule has looked at the object";
    ReferenceToMap = 31, "`$()` that points to a map",
        "not found",
        "the name of one of its keys";
    MissingComma = 32, "JMESPath calls and hashes without commas",
        "a syntax error: the policy runs as in Kyverno",
        "accepted";
    CompareResult = 33, "result of `compare()` and `elementIndex`",
        "an ordinary number",
        "a number that no JMESPath comparison accepts";
    ItemsResult = 34, "result of `items()`",
        "an ordinary list",
        "a list that `sort_by`, `map`, `reverse`, `contains` and `type` refuse";
    SinglePrecision = 35, "numbers turned into text by functions",
        "64-bit precision",
        "32-bit precision";
    SchemaOfTheCluster = 36, "schema given for a custom resource",
        "list merge keys of the given CRD schema are used",
        "every list of a custom resource is replaced";
    ElementLeak = 37, "nested lists of an anchored element",
        "each element is evaluated with a fresh copy",
        "work on nested lists leaks from one element to the next";
    ShallowText = 38, "`{{- }}` with a value that is no string inside a text",
        "the value is inserted as JSON",
        "evaluation panics: an error of the rule";
    RetriedRequest = 40, "target patched beside one that fails",
        "patched once",
        "patched again by each of the five attempts of the request";
    VanishedRequest = 41, "request with a target that fails",
        "the UpdateRequest stays, failed, with its message",
        "the UpdateRequest is tried five times within a second and deleted: the log of the controller tells, and events on the policy where an update was refused";
    ForeachOnTarget = 42, "what a loop over a target leaves in the context",
        "`target` is the object as patched so far, `request.object` stays the trigger",
        "`request.object` becomes the patched target, for later targets too, and `target` stays as it was";
    TargetWithoutVersion = 43, "target without apiVersion",
        "any group and version",
        "a cluster refuses the policy; in a rule with loops the kind is read as a subresource, which is not found: an error";
    SubresourceByPattern = 44, "subresource of targets whose name is a pattern",
        "that of each object whose name fits",
        "the pattern is looked up as a name, which fails";
    EmptyExclude = 45, "filter of `exclude` without content",
        "excludes nothing",
        "the rule asks the API server for nothing, and runs only where another rule asks for its objects";
    HeldIntegers = 46, "integers of the object in expressions",
        "a number is a number",
        "once another rule has looked at the object, comparisons and functions take its integers for no numbers";
    ReferenceInCondition = 47, "`$()` in a condition",
        "leads anywhere in the rule",
        "leads into the key or value that it stands in alone: mostly nowhere, which is an error at each object";
    RepeatedKey = 48, "one key with and without an anchor in a map",
        "the conditions decide, the plain value is merged",
        "whichever of them is left when the anchors have been removed";
    LegacyBroadcast = 50, "map of a legacy overlay over a list",
        "the map is applied to each element of the list",
        "a condition never holds, and other content is an error";
    SpoiltEntry = 55, "global context entry of a call with a projection that fails",
        "only what asks for that projection fails",
        "nothing of the entry can be used: an error of each rule that asks for any of it";
    NullProjection = 56, "projection of a called global context entry that finds nothing",
        "null, as for an entry of objects",
        "no data: an error of the rule";
    HiddenObject = 57, "objects that the configuration of the cluster's Kyverno hides",
        "policies are shown at work on every object that is asked about",
        "no policy sees them";
    ExceptionOperations = 65, "`operations` in the match of an exception",
        "the exception is for requests of these operations only",
        "operations are not looked at";
    OldOperatorPanic = 70, "`In` and `NotIn` with a key that is a list of other things than strings",
        "the condition does not hold",
        "evaluation panics: an error of the rule";
    IntegersInLists = 71, "integers inside lists and maps of conditions",
        "a number is a number",
        "an integer that the policy writes in a list or map equals no number of the object, until another rule has looked at it";
    BracketedYaml = 72, "JSON patch whose text is YAML in brackets",
        "read as YAML",
        "what starts with `[` must be JSON: an error at each object";
    UnknownDirective = 73, "unknown `$patch` where the object has no such map",
        "an error, as where the map is there",
        "written into the object";
    EmptyKey = 74, "`copy`, `move` and `test` of the empty key",
        "the value there, or an error where there is none",
        "null, whatever is there";
    RoundedInteger = 75, "integers of an overlay above 2^53",
        "written with every digit",
        "rounded to the next float";
    AutogenOfConfigurations = 77, "autogen of apply configurations and conditions of a CEL policy",
        "each `Object{…}` is that of the Pod template, and so are its labels and annotations",
        "parts of the text are replaced: constructors of metadata, and those inside of other expressions, are at wrong places, an error";
    AutogenOfPatches = 78, "autogen of JSON patches and variables of a CEL policy",
        "paths and fields are those of the Pod template",
        "they stay those of the Pod: an error, or a field that the API server drops";
    OldObjectOfCreation = 79, "`oldObject` of a creation in CEL",
        "null",
        "a map";
    NameOfGeneratedName = 80, "`resourceNames` of a CEL policy and generated names",
        "an object without a name has none of these names",
        "one of the names is the beginning of `generateName`";
    CelPoliciesCalledTwice = 81, "CEL policies beside others that ignore failures",
        "each is evaluated once",
        "twice, if policies of both failure policies share selectors and have no conditions";
    TargetsByName = 82, "wildcards and the empty group in constraints of targets",
        "`*` is any group, version or resource, and the empty group is the core group",
        "`*` finds no target, and the empty group is any group";
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KYV-D{:02}", self.number())
    }
}
