//! The result on its way to standard output.

use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use tempfile::SpooledTempFile;

/// Up to here the result stays in memory; beyond it goes to an unlinked temporary file.
const MEMORY: usize = 8 << 20;

/// So much text is written at once.
const ENOUGH: usize = 1 << 16;

/// The same where somebody may be waiting for it.
const SOME: usize = 1 << 12;

/// Takes the result. It holds it back, so that a run that fails on its last input has printed nothing; or lets it
/// through, where nothing that is still to come can make it void.
#[derive(Debug)]
pub(super) struct Spool {
    /// What holds it back.
    file: Option<SpooledTempFile>,
    buffer: Vec<u8>,
    /// Nobody reads on.
    is_closed: bool,
}

impl Spool {
    /// An empty spool that holds back.
    pub(super) fn new() -> Self {
        Self { file: Some(SpooledTempFile::new(MEMORY)), buffer: Vec::new(), is_closed: false }
    }

    /// One that lets through; [`Spool::pass`] has to be called now and then.
    pub(super) const fn passing() -> Self {
        Self { file: None, buffer: Vec::new(), is_closed: false }
    }

    /// Adds text.
    ///
    /// # Errors
    ///
    /// A temporary file that cannot be made or is full.
    pub(super) fn push(&mut self, text: &str) -> io::Result<()> {
        if !self.is_closed {
            self.buffer.extend_from_slice(text.as_bytes());
        }
        match &mut self.file {
            Some(file) if self.buffer.len() >= ENOUGH => {
                file.write_all(&self.buffer)?;
                self.buffer.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whether there is something to pass on.
    pub(super) const fn is_due(&self) -> bool {
        self.file.is_none() && self.buffer.len() >= SOME
    }

    /// Prints what is let through and was added so far. That nobody reads on is no error.
    ///
    /// # Errors
    ///
    /// Any other failure to write.
    pub(super) fn pass(&mut self) -> io::Result<()> {
        if self.file.is_some() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        let written = out.write_all(&self.buffer).and_then(|()| out.flush());
        self.buffer.clear();
        self.is_closed |= is_closed(&written);
        if self.is_closed { Ok(()) } else { written }
    }

    /// Prints everything on standard output, to its last byte: that nobody reads on is a failure, too.
    ///
    /// # Errors
    ///
    /// Any failure to read the temporary file or to write.
    pub(super) fn deliver(mut self) -> io::Result<()> {
        let Some(mut file) = self.file.take() else { return self.pass() };
        file.write_all(&self.buffer)?;
        file.seek(SeekFrom::Start(0))?;
        copy(&mut file)
    }

    /// Prints everything that was not printed yet on standard output. That nobody reads on is no error.
    ///
    /// # Errors
    ///
    /// Any other failure to read the temporary file or to write.
    pub(super) fn release(mut self) -> io::Result<()> {
        let Some(mut file) = self.file.take() else { return self.pass() };
        file.write_all(&self.buffer)?;
        file.seek(SeekFrom::Start(0))?;
        let copied = copy(&mut file);
        if is_closed(&copied) { Ok(()) } else { copied }
    }
}

fn is_closed(written: &io::Result<()>) -> bool {
    written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn copy(file: &mut SpooledTempFile) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut chunk = vec![0; ENOUGH];
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
            spool.push(&line).unwrap();
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
    fn what_is_let_through_is_not_kept() {
        let mut spool = Spool::passing();
        assert!(!spool.is_due());
        spool.push(&"x".repeat(SOME)).unwrap();
        assert!(spool.is_due() && spool.file.is_none());
    }
}
