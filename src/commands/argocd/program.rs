//! A program that renders an application: run within its time, and ended with everything that it started.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
#[cfg(unix)]
use std::time::Instant;

use super::watch::GRACE;
use super::watch::{Ended, Watch};
#[cfg(unix)]
use crate::diagnostics::{Code, Coded};

/// How often the time is checked while a program runs.
const TICK: Duration = Duration::from_millis(5);

/// How many bytes of a program's standard error are kept.
const STDERR_BYTES: u64 = 16 << 10;

#[derive(Debug)]
pub(super) struct Program<'a> {
    pub(super) name: &'static str,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) folder: &'a Path,
    pub(super) input: Option<File>,
}

#[derive(Debug)]
pub(super) struct Rendered {
    pub(super) output: Vec<u8>,
    pub(super) stderr: String,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ProgramError {
    #[error("`{0}` is not on the PATH")]
    Absent(&'static str),
    #[error("`{program}` cannot be run: {cause}")]
    Unrunnable { program: String, cause: io::Error },
    #[error("`{program}` failed: {status}{}{stderr}", if stderr.is_empty() { "" } else { ": " })]
    Failed { program: String, status: ExitStatus, stderr: String },
    #[error("`{program}` writes more than {most} bytes (limit yaml-bytes)")]
    Endless { program: String, most: usize },
    #[error("`{program}` was ended: rendering took more than {} seconds (--timeout)", .limit.as_secs_f32())]
    Late { program: String, limit: Duration },
    #[error("{}", super::watch::ENDED)]
    Ended,
}

impl Coded for ProgramError {
    fn code(&self) -> Code {
        match self {
            Self::Absent(_) => Code::NoProgram,
            Self::Unrunnable { .. } | Self::Failed { .. } | Self::Endless { .. } | Self::Late { .. } => {
                Code::ProgramFailed
            }
            Self::Ended => Code::Interrupted,
        }
    }
}

impl From<Ended> for ProgramError {
    fn from(_: Ended) -> Self {
        Self::Ended
    }
}

/// A stream that a thread has read to its end.
enum Stream {
    Stdout(io::Result<Vec<u8>>),
    Stderr(io::Result<Vec<u8>>),
}

impl Program<'_> {
    pub(super) fn title(&self) -> String {
        let command = self.arguments.first().map(|first| first.to_string_lossy()).unwrap_or_default();
        format!("{} {command}", self.name)
    }

    pub(super) fn run(self, most: usize, watch: &Watch) -> Result<Rendered, ProgramError> {
        let title = self.title();
        let unrunnable = |cause| ProgramError::Unrunnable { program: title.clone(), cause };
        let _occupied = watch.render()?;
        let mut child = match self.start() {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                return Err(ProgramError::Absent(self.name));
            }
            child => child.map_err(unrunnable)?,
        };
        let streams = read(&mut child, most);
        let (mut output, mut stderr, mut status) = (None, None, None);
        let status = loop {
            match streams.recv_timeout(TICK) {
                Ok(Stream::Stdout(read)) => output = Some(read),
                Ok(Stream::Stderr(read)) => stderr = Some(read),
                Err(RecvTimeoutError::Timeout) => {}
                // Both are read and the program goes on.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(TICK),
            }
            if status.is_none() {
                status = child.try_wait().map_err(unrunnable)?;
            }
            if let (Some(status), true, true) = (status, output.is_some(), stderr.is_some()) {
                break status;
            }
            if watch.is_ended() {
                end(&mut child);
                return Err(ProgramError::Ended);
            }
            if watch.is_late() {
                watch.end();
                end(&mut child);
                return Err(ProgramError::Late { program: title, limit: watch.limit });
            }
        };
        let output = output.unwrap_or_else(|| Ok(Vec::new())).map_err(unrunnable)?;
        let stderr = stderr.unwrap_or_else(|| Ok(Vec::new())).map_err(unrunnable)?;
        let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
        // One byte past the limit was read: the program may have ended by the closed pipe.
        if output.len() > most {
            return Err(ProgramError::Endless { program: title, most });
        }
        if !status.success() {
            if was_ended_by_group_signal(status, watch) {
                return Err(ProgramError::Ended);
            }
            return Err(ProgramError::Failed { program: title, status, stderr });
        }
        Ok(Rendered { output, stderr })
    }

    fn start(&self) -> io::Result<Child> {
        let mut command = Command::new(self.name);
        command.args(&self.arguments).current_dir(self.folder);
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(match &self.input {
            Some(file) => file.try_clone()?.into(),
            None => Stdio::null(),
        });
        #[cfg(unix)]
        if !is_leader() {
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
        }
        command.spawn()
    }
}

/// Whether a program was ended by a signal to the whole process group, which may reach the program first.
#[cfg(unix)]
fn was_ended_by_group_signal(status: ExitStatus, watch: &Watch) -> bool {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use std::os::unix::process::ExitStatusExt as _;

    let is_shared = status.signal().is_some_and(|signal| [SIGTERM, SIGINT, SIGHUP].contains(&signal));
    let until = Instant::now() + GRACE / 2;
    while is_shared && !watch.is_ended() && Instant::now() < until {
        thread::sleep(TICK);
    }
    watch.is_ended()
}

#[cfg(not(unix))]
fn was_ended_by_group_signal(_: ExitStatus, watch: &Watch) -> bool {
    watch.is_ended()
}

/// Reads both streams of a program, each in its own thread, so that neither blocks the other.
fn read(child: &mut Child, most: usize) -> mpsc::Receiver<Stream> {
    let (send, streams) = mpsc::channel();
    let most = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    if let Some(pipe) = child.stdout.take() {
        let send = send.clone();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = pipe.take(most).read_to_end(&mut bytes);
            send.send(Stream::Stdout(read.map(|_| bytes)))
        });
    }
    if let Some(mut pipe) = child.stderr.take() {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = pipe.by_ref().take(STDERR_BYTES).read_to_end(&mut bytes);
            let read = read.and_then(|_| io::copy(&mut pipe, &mut io::sink()));
            send.send(Stream::Stderr(read.map(|_| bytes)))
        });
    }
    streams
}

/// Whether this process leads its process group, as under the plugin server. The server kills the whole group when the
/// time is over, so programs must stay in it. Otherwise each program has its own group, to be ended as a whole.
#[cfg(unix)]
fn is_leader() -> bool {
    rustix::process::getpgrp() == rustix::process::getpid()
}

/// Ends a program and all processes that it started: SIGTERM first, then SIGKILL.
#[cfg(unix)]
fn end(child: &mut Child) {
    use rustix::process::{Pid, Signal, getpid, kill_process_group};

    let own = is_leader();
    let group = if own { getpid() } else { Pid::from_child(child) };
    let _may_be_over = kill_process_group(group, Signal::TERM);
    let until = Instant::now() + GRACE;
    while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(TICK);
    }
    if own {
        // The server's last signal ends the rest of the group.
        kill(child);
    } else {
        let _may_be_over = kill_process_group(group, Signal::KILL);
        let _reaped = child.wait();
    }
}

#[cfg(not(unix))]
fn end(child: &mut Child) {
    kill(child);
}

fn kill(child: &mut Child) {
    let _may_be_over = child.kill();
    let _reaped = child.wait();
}
