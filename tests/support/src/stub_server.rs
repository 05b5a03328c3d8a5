//! A small HTTP server whose answers a test decides, failures included.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A request.
#[derive(Clone, Debug)]
pub struct StubRequest {
    /// The path, without the query.
    pub path: String,
    /// What follows the question mark.
    pub query: String,
    /// By name, in lower case.
    pub headers: BTreeMap<String, String>,
    /// How many earlier requests had the same path and query.
    pub before: usize,
}

/// How the server answers a request.
#[derive(Clone, Debug)]
pub enum StubResponse {
    /// A status and a body.
    Body(u16, String),
    /// A status, an additional header and a body.
    With(u16, (&'static str, String), String),
    /// The connection is closed without an answer.
    Drop,
    /// The connection is closed in the middle of the answer.
    Cut(String),
    /// Nothing is ever sent.
    Hang,
    /// Additional headers and a body of bytes.
    Bytes(Vec<(&'static str, String)>, Vec<u8>),
    /// A text, again and again, with a pause before each, until the client is gone.
    Endless(String, Duration),
    /// The last answer: the server stops listening.
    Last(String),
}

/// A server on 127.0.0.1, which stops when it is dropped.
pub struct StubServer {
    port: u16,
    log: Arc<Mutex<Vec<String>>>,
    stopped: Arc<AtomicBool>,
}

impl StubServer {
    pub fn start(answer: impl Fn(&StubRequest) -> StubResponse + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a listener can be asked");
        let port = listener.local_addr().expect("it has an address").port();
        let (log, stopped) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let server = Self { port, log: Arc::clone(&log), stopped: Arc::clone(&stopped) };
        let answer = Arc::new(answer);
        thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                match listener.accept() {
                    Ok((stream, _)) => {
                        let (answer, log, stopped) =
                            (Arc::clone(&answer), Arc::clone(&log), Arc::clone(&stopped));
                        thread::spawn(move || serve(stream, &*answer, &log, &stopped));
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        thread::sleep(Duration::from_millis(2));
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        });
        server
    }

    /// Host and port.
    pub fn authority(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The paths with their queries of all requests, in order.
    pub fn requests(&self) -> Vec<String> {
        self.log.lock().expect("no thread panicked").clone()
    }
}

impl Drop for StubServer {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
    }
}

fn serve(
    mut stream: TcpStream,
    answer: &dyn Fn(&StubRequest) -> StubResponse,
    log: &Mutex<Vec<String>>,
    stopped: &AtomicBool,
) {
    stream.set_nonblocking(false).expect("a stream can wait");
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("a request is text");
    let mut lines = head.lines();
    let target = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers: BTreeMap<_, _> =
        headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    // Closing a connection with unread data resets it.
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let _gone = stream.read_exact(&mut vec![0; length]);
    let before = {
        let mut log = log.lock().expect("no thread panicked");
        let before = log.iter().filter(|earlier| **earlier == target).count();
        log.push(target.clone());
        before
    };
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let request = StubRequest { path: path.into(), query: query.into(), headers, before };
    let mut send = |code: u16, header: &str, length: usize, body: &str| {
        let head = format!(
            "HTTP/1.1 {code} x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{header}Connection: close\r\n\r\n"
        );
        let _gone = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
    };
    match answer(&request) {
        StubResponse::Body(code, body) => send(code, "", body.len(), &body),
        StubResponse::With(code, (name, value), body) => {
            send(code, &format!("{name}: {value}\r\n"), body.len(), &body);
        }
        StubResponse::Drop => {}
        StubResponse::Cut(body) => send(200, "", body.len() + 1000, &body),
        StubResponse::Bytes(headers, body) => {
            let headers: Vec<String> =
                headers.into_iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            send(200, &headers.concat(), body.len(), "");
            let _gone = stream.write_all(&body);
        }
        StubResponse::Endless(text, pause) => {
            let head = "HTTP/1.1 200 x\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n";
            let mut sent = stream.write_all(head.as_bytes());
            while sent.is_ok() {
                thread::sleep(pause);
                sent = stream.write_all(text.as_bytes());
            }
        }
        StubResponse::Hang => thread::sleep(Duration::from_secs(600)),
        StubResponse::Last(body) => {
            stopped.store(true, Ordering::SeqCst);
            // The listener is closed before the answer is there.
            thread::sleep(Duration::from_millis(50));
            send(200, "", body.len(), &body);
        }
    }
    let _gone = stream.shutdown(Shutdown::Both);
}
