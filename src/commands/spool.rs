//! The result on its way to standard output.

use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use tempfile::SpooledTempFile;

use super::pager::{Pager, is_longer_than_screen};

/// A result of more bytes goes to an unlinked temporary file.
const SPOOL_MEMORY_BYTES: usize = 8 << 20;

/// How many bytes are written at once.
const WRITE_BYTES: usize = 1 << 16;

/// The same where live results are shown as they come.
const LIVE_WRITE_BYTES: usize = 1 << 12;

/// A writer for the result. It keeps the result until the end, so that a run that fails on its last input has printed
/// nothing; or it streams, where a later failure does not void the result.
#[derive(Debug)]
pub(super) struct Spool {
    /// Where the result is kept; `None` where it is streamed.
    file: Option<SpooledTempFile>,
    buffer: Vec<u8>,
    /// Whether the reader of standard output is gone.
    is_closed: bool,
    /// What shows a result that is longer than the screen.
    pager: Option<Pager>,
}

impl Spool {
    /// An empty spool that keeps the result until the end.
    pub(super) fn new() -> Self {
        let file = Some(SpooledTempFile::new(SPOOL_MEMORY_BYTES));
        Self { file, buffer: Vec::new(), is_closed: false, pager: None }
    }

    /// The same, with a pager for a result that is longer than the screen.
    pub(super) fn paged(pager: Option<Pager>) -> Self {
        Self { pager, ..Self::new() }
    }

    /// An empty spool that streams; [`Spool::print_pending`] has to be called whenever it [is due](Self::is_due).
    pub(super) const fn streaming() -> Self {
        Self { file: None, buffer: Vec::new(), is_closed: false, pager: None }
    }

    /// Whether there is enough to be printed now.
    pub(super) const fn is_due(&self) -> bool {
        self.file.is_none() && self.buffer.len() >= LIVE_WRITE_BYTES
    }

    /// Prints what was streamed so far. A closed pipe is no error.
    pub(super) fn print_pending(&mut self) -> io::Result<()> {
        if self.file.is_some() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        let written = out.write_all(&self.buffer).and_then(|()| out.flush());
        self.buffer.clear();
        self.is_closed |= is_closed(&written);
        if self.is_closed { Ok(()) } else { written }
    }

    /// Prints everything. A closed pipe is an error, too.
    pub(super) fn print_all_strictly(mut self) -> io::Result<()> {
        let Some(mut file) = self.file.take() else { return self.print_pending() };
        file.write_all(&self.buffer)?;
        file.seek(SeekFrom::Start(0))?;
        if let Some(pager) = &self.pager {
            let is_long = is_longer_than_screen(&mut file)?;
            file.seek(SeekFrom::Start(0))?;
            if is_long && pager.show(&mut file)? {
                return Ok(());
            }
            file.seek(SeekFrom::Start(0))?;
        }
        copy(&mut file)
    }

    /// Prints everything that was not printed yet. A closed pipe is no error.
    pub(super) fn print_all(self) -> io::Result<()> {
        let printed = self.print_all_strictly();
        if is_closed(&printed) { Ok(()) } else { printed }
    }
}

impl io::Write for Spool {
    /// Adds text. Fails where a temporary file cannot be made or is full.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_closed {
            self.buffer.extend_from_slice(bytes);
        }
        if let Some(file) = self.file.as_mut().filter(|_| self.buffer.len() >= WRITE_BYTES) {
            file.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_closed(written: &io::Result<()>) -> bool {
    written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn copy(file: &mut SpooledTempFile) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut chunk = vec![0; WRITE_BYTES];
    loop {
        let length = file.read(&mut chunk)?;
        match chunk.get(..length) {
            Some(read) if length > 0 => out.write_all(read)?,
            _ => return out.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_kept_in_order() {
        let mut spool = Spool::new();
        let mut expected = String::new();
        for number in 0..50_000 {
            let line = format!("{number}\n");
            spool.write_all(line.as_bytes()).unwrap();
            expected.push_str(&line);
        }
        let mut file = spool.file.take().unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        text.push_str(std::str::from_utf8(&spool.buffer).unwrap());
        assert_eq!(text, expected);
    }

    #[test]
    fn a_streamed_result_is_not_kept() {
        let mut spool = Spool::streaming();
        assert!(!spool.is_due());
        spool.write_all("x".repeat(LIVE_WRITE_BYTES).as_bytes()).unwrap();
        assert!(spool.is_due() && spool.file.is_none());
    }
}
