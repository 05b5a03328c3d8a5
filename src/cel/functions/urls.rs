//! Kubernetes' library of URLs.

use super::{Row, row};
use crate::cel::error::EvalError;
use crate::cel::meter::Meter;
use crate::cel::opaque::Opaque;
use crate::cel::value::{Entries, Key, Val};
use crate::formats::quote;
use crate::formats::url::{Url, UrlError};

use super::args;

type Result = std::result::Result<Val, EvalError>;

pub(super) const ROWS: &[Row] = &[
    row("url", "string_to_url", "(string) kubernetes.URL", |meter, args| {
        let text = args::text(args, 0)?;
        meter.make(text.len() * 2)?;
        Ok(Val::Opaque(Opaque::Url(parsed(text)?).into()))
    }),
    row("isURL", "is_url_string", "(string) bool", |_, args| {
        Ok(Val::Bool(Url::parse_request(args::text(args, 0)?).is_ok()))
    }),
    row("getScheme", "url_get_scheme", "kubernetes.URL.() string", |meter, args| {
        made(meter, url(args)?.scheme())
    }),
    row("getHost", "url_get_host", "kubernetes.URL.() string", |meter, args| made(meter, url(args)?.host())),
    row("getHostname", "url_get_hostname", "kubernetes.URL.() string", |meter, args| {
        made(meter, url(args)?.hostname())
    }),
    row("getPort", "url_get_port", "kubernetes.URL.() string", |meter, args| made(meter, url(args)?.port())),
    row("getEscapedPath", "url_get_escaped_path", "kubernetes.URL.() string", |meter, args| {
        let path = url(args)?.escaped_path();
        meter.make(path.len())?;
        Ok(Val::string(path))
    }),
    row("getQuery", "url_get_query", "kubernetes.URL.() map<string, list<string>>", query),
];

/// A URL that is one with and without its fragment.
fn parsed(text: &str) -> std::result::Result<Url, EvalError> {
    Url::parse_request(text).and_then(|_| Url::parse(text)).map_err(|error: UrlError| {
        let text = quote(text.as_bytes());
        EvalError::failed(format!("URL parse error during conversion from string: parse {text}: {error}"))
    })
}

fn made(meter: &mut Meter, text: &str) -> Result {
    meter.make(text.len())?;
    Ok(Val::string(text))
}

fn url(args: &[Val]) -> std::result::Result<&Url, EvalError> {
    match args.first() {
        Some(Val::Opaque(value)) => match &**value {
            Opaque::Url(url) => Ok(url),
            _ => Err(EvalError::no_overload()),
        },
        _ => Err(EvalError::no_overload()),
    }
}

fn query(meter: &mut Meter, args: &[Val]) -> Result {
    let mut entries = Entries::default();
    for (key, values) in url(args)?.query() {
        meter.make(key.len() + values.iter().map(|value| value.len() + size_of::<Val>()).sum::<usize>())?;
        entries.insert(Key::String(key.into()), Val::list(values.into_iter().map(Val::string).collect()));
    }
    Ok(Val::map(entries))
}
