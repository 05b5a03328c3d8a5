//! The table of codes.

macro_rules! codes {
    ($($variant:ident = $number:literal $title:literal,)*) => {
        /// A cause of diagnostics. The hundreds are areas: 0 the command line, 1 input files, 2 policies, 3 rules on
        /// objects, 4 missing data, 5 clusters and recordings, 6 test suites, 7 functions and plugins, 8 findings about
        /// results, 9 findings about policies. Numbers are never used again.
        #[expect(clippy::doc_markdown, reason = "the titles are plain text")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $title] $variant,)*
        }

        impl Code {
            /// All codes, ascending.
            pub const ALL: [Self; [$(Self::$variant),*].len()] = [$(Self::$variant),*];

            /// Its name, such as `KYV201`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!("KYV", stringify!($number)),)*
                }
            }

            /// The page on it, in Markdown.
            pub const fn page(self) -> &'static str {
                match self {
                    $(Self::$variant => {
                        include_str!(concat!("../../docs/diagnostics/KYV", stringify!($number), ".md"))
                    })*
                }
            }

            /// The cause in a few words.
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$variant => $title,)*
                }
            }
        }
    };
}

codes! {
    UnknownArgument = 001 "an unknown option or command",
    InvalidValue = 002 "an invalid value of an option",
    MissingArgument = 003 "a required option or argument is missing",
    ArgumentConflict = 004 "options that cannot be used together",
    UnusedOption = 005 "an option or argument without effect",
    NameWithoutMatch = 006 "an option names something that does not exist",
    NoInput = 007 "no objects to evaluate",
    OutputFailed = 008 "the result cannot be written",
    NothingWritten = 009 "no file was written because of errors",
    NotARegularFile = 010 "`-i` on an input that is no file",
    Interrupted = 011 "the run was interrupted",
    System = 012 "the operating system refuses a thread, a signal or a temporary file",
    KyvernoCommandLine = 013 "a command or option of the Kyverno CLI",

    Unreadable = 101 "a file or directory cannot be read",
    Unwritable = 102 "a file or directory cannot be written",
    NoFileMatches = 103 "no file to read",
    Url = 104 "a URL instead of a path",
    EmptyInput = 105 "empty standard input",
    NoDocument = 106 "no document of the expected kind",
    Syntax = 107 "invalid YAML or JSON",
    Encoding = 108 "a text that is not UTF-8",
    DuplicateKey = 109 "a duplicate key in a mapping",
    NoJsonForm = 110 "YAML that JSON has no form for",
    InputLimit = 111 "an input exceeds a limit",
    FurtherErrors = 112 "further errors are not listed",
    InvalidDocument = 113 "an input document has an invalid field",
    NoObject = 114 "a document without apiVersion or kind",
    DuplicateObject = 115 "two objects or entries of one name",
    InvalidSchema = 116 "a custom resource definition that cannot be used",
    PassedThrough = 117 "documents without apiVersion or kind are passed through",
    Reformatted = 118 "comments or aliases of a document could not be kept",
    UnusedInput = 119 "a part of an input file is ignored",
    HelmTemplate = 120 "a Helm template that was not rendered",
    FileExists = 121 "a file that would be overwritten",

    UnknownField = 201 "a policy has an unknown field",
    WrongType = 202 "a field of a policy has the wrong type",
    MissingField = 203 "a required field of a policy is missing",
    InvalidField = 204 "a field of a policy has an invalid value",
    UnknownKind = 205 "a misspelt kind of policy",
    TooDeep = 206 "a policy is nested too deep",
    RuleName = 207 "the name of a rule is missing, too long or used twice",
    RuleType = 208 "a rule has no type or several",
    MatchBlock = 209 "an invalid `match` or `exclude` block",
    BackgroundMode = 210 "a rule depends on the user, and the policy is for background mode",
    MutateFields = 211 "fields of `mutate` that cannot be combined",
    InvalidJsonPatch = 212 "an invalid JSON patch in a policy",
    InvalidOverlay = 213 "an invalid strategic merge patch in a policy",
    Foreach = 214 "an invalid `foreach`",
    Targets = 215 "invalid targets",
    ContextEntry = 216 "an invalid context entry",
    UnknownVariable = 217 "a variable that no rule has at this place",
    InvalidExpression = 218 "a variable that is not valid JMESPath",
    InvalidCondition = 219 "an invalid condition",
    LegacySyntax = 220 "an invalid `overlay` or `patches`",
    RefusedByCluster = 221 "a policy that Kyverno in a cluster refuses",
    UnsupportedRule = 223 "a rule that is not evaluated",
    Ignored = 224 "rules and policies that mutate nothing are ignored",
    OtherDocuments = 225 "documents beside the policies are ignored",
    DefinedTwice = 226 "a policy or exception is defined more than once",
    ReplacedPolicy = 227 "a file replaces a policy of the cluster",
    ExceptionNotUsed = 228 "a PolicyException is not evaluated",
    ExceptionMisses = 229 "a PolicyException names a policy or rule that does not exist",
    NeverMatches = 230 "a filter or kind that matches no object",
    IgnoredField = 231 "a field of a policy has no effect",
    AutogenSkipped = 232 "no rules for Pod controllers are generated",
    RuleWithoutObjects = 233 "a rule selected no object",
    BrokenAnchor = 234 "a key that is almost an anchor",
    OpenVariable = 235 "braces that begin no variable",
    NullMetadata = 236 "a patch deletes the whole metadata",
    UncalledFunction = 237 "the name of a function without a call",
    NoRules = 238 "a policy without rules",
    PlainWildcard = 239 "a name with wildcards is added to a list",
    BareExpression = 240 "an expression without braces in a condition",
    NoSuchField = 241 "a patch sets a field that the kind does not have",
    WrongFieldType = 242 "a patch sets a value of the wrong type",
    BindingMisses = 243 "a binding names a policy that does not exist",
    NotBound = 244 "a MutatingAdmissionPolicy has no binding",
    QuotedField = 245 "the name of a field where a string is probably meant",

    KeyNotFound = 301 "a variable has no value: the key does not exist",
    ExpressionSyntax = 302 "an expression is not valid JMESPath",
    ArgumentType = 303 "a JMESPath function got the wrong arguments",
    UnknownFunction = 304 "an unknown JMESPath function",
    FunctionFailed = 305 "a JMESPath function or slice failed",
    EvaluationLimit = 306 "the evaluation exceeds a limit",
    KeyNotText = 307 "a variable in a key is no string",
    Reference = 308 "a reference `$(…)` has no value",
    ContextFailed = 309 "a context entry could not be loaded",
    ForeachList = 310 "the list of a `foreach` cannot be evaluated",
    ConditionFailed = 311 "a condition cannot be evaluated",
    PatchSyntax = 312 "a patch is invalid after its variables are replaced",
    PathMissing = 313 "a JSON patch names a path that the object does not have",
    TestFailed = 314 "a `test` operation of a JSON patch failed",
    NodeKind = 315 "patch and object have different types",
    MergeKey = 316 "an element of a patch has no merge key",
    Directive = 317 "an unsupported directive or anchor in a patch",
    KyvernoCrashes = 318 "Kyverno crashes on this patch",
    LegacyPatch = 319 "an `overlay` or `patches` cannot be applied",
    NoResult = 320 "a patch leaves no valid object",
    TargetNotFound = 321 "a target was not found",
    InvalidTarget = 322 "a target that cannot be selected or changed",
    TargetRefused = 323 "a target that Kyverno may not read or change",
    NotReplayable = 324 "a rule needs a value that the recording does not have",
    CelRefused = 390 "a CEL expression is refused",
    CelFailed = 391 "a CEL expression fails when it is evaluated",
    NoParams = 392 "the parameters of a policy are not known or do not exist",
    IgnoredFailure = 393 "a CEL policy failed and has `failurePolicy: Ignore`",
    ApplyConfiguration = 394 "an apply configuration cannot be merged",
    NotDecoded = 395 "a patched object is not one that the API server can decode",
    NotStored = 396 "a change of a CEL policy that a cluster drops or refuses",
    ConvertedFirst = 399 "a cluster converts the object before a CEL policy sees it",

    NoUser = 401 "the user of the requests is not known",
    NoNamespaceLabels = 402 "the labels of a namespace are not known",
    NoPriority = 403 "the priority of a PriorityClass is not known",
    NoData = 404 "there is no data for a context entry",
    NoTarget = 405 "targets that are none of the objects",
    Undecided = 406 "a part of `match` could not be decided",
    TimeDependent = 407 "the result depends on the time",
    NoSchema = 408 "the schema of a custom resource is not known",
    NoOldObject = 409 "an old object belongs to no object of the run",
    ManifestsAnswer = 410 "API calls are answered from the manifests",
    UnknownName = 411 "values for a policy or rule that does not exist",

    Kubeconfig = 501 "the kubeconfig cannot be used",
    Credentials = 502 "the credentials cannot be obtained or are refused",
    Refused = 503 "the API server refuses a request",
    Unreachable = 504 "the API server cannot be reached",
    Malformed = 505 "a response of the API server cannot be read",
    UnknownResource = 506 "a resource type that the API server does not have or cannot list",
    KindsUnknown = 507 "the kinds of an API are not known",
    NotRecorded = 509 "the recording has no response to a request",
    RecordingFailed = 510 "the recording cannot be written",
    NoRecording = 511 "a directory that cannot be a recording",
    NoObjectOfName = 512 "the cluster has no object of this name",
    Incomplete = 513 "the result is incomplete",
    MoreErrors = 514 "more errors of the same kind",
    DryRunRefused = 515 "the API server refuses a changed object",
    NoResources = 516 "no resources found",
    NotInCluster = 517 "the cluster does not have a kind or namespace",
    OtherVersion = 518 "a rule names a kind in another version",
    Inconsistent = 519 "a list changed while it was read",
    RightsNotChecked = 520 "no rights were checked",
    ClusterNote = 521 "what was read from the cluster, and what was not",

    InvalidSuite = 601 "a test suite is invalid",
    SuiteNotLoaded = 602 "a test suite could not be loaded",
    NoSuite = 603 "no test suite or row was run",
    RowWithoutObject = 604 "a row names an object that the suite does not have",
    RowNotEvaluated = 605 "a row is about a rule that is not evaluated",
    SuiteNote = 606 "a part of a test suite is not used",
    NotUpdated = 607 "a file of expected objects was not updated",
    RuleWithoutRow = 608 "a new suite has no row for a rule",
    NoRows = 609 "no suite can be written for a policy",

    NoResourceList = 701 "standard input is no ResourceList",
    InvalidConfig = 702 "a missing or invalid functionConfig",
    InvalidItems = 703 "items that an orchestrator would refuse",
    Violation = 704 "an object is not as the policies would make it",
    NoManifests = 705 "no manifests to render",
    NoProgram = 706 "a program is not on the PATH",
    ProgramFailed = 707 "a program failed",
    ArgocdParameter = 708 "an invalid variable or parameter of an application",
    NotInApplication = 709 "a path that leads out of the application, or into it",
    PolicySets = 710 "policies or policy sets that an application may not use",
    ProgramNote = 711 "what a rendering program printed",

    OrderMatters = 801 "the result depends on the order of policies",
    SecondRun = 802 "a second run would change the object again",
    ViewDiffers = 803 "a rule reads what the API server adds or removes",
    Excluded = 804 "objects that Kyverno's configuration excludes",
    Exceptions = 805 "exceptions were applied",
    RunningKyverno = 806 "the version of Kyverno in the cluster",
    SecretsPrinted = 807 "values of Secrets are printed",
    LeftOut = 808 "the output leaves something out",
    AsWritten = 809 "objects are evaluated as written: their defaults are not known",
    NoWebhooks = 810 "a kind that no webhook is called for",
    NotConverted = 811 "a rule that has no exact form as CEL",
    NotProven = 812 "a new policy that does not do the same as the old one",
    NotCompared = 813 "policies that cannot be compared",
    StoppedEarly = 814 "a search ended early, at its limit of work",

    NeverHolds = 901 "a condition that never holds",
    DeprecatedForm = 902 "a deprecated form",
    AddsAgain = 903 "a patch that adds one more element each time",
    NoMergeKey = 904 "an element of a merged list without its key",
    RuleOnDelete = 905 "a rule on the deletion of objects",
    RuleBehindAnother = 906 "a rule that runs only where an earlier one changes nothing",
    ReplacesMap = 907 "a patch that replaces all labels or annotations",
    NoAutogen = 908 "a rule for Pods that controllers do not get",
    AlwaysHolds = 909 "a condition that always holds",
    IdleSuppression = 910 "a comment that suppresses nothing",
    GoneFinding = 911 "a finding of the baseline that is gone",
    KyvernoDiffers = 912 "a construct with which Kyverno does something else than documented",
    ReplacesList = 913 "a patch that replaces a list as a whole",
    ChangesIdentity = 914 "a patch that changes the name, namespace or kind of an object",
    OverwrittenRule = 915 "a rule whose changes a later rule overwrites",
}
