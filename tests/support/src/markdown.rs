//! Markdown pages that tests follow.

/// The fenced blocks of a page in their order: the info string, and the lines with their ends.
pub fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let body = lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n"));
        blocks.push((info.to_owned(), body.collect()));
    }
    blocks
}
