//! What a real API server passes to admission webhooks: `tests/tools/admission-recorder`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use kyv::value::Value;

use crate::api_server::ApiServer;

/// What the API server did with an object.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The object that mutating webhooks received; for kinds that webhooks never get the created object.
    pub admitted: Option<Value>,
    /// Whether `admitted` is the created object.
    pub is_created: bool,
    /// The status code of the dry run; 0 for a kind that is not served.
    pub code: i64,
    /// The error of the dry run, empty if there was none.
    pub message: String,
}

/// Creates objects as dry runs on a real API server.
pub struct AdmissionRecorder {
    program: Child,
    /// Dropped first, so that the program ends.
    lines: Option<Sender<String>>,
    answers: BufReader<ChildStdout>,
}

impl AdmissionRecorder {
    /// Starts one beside a server.
    pub fn start(server: &ApiServer) -> Self {
        let mut program = Command::new(crate::tool("admission-recorder"))
            .args([server.address(), server.fact("certificate-authority")])
            .env("TOKEN", server.fact("token"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the recorder starts");
        let mut input = program.stdin.take().expect("stdin is piped");
        let answers = BufReader::new(program.stdout.take().expect("stdout is piped"));
        let (lines, received) = channel::<String>();
        // From a thread, lest both wait for each other.
        thread::spawn(move || {
            for line in received {
                if input.write_all(line.as_bytes()).is_err() {
                    return;
                }
            }
        });
        Self { program, lines: Some(lines), answers }
    }

    /// Creates objects; the recordings are in their order.
    pub fn record(&mut self, objects: &[Value]) -> Vec<Recording> {
        let lines = self.lines.as_ref().expect("the recorder runs");
        for object in objects {
            lines.send(format!("{}\n", object.to_json())).expect("the recorder reads");
        }
        objects.iter().map(|object| self.next(object)).collect()
    }

    fn next(&mut self, object: &Value) -> Recording {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the recorder writes text");
        let answer =
            Value::from_json(&line).unwrap_or_else(|error| panic!("{}: {error}: {line}", object.to_json()));
        let created = answer.get("created");
        Recording {
            admitted: answer.get("admitted").or(created).cloned(),
            is_created: created.is_some(),
            code: answer.get("code").and_then(Value::as_number).and_then(|code| code.as_i64()).unwrap_or(0),
            message: answer.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
        }
    }
}

impl Drop for AdmissionRecorder {
    fn drop(&mut self) {
        drop(self.lines.take());
        // A failing test drops too: no second panic.
        drop(self.program.wait());
    }
}
