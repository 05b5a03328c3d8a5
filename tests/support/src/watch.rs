//! A watch on a collection of the API.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

use crate::rest::Rest;

/// Collects the events of a collection, also of objects that exist only for a moment.
pub struct Watch {
    stream: TcpStream,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// An event of the watch.
#[derive(Clone, Debug)]
pub struct Seen {
    /// `ADDED`, `MODIFIED` or `DELETED`.
    pub what: String,
    /// The object after the event.
    pub object: Value,
}

impl Watch {
    /// Starts a watch; existing objects come first, as `ADDED`.
    pub fn start(rest: &Rest, path: &str) -> Self {
        let mut stream = rest.connect();
        let request =
            format!("GET {path}?watch=true HTTP/1.0\r\nHost: localhost\r\nAccept: application/json\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("the proxy takes requests");
        let mut lines = BufReader::new(stream.try_clone().expect("a stream can be shared")).lines();
        let head = lines.next().expect("an answer").expect("an answer is text");
        assert!(head.contains(" 200"), "{path} cannot be watched: {head}");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let rows = Arc::clone(&seen);
        thread::spawn(move || {
            // The head of the answer is no JSON.
            for line in lines.map_while(Result::ok) {
                if let Ok(mut row) = serde_json::from_str::<Value>(&line) {
                    let what = row["type"].as_str().unwrap_or_default().to_owned();
                    let row = Seen { what, object: row["object"].take() };
                    rows.lock().expect("no thread panicked").push(row);
                }
            }
        });
        Self { stream, seen }
    }

    /// All events since the last call.
    pub fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.seen.lock().expect("no thread panicked"))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stream.shutdown(Shutdown::Both));
    }
}
