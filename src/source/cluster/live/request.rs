//! One request, with its retries.

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method};
use http_body_util::BodyExt as _;
use kube::client::{Body, Client};
use tokio::time::{sleep, timeout};

use crate::value::{Text, Value};

use super::config::connect_limit;
use super::error::{connection_error, is_broken, is_connect_timeout};
use super::plugin::Plugin;
use super::{ClusterError, DryRunVerb, JSON, ListQuery, api_path, segment};

/// The longest response: many times a page of the largest objects.
const MAX_RESPONSE_BYTES: usize = 512 << 20;

/// The longest message of a server that is shown.
const MAX_MESSAGE_CHARS: usize = 4096;

/// The most retries of a request that a busy server refused, and of one whose connection broke.
const MAX_RETRIES_OF_BUSY: u32 = 10;
const MAX_RETRIES_OF_BROKEN: u32 = 4;

/// The longest `Retry-After` that is obeyed, in seconds.
const MAX_RETRY_AFTER_SECONDS: u64 = 60;

/// A request.
#[derive(Clone, Debug)]
pub(super) struct ApiRequest {
    method: Method,
    path: String,
    accept: &'static str,
    /// The content type and the body.
    body: Option<(&'static str, String)>,
}

impl ApiRequest {
    /// A GET of a path, with the media types of the response.
    pub(super) const fn get(path: String, accept: &'static str) -> Self {
        Self { method: Method::GET, path, accept, body: None }
    }

    /// A GET of a page of a list.
    pub(super) fn list(query: &ListQuery<'_>) -> Self {
        let mut path = api_path(query.resource, query.namespace);
        let limit = (query.limit > 0).then(|| query.limit.to_string());
        let parameters = [
            ("labelSelector", query.labels),
            ("fieldSelector", query.fields),
            ("limit", limit.as_deref()),
            ("continue", query.after),
        ];
        let mut separator = "?";
        for (name, value) in parameters {
            if let Some(value) = value {
                path.extend([separator, name, "=", &segment(value)]);
                separator = "&";
            }
        }
        Self::get(path, JSON)
    }

    /// An access review, which stores nothing.
    pub(super) fn review(plural: &str, body: String) -> Self {
        let path = format!("/apis/authorization.k8s.io/v1/{plural}");
        Self { method: Method::POST, path, accept: JSON, body: Some((JSON, body)) }
    }

    /// A dry run. There is no other way to build a request that writes.
    pub(super) fn dry_run(verb: DryRunVerb, path: &str, body: String) -> Self {
        const DRY_RUN_QUERY: &str = "dryRun=All&fieldManager=kubectl-kyv&fieldValidation=Strict";
        let (method, kind, force) = match verb {
            DryRunVerb::Update => (Method::PUT, JSON, ""),
            DryRunVerb::Apply => (Method::PATCH, "application/apply-patch+yaml", "&force=true"),
            DryRunVerb::Create => (Method::POST, JSON, ""),
        };
        let path = format!("{path}?{DRY_RUN_QUERY}{force}");
        Self { method, path, accept: JSON, body: Some((kind, body)) }
    }
}

/// Why a request failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server responded with an error.
    Status(StatusError),
    /// The connection failed.
    Broken(kube::Error),
    /// There are no credentials.
    Credentials(ClusterError),
    /// The request took too long.
    Timeout(Duration),
    /// The response is too long, or not UTF-8.
    Unreadable(String),
}

/// An error of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StatusError {
    pub(super) code: u16,
    /// One word; empty where the response has none.
    pub(super) reason: String,
    pub(super) message: String,
    /// When to retry, in seconds.
    after: Option<u64>,
    /// The continue token of a list whose snapshot expired.
    pub(super) next: Option<Text>,
}

/// Sends a request.
pub(super) async fn send(
    client: &Client,
    plugin: Option<&Arc<Plugin>>,
    api_request: &ApiRequest,
    limit: Option<Duration>,
) -> Result<String, Failure> {
    let mut tries = 0;
    loop {
        // A login may take longer than the timeout of a request.
        let credentials = match plugin {
            Some(plugin) => plugin.header().await.map_err(Failure::Credentials)?,
            None => None,
        };
        let response = match limit {
            Some(limit) => timeout(limit, once(client, credentials, api_request))
                .await
                .unwrap_or(Err(Failure::Timeout(limit))),
            None => once(client, credentials, api_request).await,
        };
        let Some(pause) = response.as_ref().err().and_then(|failure| failure.pause(tries)) else {
            return response;
        };
        tries += 1;
        sleep(pause).await;
    }
}

async fn once(
    client: &Client,
    credentials: Option<HeaderValue>,
    api_request: &ApiRequest,
) -> Result<String, Failure> {
    let mut request = http::Request::builder()
        .method(api_request.method.clone())
        .uri(&api_request.path)
        .header(ACCEPT, api_request.accept);
    if let Some(credentials) = credentials {
        request = request.header(AUTHORIZATION, credentials);
    }
    let request = match &api_request.body {
        Some((kind, body)) => request.header(CONTENT_TYPE, *kind).body(Body::from(body.clone().into_bytes())),
        None => request.body(Body::empty()),
    };
    let request = request.map_err(|error| Failure::Unreadable(error.to_string()))?;
    let response = client.send(request).await.map_err(Failure::Broken)?;
    let status = response.status();
    let after =
        response.headers().get(RETRY_AFTER).and_then(|after| after.to_str().ok()?.trim().parse().ok());
    let mut body = response.into_body();
    // In parts, so that a response that is too long takes no more memory than one that is not.
    let (mut parts, mut length) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        if let Ok(part) = frame.map_err(Failure::Broken)?.into_data() {
            length += part.len();
            if length > MAX_RESPONSE_BYTES {
                return Err(Failure::Unreadable(format!("it is longer than {MAX_RESPONSE_BYTES} bytes")));
            }
            parts.push(part);
        }
    }
    let mut bytes = Vec::with_capacity(length);
    parts.into_iter().for_each(|part| bytes.extend_from_slice(&part));
    if !status.is_success() {
        let body = String::from_utf8_lossy(&bytes);
        return Err(Failure::Status(StatusError::read(status.as_u16(), after, &body)));
    }
    String::from_utf8(bytes).map_err(|_| Failure::Unreadable("it is no UTF-8".into()))
}

impl Failure {
    /// The error of a request to this server, with this timeout and name.
    pub(super) fn error(&self, server: &str, limit: Option<Duration>, asked: &str) -> ClusterError {
        match self {
            Self::Status(StatusError { code: 401, .. }) => ClusterError::Unauthorized,
            Self::Status(status) => {
                let is_word = !status.reason.is_empty() && !status.reason.contains(' ');
                let reason = if is_word { status.reason.clone() } else { format!("status {}", status.code) };
                ClusterError::Refused { reason, message: status.message.clone() }
            }
            Self::Broken(error) if is_connect_timeout(error) => {
                let seconds = connect_limit(limit).as_secs_f64();
                ClusterError::Unreachable(format!("no connection within {seconds}s"))
            }
            Self::Broken(error) => connection_error(error, server),
            Self::Credentials(error) => error.clone(),
            Self::Timeout(limit) => ClusterError::Unreachable(format!(
                "no response within {}s (--request-timeout sets another limit)",
                limit.as_secs_f64()
            )),
            Self::Unreadable(cause) => {
                ClusterError::Malformed { asked: asked.to_owned(), cause: cause.clone() }
            }
        }
    }

    /// How long to wait before a retry; `None` if it would not help.
    fn pause(&self, tries: u32) -> Option<Duration> {
        let growing = Duration::from_millis(100 << tries.min(5));
        match self {
            Self::Status(StatusError { code: 429 | 500..=599, after: Some(seconds), .. }) => {
                let is_bearable = tries < MAX_RETRIES_OF_BUSY && *seconds <= MAX_RETRY_AFTER_SECONDS;
                is_bearable.then(|| Duration::from_secs(*seconds).max(growing))
            }
            Self::Status(StatusError { code: 429 | 502..=504, .. }) => {
                (tries < MAX_RETRIES_OF_BROKEN).then_some(growing)
            }
            Self::Broken(error) => (tries < MAX_RETRIES_OF_BROKEN && is_broken(error)).then_some(growing),
            Self::Status(_) | Self::Credentials(_) | Self::Timeout(_) | Self::Unreadable(_) => None,
        }
    }
}

/// A text of the server that is shown: its start, if it is very long.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

impl StatusError {
    /// Reads a response that is an error. If it is no `Status` the message is that of kubectl.
    fn read(code: u16, after: Option<u64>, body: &str) -> Self {
        let status = Value::from_json(body).ok();
        let status = status.filter(|status| status.get("kind").and_then(Value::as_str) == Some("Status"));
        if let Some(status) = status {
            let text = |name| shortened(status.get(name).and_then(Value::as_str).unwrap_or_default());
            let next = status.path(&["metadata", "continue"]).and_then(Value::as_text).cloned();
            let next = next.filter(|next| !next.is_empty());
            return Self { code, reason: text("reason"), message: text("message"), after, next };
        }
        let (reason, message) = match code {
            401 => ("Unauthorized", "the server has asked for the client to provide credentials"),
            403 => ("Forbidden", "the server does not allow access to the requested resource"),
            404 => ("NotFound", "the server could not find the requested resource"),
            405 => ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
            429 => (
                "TooManyRequests",
                "the server has received too many requests and has asked us to try again later",
            ),
            500 => ("InternalError", "an error on the server has prevented the request from succeeding"),
            503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
            504 => (
                "Timeout",
                "the server was unable to return a response in the time allotted, but may still be processing the request",
            ),
            _ => ("", ""),
        };
        let message = if message.is_empty() {
            format!("the server responded with the status code {code} but did not return more information")
        } else {
            message.to_owned()
        };
        Self { code, reason: reason.to_owned(), message, after, next: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_requests_that_could_write_are_dry_runs() {
        for verb in [DryRunVerb::Update, DryRunVerb::Apply, DryRunVerb::Create] {
            let api_request = ApiRequest::dry_run(verb, "/api/v1/pods", String::new());
            assert!(
                api_request.path.starts_with("/api/v1/pods?dryRun=All&fieldManager=kubectl-kyv&"),
                "{verb:?}"
            );
        }
        assert_eq!(ApiRequest::get("/api".into(), "").method, Method::GET);
    }

    #[test]
    fn a_status_is_read_and_other_responses_get_a_message() {
        let body =
            r#"{"kind":"Status","metadata":{"continue":"abc"},"reason":"Expired","message":"too old"}"#;
        let status = StatusError::read(410, None, body);
        assert_eq!(
            (&*status.reason, &*status.message, status.next.as_deref()),
            ("Expired", "too old", Some("abc"))
        );
        let status = StatusError::read(404, None, "404 page not found\n");
        assert_eq!(
            (&*status.reason, &*status.message),
            ("NotFound", "the server could not find the requested resource")
        );
        assert!(StatusError::read(418, None, "").message.contains("418"));
    }

    #[test]
    fn a_long_message_is_shortened() {
        let body = |message: &str| format!(r#"{{"kind":"Status","message":"{message}"}}"#);
        let message = |text: &str| StatusError::read(403, None, &body(text)).message;
        assert_eq!(message(&"é".repeat(4096)), "é".repeat(4096));
        assert_eq!(message(&"é".repeat(5000)), "é".repeat(4096) + "…");
    }

    #[test]
    fn temporary_errors_are_retried() {
        let failure = |code, after| Failure::Status(StatusError::read(code, after, ""));
        assert_eq!(failure(429, Some(2)).pause(0), Some(Duration::from_secs(2)));
        assert_eq!(failure(429, Some(3600)).pause(0), None);
        assert_eq!(failure(429, Some(1)).pause(MAX_RETRIES_OF_BUSY), None);
        assert_eq!(failure(503, None).pause(0), Some(Duration::from_millis(100)));
        assert_eq!(failure(503, None).pause(2), Some(Duration::from_millis(400)));
        assert_eq!(failure(503, None).pause(MAX_RETRIES_OF_BROKEN), None);
        for code in [400, 401, 403, 404, 410, 500] {
            assert_eq!(failure(code, None).pause(0), None, "{code}");
        }
        assert_eq!(Failure::Timeout(Duration::ZERO).pause(0), None);
    }
}
