//! A proxy in front of the cluster.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A proxy that knows CONNECT: its address, and how many connections went through it.
pub(crate) fn tunnel() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has an address").to_string();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut near = stream.expect("a connection");
            let counted = Arc::clone(&counted);
            thread::spawn(move || {
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && near.read(&mut byte).unwrap_or(0) > 0 {
                    head.push(byte[0]);
                }
                let head = String::from_utf8(head).expect("text");
                let Some(target) = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next())
                else {
                    return;
                };
                let mut far = TcpStream::connect(target).expect("the server listens");
                counted.fetch_add(1, Ordering::SeqCst);
                near.write_all(b"HTTP/1.1 200 OK\r\n\r\n").expect("somebody waits");
                let (mut back, mut forth) =
                    (far.try_clone().expect("a handle"), near.try_clone().expect("a handle"));
                let there = thread::spawn(move || drop(io::copy(&mut forth, &mut far)));
                drop(io::copy(&mut back, &mut near));
                drop(there);
            });
        }
    });
    (address, count)
}
