//! Kyverno's functions that reach outside of an expression.

use std::fmt::Write as _;

use crate::regexp::{RandomError, RandomSource, random_text};
use crate::value::{GroupVersionKind, Text, Value, shortened};

use super::{OutsideCall, Row, args, outside};
use crate::cel::error::EvalError;
use crate::cel::host::{Host, HostError, HostLookup};
use crate::cel::meter::Meter;
use crate::cel::opaque::{Opaque, ResourceName};
use crate::cel::value::{Entries, Key, Mapping, Val};

type Result<T = Val> = std::result::Result<T, EvalError>;

/// What a lookup counts as, and each object that it returns: bytes that an evaluation makes.
const LOOKUP_BYTES: usize = 256;

/// The length to which messages shorten a call.
const MAX_CALL_CHARS: usize = 300;

const GET: &[&str] = &["get", "Get"];
const LIST: &[&str] = &["list", "List"];
const POST: &[&str] = &["post", "Post"];

pub(super) const ROWS: &[Row] = &[
    outside("time.now", "time_now", "() timestamp", |call| Ok(Val::Timestamp(call.host.now().into()))),
    outside("random", "random_string", "(string) string", |call| {
        let pattern = args::text(call.args, 0)?;
        random(call.host, call.meter, pattern)
    }),
    outside("random", "random_string_default", "() string", |call| {
        random(call.host, call.meter, DEFAULT_PATTERN)
    }),
    outside("random.random", "random_string_prefixed", "(string) string", |call| {
        let pattern = args::text(call.args, 0)?;
        random(call.host, call.meter, pattern)
    }),
    outside("random.random", "random_string_default_prefixed", "() string", |call| {
        random(call.host, call.meter, DEFAULT_PATTERN)
    }),
    outside("resource.{}", "resource_get", "(string, string, string, string) map<string, dyn>", |call| {
        let place = Place::named(call, Some(2))?;
        get(call, &place, 3)
    })
    .spelled(GET)
    .cluster(),
    outside(
        "resource.{}",
        "resource_get_gvr",
        "(schema.GroupVersionResource, string, string) map<string, dyn>",
        |call| {
            let place = Place::of_resource(call, Some(1))?;
            get(call, &place, 2)
        },
    )
    .spelled(GET)
    .cluster(),
    outside("resource.{}", "resource_get_own", "(string, string, string) map<string, dyn>", |call| {
        let place = Place::named(call, None)?;
        get(call, &place, 2)
    })
    .spelled(GET)
    .namespaced(),
    outside(
        "resource.{}",
        "resource_get_gvr_own",
        "(schema.GroupVersionResource, string) map<string, dyn>",
        |call| {
            let place = Place::of_resource(call, None)?;
            get(call, &place, 1)
        },
    )
    .spelled(GET)
    .namespaced(),
    outside("resource.{}", "resource_list", "(string, string, string) map<string, dyn>", |call| {
        let place = Place::named(call, Some(2))?;
        list(call, &place, None)
    })
    .spelled(LIST)
    .cluster(),
    outside(
        "resource.{}",
        "resource_list_labels",
        "(string, string, string, map<string, string>) map<string, dyn>",
        |call| {
            let place = Place::named(call, Some(2))?;
            list(call, &place, Some(3))
        },
    )
    .spelled(LIST)
    .cluster(),
    outside(
        "resource.{}",
        "resource_list_gvr",
        "(schema.GroupVersionResource, string) map<string, dyn>",
        |call| {
            let place = Place::of_resource(call, Some(1))?;
            list(call, &place, None)
        },
    )
    .spelled(LIST)
    .cluster(),
    outside(
        "resource.{}",
        "resource_list_gvr_labels",
        "(schema.GroupVersionResource, string, map<string, string>) map<string, dyn>",
        |call| {
            let place = Place::of_resource(call, Some(1))?;
            list(call, &place, Some(2))
        },
    )
    .spelled(LIST)
    .cluster(),
    outside("resource.{}", "resource_list_own", "(string, string) map<string, dyn>", |call| {
        let place = Place::named(call, None)?;
        list(call, &place, None)
    })
    .spelled(LIST)
    .namespaced(),
    outside(
        "resource.{}",
        "resource_list_labels_own",
        "(string, string, map<string, string>) map<string, dyn>",
        |call| {
            let place = Place::named(call, None)?;
            list(call, &place, Some(2))
        },
    )
    .spelled(LIST)
    .namespaced(),
    outside(
        "resource.{}",
        "resource_list_gvr_own",
        "(schema.GroupVersionResource) map<string, dyn>",
        |call| {
            let place = Place::of_resource(call, None)?;
            list(call, &place, None)
        },
    )
    .spelled(LIST)
    .namespaced(),
    outside(
        "resource.{}",
        "resource_list_gvr_labels_own",
        "(schema.GroupVersionResource, map<string, string>) map<string, dyn>",
        |call| {
            let place = Place::of_resource(call, None)?;
            list(call, &place, Some(1))
        },
    )
    .spelled(LIST)
    .namespaced(),
    outside(
        "resource.{}",
        "resource_post_namespace",
        "(string, string, string, map<string, dyn>) map<string, dyn>",
        |call| {
            let place = Place::named(call, Some(2))?;
            post(call, &place)
        },
    )
    .spelled(POST)
    .cluster(),
    outside("resource.{}", "resource_post", "(string, string, map<string, dyn>) map<string, dyn>", |call| {
        let place = Place::named(call, None)?;
        post(call, &place)
    })
    .spelled(POST),
    outside(
        "resource.{}",
        "resource_to_gvr",
        "(string, string) schema.GroupVersionResource",
        resource_of_kind,
    )
    .spelled(&["toGVR", "ToGVR"]),
    outside("globalContext.{}", "global_context_get", "(string) dyn", global).spelled(GET),
    outside("globalContext.{}", "global_context_get_projection", "(string, string) dyn", global).spelled(GET),
    outside("image.{}", "image_get_metadata", "(string) dyn", image_metadata)
        .spelled(&["getMetadata", "GetMetadata"]),
    outside("http.{}", "http_get", "(string) dyn", |call| http(call, "GET", 0)).spelled(GET),
    outside("http.{}", "http_get_headers", "(string, map<string, string>) dyn", |call| http(call, "GET", 0))
        .spelled(GET),
    outside("http.{}", "http_post", "(string, dyn) dyn", |call| http(call, "POST", 0)).spelled(POST),
    outside("http.{}", "http_post_headers", "(string, dyn, map<string, string>) dyn", |call| {
        http(call, "POST", 0)
    })
    .spelled(POST),
    outside("http.{}", "http_client", "(string) http.Context", client).spelled(&["client", "Client"]),
    outside("{}", "client_get", "http.Context.(string) dyn", |call| http(call, "GET", 1)).spelled(GET),
    outside("{}", "client_get_headers", "http.Context.(string, map<string, string>) dyn", |call| {
        http(call, "GET", 1)
    })
    .spelled(GET),
    outside("{}", "client_post", "http.Context.(string, dyn) dyn", |call| http(call, "POST", 1))
        .spelled(POST),
    outside("{}", "client_post_headers", "http.Context.(string, dyn, map<string, string>) dyn", |call| {
        http(call, "POST", 1)
    })
    .spelled(POST),
];

/// The pattern of random texts without one.
const DEFAULT_PATTERN: &str = "[0-9a-z]{8}";

struct Random<'a> {
    host: &'a dyn Host,
    meter: &'a mut Meter,
    /// The bytes that are counted.
    counted: usize,
}

impl RandomSource for Random<'_> {
    type Error = EvalError;

    fn next(&mut self) -> u64 {
        self.host.random()
    }

    fn step(&mut self, bytes: usize) -> std::result::Result<(), EvalError> {
        // A step that adds nothing takes time, too.
        self.meter.make(1 + bytes.saturating_sub(self.counted))?;
        self.counted = bytes;
        Ok(())
    }
}

fn random(host: &dyn Host, meter: &mut Meter, pattern: &str) -> Result {
    meter.make(pattern.len())?;
    random_text(pattern, &mut Random { host, meter, counted: 0 }).map(Val::string).map_err(
        |error| match error {
            RandomError::Refused(error) => EvalError::failed(error.to_string()),
            RandomError::NoText => EvalError::failed("no text matches the expression"),
            RandomError::Limit(error) => error,
        },
    )
}

/// A resource in a namespace.
struct Place {
    api_version: Text,
    plural: Text,
    /// Empty for none.
    namespace: Text,
}

impl Place {
    /// A resource named by the first two arguments, in the namespace of another argument or of the policy.
    fn named(call: &OutsideCall<'_>, namespace: Option<usize>) -> Result<Self> {
        let (api_version, plural) = (args::text(call.args, 0)?.clone(), args::text(call.args, 1)?.clone());
        Ok(Self { api_version, plural, namespace: own_or(call, namespace)? })
    }

    /// The resource of the first argument, in the namespace of another argument or of the policy.
    fn of_resource(call: &OutsideCall<'_>, namespace: Option<usize>) -> Result<Self> {
        let Some(Val::Opaque(opaque)) = call.args.first() else { return Err(EvalError::no_overload()) };
        let Opaque::Resource(resource) = &**opaque else { return Err(EvalError::no_overload()) };
        let ResourceName { api_version, plural } = resource.clone();
        Ok(Self { api_version, plural, namespace: own_or(call, namespace)? })
    }

    /// The path of the resource, or of an object of it.
    fn path(&self, name: Option<&str>) -> std::result::Result<String, String> {
        let version = &*self.api_version;
        let (root, group) =
            if version.contains('/') { ("/apis", version.split_once('/')) } else { ("/api", None) };
        let (group, version) = group.map_or((None, version), |(group, version)| (Some(group), version));
        if version.contains('/') {
            return Err(format!("unexpected GroupVersion string: {}", self.api_version));
        }
        let mut path = root.to_owned();
        let (plural, subresources) = match name {
            Some(_) => self.plural.split_once('/').unwrap_or((&*self.plural, "")),
            None => (&*self.plural, ""),
        };
        path.extend(group.into_iter().chain([version]).map(segment));
        if !self.namespace.is_empty() {
            path.extend(["namespaces", checked("namespace", &self.namespace)?].map(segment));
        }
        path.push_str(&segment(plural));
        if let Some(name) = name {
            if name.is_empty() {
                return Err("name is required".to_owned());
            }
            path.push_str(&segment(checked("resource name", name)?));
        }
        path.extend(subresources.split('/').filter(|part| !part.is_empty()).map(segment));
        Ok(path)
    }
}

/// The namespace in an argument, or that of the policy; empty for none.
fn own_or(call: &OutsideCall<'_>, argument: Option<usize>) -> Result<Text> {
    match argument {
        Some(index) => args::text(call.args, index).cloned(),
        None => Ok(call.host.namespace().unwrap_or_default().into()),
    }
}

/// A name, if it can be part of a path.
fn checked<'n>(what: &str, name: &'n str) -> std::result::Result<&'n str, String> {
    let why = match name {
        "." | ".." => format!("may not be '{name}'"),
        _ if name.contains('/') => "may not contain '/'".to_owned(),
        _ if name.contains('%') => "may not contain '%'".to_owned(),
        _ => return Ok(name),
    };
    Err(format!("invalid {what} {:?}: [{why}]", shortened(name, MAX_CALL_CHARS)))
}

/// A slash and a part of a path, escaped.
fn segment(text: &str) -> String {
    format!("/{}", escaped(text))
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~:".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a text never fails.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// A call as messages show it.
fn written(call: &OutsideCall<'_>) -> String {
    let shown = call.args.iter().map(|arg| match arg {
        Val::String(text) => Value::String(text.clone()).to_json(),
        Val::Map(_) => "{…}".to_owned(),
        Val::Opaque(opaque) => match &**opaque {
            Opaque::Resource(ResourceName { api_version, plural }) => format!("{api_version} {plural}"),
            _ => opaque.type_name().to_owned(),
        },
        other => other.display(),
    });
    shortened(&format!("{}({})", call.name, shown.collect::<Vec<_>>().join(", ")), MAX_CALL_CHARS)
}

/// Looks something up; `None` if it does not exist. Other failures begin with `failed`.
fn look_up(call: &mut OutsideCall<'_>, lookup: &HostLookup<'_>, failed: &str) -> Result<Option<Val>> {
    call.meter.make(LOOKUP_BYTES)?;
    match call.host.look_up(lookup) {
        Ok(found) => Ok(Some(found)),
        Err(HostError::NotFound) => Ok(None),
        Err(HostError::NoData(hint)) => Err(EvalError::NoData { call: written(call), hint }),
        Err(HostError::Failed(why)) => Err(EvalError::failed(format!("{failed}: {why}"))),
    }
}

const FAILED_GET: &str = "failed to get resource";
const FAILED_LIST: &str = "failed to list resource";

/// An object by the name in an argument; null if it does not exist.
fn get(call: &mut OutsideCall<'_>, place: &Place, name: usize) -> Result {
    let name = args::text(call.args, name)?;
    let path = place.path(Some(name)).map_err(|why| EvalError::failed(format!("{FAILED_GET}: {why}")))?;
    let found = look_up(call, &HostLookup::Api(&path), FAILED_GET)?;
    Ok(found.unwrap_or(Val::Null))
}

/// The objects of a resource with the labels in an argument.
fn list(call: &mut OutsideCall<'_>, place: &Place, labels: Option<usize>) -> Result {
    let selector = labels.map(|index| selector(call.args, index)).transpose()?.unwrap_or_default();
    let mut path = place.path(None).map_err(|why| EvalError::failed(format!("{FAILED_LIST}: {why}")))?;
    if !selector.is_empty() {
        path = format!("{path}?labelSelector={}", escaped(&selector));
    }
    let Some(found) = look_up(call, &HostLookup::Api(&path), FAILED_LIST)? else {
        let why = "the server could not find the requested resource";
        return Err(EvalError::failed(format!("{FAILED_LIST}: {why}")));
    };
    let Val::Map(Mapping::Json(members, numbers)) = &found else { return Ok(found) };
    let mut list = Value::Object(members.clone());
    let count = list.get("items").and_then(Value::as_array).map_or(0, <[Value]>::len);
    call.meter.make(count.saturating_mul(LOOKUP_BYTES))?;
    name_kinds(&mut list);
    Ok(Val::from_json(&list, *numbers))
}

/// A selector of objects with these labels.
fn selector(args: &[Val], index: usize) -> Result<String> {
    let Some(Val::Map(labels)) = args.get(index) else { return Err(EvalError::no_overload()) };
    let mut terms = Vec::with_capacity(labels.len());
    for (key, value) in labels.iter() {
        let (Val::String(key), Val::String(value)) = (key, value) else {
            return Err(EvalError::no_overload());
        };
        terms.push(format!("{key}={value}"));
    }
    terms.sort();
    Ok(terms.join(","))
}

/// Sets kind and version of the objects in a list, which the API server omits and its clients restore.
fn name_kinds(list: &mut Value) {
    let text = |list: &Value, name| list.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (version, kind) = (text(list, "apiVersion"), text(list, "kind"));
    let kind = kind.strip_suffix("List").unwrap_or(&kind);
    let Some(items) = list.get("items").and_then(Value::as_array) else { return };
    if items.iter().all(|item| item.get("kind").is_some()) {
        return;
    }
    let mut items = items.to_vec();
    for item in &mut items {
        if item.get("kind").is_none() {
            item.insert("apiVersion", version.as_str().into());
            item.insert("kind", kind.into());
        }
    }
    list.insert("items", Value::array(items));
}

fn post(call: &mut OutsideCall<'_>, place: &Place) -> Result {
    const FAILED: &str = "failed to create resource";
    let path = place.path(None).map_err(|why| EvalError::failed(format!("{FAILED}: {why}")))?;
    match look_up(call, &HostLookup::Create(&path), FAILED)? {
        Some(found) => Ok(found),
        None => Err(EvalError::failed(format!("{FAILED}: the server could not find the requested resource"))),
    }
}

fn resource_of_kind(call: &mut OutsideCall<'_>) -> Result {
    let (api_version, kind) = (args::text(call.args, 0)?, args::text(call.args, 1)?);
    let plural = call.host.plural(&GroupVersionKind::new(api_version, kind));
    let resource = ResourceName { api_version: api_version.clone(), plural };
    Ok(Val::Opaque(Opaque::Resource(resource).into()))
}

/// The data of a global context entry; null if there is no entry of the name.
fn global(call: &mut OutsideCall<'_>) -> Result {
    let name = args::text(call.args, 0)?;
    let projection = if call.args.len() > 1 { args::text(call.args, 1)? } else { "" };
    let lookup = HostLookup::Global { name, projection };
    let found = look_up(call, &lookup, "failed to get global reference")?;
    Ok(found.unwrap_or(Val::Null))
}

fn image_metadata(call: &mut OutsideCall<'_>) -> Result {
    const FAILED: &str = "failed to get image data";
    let reference = args::text(call.args, 0)?;
    match look_up(call, &HostLookup::Image(reference), FAILED)? {
        Some(found) => Ok(found),
        None => Err(EvalError::failed(format!("{FAILED}: image data for {reference} not found"))),
    }
}

/// A request to the address in an argument.
fn http(call: &mut OutsideCall<'_>, method: &str, url: usize) -> Result {
    const FAILED: &str = "request failed";
    let url = args::text(call.args, url)?;
    let Some(found) = look_up(call, &HostLookup::Http { method, url }, FAILED)? else {
        return Err(EvalError::failed(format!("{FAILED}: not found")));
    };
    let Val::Map(found) = found else { return Err(EvalError::no_overload()) };
    Ok(Val::map(with_status(&found)))
}

/// A response whose status is an int, unlike its other numbers.
fn with_status(response: &Mapping) -> Entries {
    let entries = response.iter().filter_map(|(key, value)| {
        let value = match (&key, value) {
            (Val::String(name), Val::Double(status)) if &**name == "statusCode" => Val::Int(status as i64),
            (_, value) => value,
        };
        Some((Key::String(args::text(&[key], 0).ok()?.clone()), value))
    });
    entries.collect()
}

fn client(call: &mut OutsideCall<'_>) -> Result {
    let authorities = args::text(call.args, 0)?;
    if !authorities.is_empty() && !authorities.contains("-----BEGIN CERTIFICATE-----") {
        return Err(EvalError::failed("request failed: failed to parse PEM CA bundle for APICall"));
    }
    Ok(Val::Opaque(Opaque::HttpClient.into()))
}
