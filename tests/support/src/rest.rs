//! A REST client for a real API server that returns its answers as they are.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;

use crate::api_server::ApiServer;

/// A connection to an API server through `kubectl proxy`: a request takes milliseconds, as no kubectl starts for it.
pub struct Rest {
    proxy: Child,
    address: String,
    /// Discovery by apiVersion: kind, plural, whether it is namespaced.
    kinds: RefCell<BTreeMap<String, Vec<Kind>>>,
}

#[derive(Clone)]
struct Kind {
    kind: String,
    plural: String,
    namespaced: bool,
}

/// An error answer of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: u16,
    pub message: String,
}

impl Refusal {
    /// Whether a webhook of Kyverno denied the request, not the server itself.
    pub fn is_of_kyverno(&self) -> bool {
        self.message.contains("kyverno.svc")
    }
}

/// A request to be sent.
pub struct Request {
    pub method: &'static str,
    pub path: String,
    pub body: Option<Value>,
}

/// What the server answers.
pub type Answer = Result<Value, Refusal>;

impl Rest {
    /// Connects to a server as its administrator.
    pub fn open(server: &ApiServer) -> Self {
        Self::open_with(server, &[])
    }

    /// Connects to a server as an administrator who impersonates another user.
    pub fn open_as(server: &ApiServer, user: &str) -> Self {
        Self::open_with(server, &["--as", user, "--as-group", "system:masters"])
    }

    /// A connection for requests with long answers, such as watches.
    pub fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).expect("the proxy listens")
    }

    fn open_with(server: &ApiServer, options: &[&str]) -> Self {
        let mut proxy = Command::new(server.kubectl())
            .arg("--kubeconfig")
            .arg(server.kubeconfig())
            .args(["proxy", "--port=0"])
            .args(options)
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("kubectl starts");
        let mut line = String::new();
        let output = proxy.stdout.as_mut().expect("stdout is piped");
        BufReader::new(output).read_line(&mut line).expect("kubectl says where it listens");
        let address = line.trim().rsplit(' ').next().expect("an address").to_owned();
        Self { proxy, address, kinds: RefCell::default() }
    }

    /// Sends a request.
    pub fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        ask(&self.address, method, path, body)
    }

    /// Sends many requests over a number of connections at once; the answers are in the order of the requests.
    pub fn ask_all(&self, requests: &[Request], connections: usize) -> Vec<Answer> {
        let (address, next) = (&*self.address, AtomicUsize::new(0));
        let mut answers: Vec<(usize, Answer)> = thread::scope(|scope| {
            let ask_some = || {
                let mut answers = Vec::new();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(request) = requests.get(index) else { return answers };
                    answers.push((index, ask(address, request.method, &request.path, request.body.as_ref())));
                }
            };
            let workers: Vec<_> = (0..connections).map(|_| scope.spawn(ask_some)).collect();
            workers.into_iter().flat_map(|worker| worker.join().expect("a worker ends")).collect()
        });
        answers.sort_by_key(|(index, _)| *index);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// The same with requests of which some cannot be sent, because the server has no resource for them: what it says of
    /// these is their answer.
    pub fn ask_each(&self, requests: Vec<Result<Request, Refusal>>, connections: usize) -> Vec<Answer> {
        let mut refusals = Vec::new();
        let mut sent = Vec::new();
        for request in requests {
            match request {
                Ok(request) => {
                    sent.push(request);
                    refusals.push(None);
                }
                Err(refusal) => refusals.push(Some(refusal)),
            }
        }
        let mut answers = self.ask_all(&sent, connections).into_iter();
        let answer = |refusal: Option<Refusal>| match refusal {
            Some(refusal) => Err(refusal),
            None => answers.next().expect("an answer to each request"),
        };
        refusals.into_iter().map(answer).collect()
    }

    /// Creates many objects over a number of connections at once.
    pub fn create_all(&self, objects: &[Value], connections: usize) {
        let paths: Vec<String> =
            objects.iter().map(|object| self.collection(object).expect("the kind is served")).collect();
        let (address, next) = (&*self.address, AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..connections {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let (Some(object), Some(path)) = (objects.get(index), paths.get(index)) else {
                            return;
                        };
                        let created = ask(address, "POST", path, Some(object));
                        created.unwrap_or_else(|refusal| panic!("{path}: {refusal:?}"));
                    }
                });
            }
        });
    }

    /// Creates an object; the query is such as `dryRun=All`.
    pub fn create(&self, object: &Value, query: &str) -> Answer {
        let path = self.collection(object)?;
        self.ask("POST", &format!("{path}?{query}"), Some(object))
    }

    /// Replaces a stored object, whatever its current version is.
    pub fn replace(&self, object: &Value, query: &str) -> Answer {
        let path = self.path(object)?;
        let mut object = object.clone();
        // Some kinds are only updated with a resourceVersion.
        object["metadata"]["resourceVersion"] = self.get(&object)?["metadata"]["resourceVersion"].take();
        self.ask("PUT", &format!("{path}?{query}"), Some(&object))
    }

    /// The stored object.
    pub fn get(&self, object: &Value) -> Answer {
        self.ask("GET", &self.path(object)?, None)
    }

    /// All stored objects of an object's kind.
    pub fn list(&self, object: &Value) -> Result<Vec<Value>, Refusal> {
        let (root, kind) = self.kind(object)?;
        let mut list = self.ask("GET", &format!("{root}/{}", kind.plural), None)?;
        let mut items: Vec<Value> = serde_json::from_value(list["items"].take()).unwrap_or_default();
        for item in &mut items {
            item["apiVersion"] = object["apiVersion"].clone();
            item["kind"] = object["kind"].clone();
        }
        Ok(items)
    }

    /// Deletes a stored object at once, finalizers or not.
    pub fn remove(&self, object: &Value) {
        let Ok(path) = self.path(object) else { return };
        if let Ok(mut held) = self.ask("GET", &path, None)
            && held["metadata"]["finalizers"].is_array()
        {
            held["metadata"]["finalizers"] = Value::Null;
            drop(self.ask("PUT", &path, Some(&held)));
        }
        drop(self.ask("DELETE", &format!("{path}?gracePeriodSeconds=0&propagationPolicy=Background"), None));
        if object["kind"] == "Namespace"
            && let Ok(mut held) = self.ask("GET", &path, None)
        {
            // No controller empties namespaces here, so this finalizes them itself.
            held["spec"]["finalizers"] = Value::Array(Vec::new());
            drop(self.ask("PUT", &format!("{path}/finalize"), Some(&held)));
        }
    }

    /// The path of an object.
    pub fn path(&self, object: &Value) -> Result<String, Refusal> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        Ok(format!("{}/{name}", self.collection(object)?))
    }

    /// The path that objects of a kind are created at.
    pub fn collection(&self, object: &Value) -> Result<String, Refusal> {
        let (root, kind) = self.kind(object)?;
        if !kind.namespaced {
            return Ok(format!("{root}/{}", kind.plural));
        }
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
        Ok(format!("{root}/namespaces/{namespace}/{}", kind.plural))
    }

    /// The path of an object's API, and its kind there.
    fn kind(&self, object: &Value) -> Result<(String, Kind), Refusal> {
        let unknown = |message: &str| Refusal { code: 404, message: message.to_owned() };
        let version = object["apiVersion"].as_str().ok_or_else(|| unknown("no apiVersion"))?;
        let root = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
        if !self.kinds.borrow().contains_key(version) {
            let found = self.ask("GET", &root, None)?;
            let found = found["resources"].as_array().into_iter().flatten().filter_map(Kind::of).collect();
            self.kinds.borrow_mut().insert(version.to_owned(), found);
        }
        let kinds = self.kinds.borrow();
        let kind = kinds[version].iter().find(|kind| object["kind"] == kind.kind.as_str());
        Ok((root, kind.ok_or_else(|| unknown("no such kind"))?.clone()))
    }
}

fn ask(address: &str, method: &str, path: &str, body: Option<&Value>) -> Answer {
    let body = body.map(Value::to_string).unwrap_or_default();
    // HTTP/1.0: the answer is not chunked and ends with the connection.
    let request = format!(
        "{method} {path} HTTP/1.0\r\nHost: localhost\r\nAccept: application/json\r\nContent-Type: \
         application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).expect("the proxy listens");
    stream.write_all(request.as_bytes()).expect("the proxy takes requests");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the proxy answers");
    let answer = String::from_utf8(answer).expect("the server answers in text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("an answer has a code");
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    if (200..300).contains(&code) {
        return Ok(value);
    }
    Err(Refusal { code, message: value["message"].as_str().unwrap_or(body).to_owned() })
}

impl Kind {
    fn of(entry: &Value) -> Option<Self> {
        let plural = entry["name"].as_str().filter(|name| !name.contains('/'))?;
        Some(Self {
            kind: entry["kind"].as_str()?.to_owned(),
            plural: plural.to_owned(),
            namespaced: entry["namespaced"].as_bool()?,
        })
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        drop(self.proxy.kill());
        drop(self.proxy.wait());
    }
}
