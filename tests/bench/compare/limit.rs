//! The limit: what reading and printing the same bytes with the same library takes, one document after the other.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Read, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use kyv::yaml::{Limits, Source, print, read};
use rayon::ThreadPoolBuilder;

/// The name under which the program calls itself.
pub(crate) const ERRAND: &str = "limit";

/// How much is read at once. What is done with it stays in the processor's cache.
const BLOCK: usize = 256 * 1024;

/// Between two documents, in what the generator writes.
const BETWEEN: &str = "\n---\n";

/// Reads one file and prints its objects to another.
pub(crate) fn errand(arguments: &[OsString]) -> ExitCode {
    let [input, output] = arguments else { return ExitCode::FAILURE };
    // The reader would take all processors.
    let alone = ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    alone.install(|| copy_all(input, output));
    ExitCode::SUCCESS
}

fn copy_all(input: &OsString, output: &OsString) {
    let mut input = File::open(input).expect("a file to read");
    let mut output = BufWriter::with_capacity(BLOCK, File::create(output).expect("a file to write"));
    let (limits, mut rest, mut printed) = (Limits::default(), Vec::new(), String::new());
    loop {
        let before = rest.len();
        let read = Read::by_ref(&mut input)
            .take(BLOCK as u64)
            .read_to_end(&mut rest)
            .expect("a file that can be read");
        let all = std::str::from_utf8(&rest).expect("what the generator writes is plain");
        let end = if read == 0 { all.len() } else { all.rfind(BETWEEN).map_or(0, |at| at + 1) };
        if end == 0 && read == 0 && before == 0 {
            break;
        }
        copy(&all[..end], &limits, &mut printed);
        output.write_all(printed.as_bytes()).expect("room for it");
        printed.clear();
        rest.drain(..end);
    }
    output.flush().expect("room for it");
}

fn copy(text: &str, limits: &Limits, printed: &mut String) {
    let documents = read(&Arc::new(Source::new("limit", text)), limits).expect("the generator writes YAML");
    for value in documents.iter().filter_map(|document| document.value()) {
        printed.push_str("---\n");
        print(value, printed);
    }
}
