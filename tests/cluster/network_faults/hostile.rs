//! Servers that mean harm: each run ends, with an error and within bounds, and credentials stay with the server of the kubeconfig.

use std::process::Stdio;
use std::time::Duration;

use flate2::{Compress, Compression, FlushCompress};
use test_support::process_usage::ProcessUsage;
use test_support::stub_server::{StubRequest, StubResponse, StubServer};

use super::{ALL, Folder, discovery, good, page, second_page};

/// The longest response, with what the program needs beside it, in KiB.
const MAX_PEAK: u64 = 700 << 10;

/// What is said after a list that was read in part.
const REST: &str = "error[KYV513]: the result is incomplete: read in part: configmaps";

#[test]
fn redirects_are_not_followed() {
    for code in [301, 302, 303, 307, 308] {
        let other = StubServer::start(good);
        let target = format!("http://{}/stolen", other.authority());
        let server =
            second_page(100, move || StubResponse::With(code, ("Location", target.clone()), String::new()));
        let run = Folder::new(&server).diff(&["configmaps"]);
        let error = format!(
            "error[KYV503]: Error from server (status {code}): the server responded with the status code {code} but did not return more information"
        );
        assert_eq!((run.code, run.messages()), (Some(4), vec![&*error, REST]), "{run:?}");
        assert_eq!(other.requests(), Vec::<String>::new(), "{code}");
    }
}

#[test]
fn trickles_end_with_the_time_of_the_request() {
    let server = second_page(100, || StubResponse::Endless(" ".into(), Duration::from_millis(20)));
    let run = Folder::new(&server).diff(&["configmaps", "--request-timeout=1s"]);
    let error = "error[KYV504]: Unable to connect to the server: no response within 1s (--request-timeout sets another limit)";
    assert_eq!((run.code, run.messages(), run.changed()), (Some(4), vec![error, REST], ALL[..2].to_vec()));
}

/// A gzip text without an end that is many times as long once it is decompressed.
fn bomb(mebibytes: usize) -> Vec<u8> {
    const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let mut part = Vec::with_capacity(1 << 16);
    Compress::new(Compression::best(), false)
        .compress_vec(&vec![b' '; 8 << 20], &mut part, FlushCompress::Sync)
        .expect("memory takes it");
    [&HEAD[..], &part.repeat(mebibytes / 8)].concat()
}

#[test]
fn responses_are_limited_also_when_they_are_compressed() {
    let gzip = || StubResponse::Bytes(vec![("Content-Encoding", "gzip".into())], bomb(4096));
    let plain = || StubResponse::Endless(" ".repeat(1 << 20), Duration::ZERO);
    for answer in [gzip as fn() -> StubResponse, plain] {
        let server = second_page(100, answer);
        let folder = Folder::new(&server);
        let mut command = folder.command(&["diff", "-p", "team.yaml", "configmaps"]);
        let said = std::fs::File::create(folder.0.path().join("said")).expect("the folder takes files");
        let used = ProcessUsage::measure(command.stdout(Stdio::null()).stderr(said));
        let said = std::fs::read_to_string(folder.0.path().join("said")).expect("it was written");
        assert_eq!(used.code, Some(4), "{said}");
        let error = "error[KYV505]: the server's response for configmaps cannot be read: it is longer than 536870912 bytes";
        assert!(said.lines().any(|line| line == error), "{said}");
        assert!(used.peak <= MAX_PEAK, "{used:?}");
    }
}

/// A list whose pages lead to each other, so that it never ends.
fn endless(request: &StubRequest, is_of: fn(&str) -> bool, names: &[&str], turns: usize) -> StubResponse {
    if !is_of(&request.path) {
        return good(request);
    }
    let after = request.query.split('&').find_map(|parameter| parameter.strip_prefix("continue="));
    let number: usize = after.map_or(0, |after| after.parse().expect("a token of this server"));
    StubResponse::Body(200, page(names, &((number + 1) % turns).to_string()))
}

#[test]
fn lists_that_never_end_are_given_up() {
    let again = "error[KYV505]: the server's response for configmaps cannot be read: it names the same page again and again";
    let empty = "error[KYV505]: the server's response for configmaps cannot be read: more than 1000 pages in a row have no objects";
    let configmaps = |path: &str| path.ends_with("/configmaps");
    for (names, turns, error) in [(&["a"][..], 3, again), (&[], usize::MAX, empty)] {
        let server = StubServer::start(move |request| endless(request, configmaps, names, turns));
        let run = Folder::new(&server).diff(&["configmaps"]);
        assert_eq!((run.code, &run.messages()[..2]), (Some(4), &[error, REST][..]), "{run:?}");
    }
    // Lists that are read whole, such as the targets of a rule.
    let secrets = |path: &str| path.ends_with("/secrets");
    let server = StubServer::start(move |request| endless(request, secrets, &["a"], 3));
    let folder = Folder::new(&server);
    let targets = "{targets: [{apiVersion: v1, kind: Secret, namespace: web, name: '*'}], patchStrategicMerge: {type: a}}";
    let existing = super::policy("team", "[ConfigMap]", "")
        .replace("{patchStrategicMerge: {metadata: {labels: {team: a}}}}", targets);
    folder.write("team.yaml", &existing);
    let run = folder.diff(&["configmaps"]);
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.stderr.contains("it names the same page again and again"), "{run:?}");
}

#[test]
fn an_object_that_no_server_stores_is_not_read() {
    let server = second_page(100, || {
        let numbers = "0,".repeat(9 << 20);
        let item = format!(r#"{{"metadata":{{"name":"c","namespace":"web"}},"x":[{numbers}0]}}"#);
        StubResponse::Body(200, format!(r#"{{"kind":"List","metadata":{{}},"items":[{item}]}}"#))
    });
    let run = Folder::new(&server).diff(&["configmaps"]);
    let error = "error[KYV505]: the server's response for configmaps cannot be read: one of its items is longer than 16777216 bytes";
    assert_eq!((run.code, run.messages(), run.changed()), (Some(4), vec![error, REST], ALL[..2].to_vec()));
}

#[test]
fn a_pause_that_no_number_holds_is_none() {
    let server = second_page(2, || {
        StubResponse::With(429, ("Retry-After", "99999999999999999999999".into()), String::new())
    });
    let run = Folder::new(&server).diff(&["configmaps"]);
    assert_eq!((run.code, run.changed()), (Some(1), ALL.to_vec()), "{run:?}");
}

#[test]
fn discovery_of_kinds_without_end_is_limited() {
    let server = StubServer::start(|request| {
        if request.path == "/apis" {
            let resource = discovery("/apis", "");
            return StubResponse::Endless(resource.repeat(1000), Duration::ZERO);
        }
        good(request)
    });
    let run = Folder::new(&server).diff(&["configmaps"]);
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.stderr.contains("it is longer than 536870912 bytes"), "{run:?}");
}
