//! The table of differences.

use std::fmt;

macro_rules! differences {
    ($($name:ident = $number:literal, $title:literal, $source:literal, $documented:literal, $kyverno:literal;)*) => {
        /// One divergence where the documentation and Kyverno's controllers part.
        ///
        /// Shown as `KYV-Dnn`. Numbers are stable and never used again.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Divergence {
            $(#[doc = $title] $name,)*
        }

        impl Divergence {
            /// Every difference, in the order of the numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The stable number, the `nn` of `KYV-Dnn`.
            pub const fn number(self) -> u32 {
                match self { $(Self::$name => $number,)* }
            }

            /// What the divergence is about, in a few words.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            /// The row or section of the specification that the entry comes from.
            pub const fn source(self) -> &'static str {
                match self { $(Self::$name => $source,)* }
            }

            /// What the documented side does.
            pub const fn documented(self) -> &'static str {
                match self { $(Self::$name => $documented,)* }
            }

            /// What Kyverno's controllers do.
            pub const fn kyverno(self) -> &'static str {
                match self { $(Self::$name => $kyverno,)* }
            }
        }
    };
}

differences! {
    ReplaceOfMissing = 1, "replace of a missing map member", "cases.md 9#1; mutate.md 2.4",
        "`replace` on a map member equals `add`, parents included; on a list the index equal to the length, or `-`, appends",
        "a missing target is an error";
    ListWithoutMergeKey = 2, "anchored element of a list without merge key", "cases.md 9#2, N-7; mutate.md 3.11",
        "the matching elements are edited in place, everything else is kept",
        "nothing changes, or the emitted element replaces the list";
    InlineElement = 3, "`{{@}}` below a list, an anchor or a key of digits", "cases.md 9#3; mutate.md 1.10",
        "the value at the element being patched, also in foreach",
        "indexes of the overlay are taken for indexes of the object; an error in foreach";
    TargetAnnotation = 4, "mark left on changed targets", "cases.md 9#4, 9#15; mutate.md 5.5",
        "annotation `policies.kyverno.io/last-applied-patches` on changed targets",
        "no annotation";
    TypedLabel = 5, "label or annotation that is no string", "cases.md 9#17; mutate.md 6.3",
        "written as a string",
        "the policy is refused; what a variable gives is written as it is";
    PatchDirective = 6, "kubectl directives other than `$patch`", "cases.md 9#19; mutate.md 3.9(6)",
        "the policy is refused",
        "written into the object as literal fields";
    ConditionWritten = 7, "content of a condition anchor", "cases.md 3.5; mutate.md 3.5",
        "only a test, never written",
        "written into the object, wildcard text included";
    ConditionList = 8, "condition anchor over several listed elements", "cases.md 3.4(4); mutate.md 3.4",
        "every listed element is satisfied by some element, and every element by some listed one",
        "only the first listed element counts";
    AddAnchorInList = 9, "`+()` inside a list element", "cases.md 3.6; mutate.md 3.6",
        "decided for each element",
        "the first element decides for all";
    AnchoredElements = 10, "several anchored elements in one list", "cases.md 3.7; mutate.md 3.7",
        "the elements are independent",
        "the list is reduced to the last patch element, or evaluation panics";
    MissingMergeKey = 11, "patch element without the merge key", "cases.md 3.9(11); mutate.md 3.9(11)",
        "an error",
        "the list is emptied";
    LegacySyntax = 12, "early `overlay` and `patches`", "cases.md N-1; mutate.md 7",
        "the rule runs",
        "a cluster refuses the policy";
    FailedRule = 13, "rules after a failed one", "cases.md 1.5; mutate.md 1.5",
        "later rules of the policy run on the object as it was, for the report",
        "later rules see an empty object and stay silent";
    EmptyListGlobal = 14, "empty list under a global anchor", "cases.md N-8; mutate.md 3.6",
        "the condition fails, as for a missing list",
        "the condition passes";
    BesideGlobal = 15, "content beside `<()` in a list element", "cases.md N-10; mutate.md 3.6",
        "applied to the elements that satisfied the anchor",
        "discarded";
    ForeachMissingList = 16, "foreach over a missing key", "cases.md N-11; mutate.md 4.2",
        "zero iterations, with a note",
        "an error";
    ForeachBadList = 17, "foreach without a list, or with the list in braces", "cases.md N-12; mutate.md 4.2",
        "the policy is refused",
        "an error at each object";
    WholePolicyRequest = 18, "other rules of a policy with targets", "cases.md 5.1(5); mutate.md 5.1",
        "only the named rule runs for a request",
        "the whole policy runs for each request";
    WholeRuleSubstitution = 19, "unresolved variables outside the patch", "mutate.md 1.9",
        "only the patch is substituted",
        "the whole rule is substituted, so an unused unresolved variable is an error";
    ForeignAnchor = 20, "anchors `=()`, `^()` and `X()` in an overlay", "mutate.md 3.2",
        "the policy is refused",
        "written into the object as literal keys";
    EmptyMap = 21, "empty map in an overlay", "mutate.md 3.8",
        "kept",
        "dropped";
    AnchorShapedText = 22, "text shaped like an anchor in an overlay", "mutate.md 3.8",
        "text is text",
        "the element counts as anchored";
    LiteralPatchElement = 23, "`$patch` element of a list that cannot take it", "mutate.md 3.9(5)",
        "the directive is stripped and the other elements are kept",
        "the directive is written literally, other elements can be lost";
    DuplicateMergeKey = 24, "elements that share a merge key", "mutate.md 3.9(10)",
        "all are patched, all are kept",
        "only one survives";
    PartialMergeKey = 25, "port without protocol", "mutate.md 3.9(12)",
        "a missing protocol is `TCP`; an element is matched by its primary key when that is unambiguous",
        "the patch is lost";
    CreatedParent = 26, "parents created by a JSON patch", "mutate.md 2.5",
        "escapes are decoded, and a numeric key creates a list only where the list would not be padded",
        "a numeric key always creates a list padded with nulls; an escaped parent is created under its encoded name";
    AutogenForeach = 27, "autogen of foreach", "mutate.md 6.5(3)",
        "`order` is carried over and nested entries are wrapped, or autogen is refused",
        "`order` is lost and a nested foreach deletes the pod template";
    AutogenTargets = 28, "autogen of a rule with targets", "mutate.md 6.5(4)",
        "no rule is generated",
        "beside a rule without targets, the generated rule loses its targets and patches the controllers";
    StandardRuleOnDelete = 29, "standard rule on DELETE", "mutate.md 6.7(1)",
        "no result",
        "an error";
    NumberText = 30, "text of large numbers in conditions", "language.md 2.3",
        "plain decimal below 1e21",
        "exponent form from 1e+06, until another rule has looked at the object";
    ReferenceToMap = 31, "`$()` that points to a map", "language.md 4.3",
        "not found",
        "the name of one of its keys";
    MissingComma = 32, "JMESPath calls and hashes without commas", "language.md 6.1",
        "a syntax error",
        "accepted";
    CompareResult = 33, "result of `compare()` and `elementIndex`", "language.md 6.6.1, 4.8",
        "an ordinary number",
        "a number that no JMESPath comparison accepts";
    ItemsResult = 34, "result of `items()`", "language.md 6.6.2",
        "an ordinary list",
        "a list that `sort_by`, `map`, `reverse`, `contains` and `type` refuse";
    SinglePrecision = 35, "numbers turned into text by functions", "language.md 6.6.1",
        "64-bit precision",
        "32-bit precision";
    SchemaOfTheCluster = 36, "schema given for a custom resource", "mutate.md 3.10",
        "list merge keys of the given CRD schema are used",
        "every list of a custom resource is replaced";
    ElementLeak = 37, "nested lists of an anchored element", "mutate.md 3.6",
        "each element is evaluated with a fresh copy",
        "work on nested lists leaks from one element to the next";
    ShallowText = 38, "`{{- }}` with a value that is no string inside a text", "language.md 4.2",
        "the value is inserted as JSON",
        "evaluation panics: an error of the rule";
    RetriedRequest = 40, "target patched beside one that fails", "cases.md N-16, X-18",
        "patched once",
        "patched again by each of the five attempts of the request";
    VanishedRequest = 41, "request with a target that fails", "cases.md N-14, X-04, X-10",
        "the UpdateRequest stays, failed, with its message",
        "the UpdateRequest is tried five times within a second and deleted: the log of the controller tells, and events on the policy where an update was refused";
    ForeachOnTarget = 42, "what a loop over a target leaves in the context", "mutate.md 5.4(5)",
        "`target` is the object as patched so far, `request.object` stays the trigger",
        "`request.object` becomes the patched target, for later targets too, and `target` stays as it was";
    TargetWithoutVersion = 43, "target without apiVersion", "cases.md 9#16; mutate.md 5.3(2)",
        "any group and version",
        "a cluster refuses the policy; in a rule with loops the kind is taken for a subresource, which is not found: an error";
    SubresourceByPattern = 44, "subresource of targets whose name is a pattern", "mutate.md 5.3(4)",
        "that of each object whose name fits",
        "the pattern is looked up as a name, which fails";
    EmptyExclude = 45, "filter of `exclude` without content", "language.md 1.2, 1.3",
        "excludes nothing",
        "the rule asks the API server for nothing, and runs only where another rule asks for its objects";
    HeldIntegers = 46, "integers of the object in expressions", "language.md 2.3, 6.2",
        "a number is a number",
        "once another rule has looked at the object, comparisons and functions take its integers for no numbers";
    ReferenceInCondition = 47, "`$()` in a condition", "language.md 4.3",
        "leads anywhere in the rule",
        "leads into the key or value that it stands in alone: mostly nowhere, which is an error at each object";
    RepeatedKey = 48, "one key with and without an anchor in a map", "mutate.md 3.5, 3.8",
        "the conditions decide, the plain value is merged",
        "whichever of them is left when the anchors have been removed";
    LegacyBroadcast = 50, "map of an early overlay over a list", "mutate.md 7.3 O-6; cases.md E-30",
        "the map is applied to each element of the list",
        "a condition never holds, and other content is an error";
    SpoiltEntry = 55, "global context entry of a call with a projection that fails", "language.md 5.5",
        "only what asks for that projection fails",
        "nothing of the entry can be used: an error of each rule that asks for any of it";
    NullProjection = 56, "projection of a called global context entry that finds nothing", "language.md 5.5",
        "null, as for an entry of objects",
        "no data: an error of the rule";
    HiddenObject = 57, "objects that the configuration of the cluster's Kyverno hides", "mutate.md 1.2(2); language.md 1.11",
        "policies are shown at work on every object that is asked about",
        "no policy sees them";
    ExceptionOperations = 65, "`operations` in the match of an exception", "mutate.md 6.6, language.md 1.8",
        "the exception is for requests of these operations only",
        "operations are not looked at";
    OldOperatorPanic = 70, "`In` and `NotIn` with a key that is a list of other things than strings", "language.md 2.4.5",
        "the condition does not hold",
        "evaluation panics: an error of the rule";
    IntegersInLists = 71, "integers inside lists and maps of conditions", "language.md 2.3",
        "a number is a number",
        "an integer that the policy writes in a list or map equals no number of the object, until another rule has looked at it";
    BracketedYaml = 72, "JSON patch whose text is YAML in brackets", "mutate.md 2.1",
        "read as YAML",
        "what starts with `[` must be JSON: an error at each object";
    UnknownDirective = 73, "unknown `$patch` where the object has no such map", "mutate.md 3.9(5)",
        "an error, as where the map is there",
        "written into the object";
    EmptyKey = 74, "`copy`, `move` and `test` of the empty key", "mutate.md 2.5",
        "the value there, or an error where there is none",
        "null, whatever is there";
    RoundedInteger = 75, "integers of an overlay above 2^53", "language.md 2.3",
        "written with every digit",
        "rounded to the next float";
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KYV-D{:02}", self.number())
    }
}
