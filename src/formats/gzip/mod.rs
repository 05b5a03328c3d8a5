//! Gzip files, byte by byte as Go's `compress/gzip` writes them at its default level.

mod blocks;
mod huffman;
mod matches;

/// A compressed text without a name and a time.
pub fn compress(bytes: &[u8]) -> Vec<u8> {
    // Magic number, method deflate, no flags, no time, no hint on the level, unknown system.
    let header = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut writer = blocks::Writer::new(header);
    matches::Matcher::new(bytes).run(&mut writer);
    let mut file = writer.finish();
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    file.extend(sum.sum().to_le_bytes());
    file.extend(sum.amount().to_le_bytes());
    file
}

#[cfg(test)]
mod tests;
