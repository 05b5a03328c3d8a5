//! The result, held back until all input was read.

use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use tempfile::SpooledTempFile;

/// Up to here the result stays in memory; beyond it goes to an unlinked temporary file.
const MEMORY: usize = 64 << 20;

/// Holds the result back, so that a run that fails on its last input has printed nothing.
#[derive(Debug)]
pub(super) struct Spool {
    file: SpooledTempFile,
    buffer: Vec<u8>,
}

impl Spool {
    /// An empty spool.
    pub(super) fn new() -> Self {
        Self { file: SpooledTempFile::new(MEMORY), buffer: Vec::new() }
    }

    /// Adds text.
    ///
    /// # Errors
    ///
    /// A temporary file that cannot be made or is full.
    pub(super) fn push(&mut self, text: &str) -> io::Result<()> {
        const ENOUGH: usize = 1 << 16;
        self.buffer.extend_from_slice(text.as_bytes());
        if self.buffer.len() >= ENOUGH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Prints everything on standard output. That nobody reads on is no error.
    ///
    /// # Errors
    ///
    /// Any other failure to read the temporary file or to write.
    pub(super) fn release(mut self) -> io::Result<()> {
        self.flush()?;
        self.file.seek(SeekFrom::Start(0))?;
        match self.copy() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            ended => ended,
        }
    }

    fn copy(&mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let mut chunk = vec![0; 1 << 16];
        loop {
            let length = self.file.read(&mut chunk)?;
            match chunk.get(..length) {
                Some(read) if length > 0 => out.write_all(read)?,
                _ => return out.flush(),
            }
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
        spool.flush().unwrap();
        spool.file.seek(SeekFrom::Start(0)).unwrap();
        let mut text = String::new();
        spool.file.read_to_string(&mut text).unwrap();
        assert_eq!(text, expected);
    }
}
