//! The blocks in which a page holds its data: compressed (zlib, RFC 1950), in base64.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::ZlibEncoder;

/// A block is full with so many bytes…
const BYTES: usize = 512 << 10;

/// …or so many lines.
const LINES: u64 = 1024;

/// Lines that are written together.
#[derive(Default)]
pub struct Block {
    bytes: Vec<u8>,
    lines: u64,
}

impl Block {
    /// Room for the next line, which is to hold no line end.
    pub fn line(&mut self) -> &mut Vec<u8> {
        if self.lines > 0 {
            self.bytes.push(b'\n');
        }
        self.lines += 1;
        &mut self.bytes
    }

    /// Whether it is to be written.
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= BYTES || self.lines >= LINES
    }

    /// Writes what there is, and begins anew. `end`: how many lines there are in all blocks together.
    pub fn write(&mut self, out: &mut impl Write, name: &str, end: u64) -> io::Result<()> {
        if self.lines > 0 {
            write(out, name, end - self.lines, &self.bytes)?;
            self.bytes.clear();
            self.bytes.shrink_to(2 * BYTES);
            self.lines = 0;
        }
        Ok(())
    }
}

/// Writes one block. `from`: the number of its first line.
pub fn write(out: &mut impl Write, name: &str, from: u64, bytes: &[u8]) -> io::Result<()> {
    let mut encoder = ZlibEncoder::new(vec![], Compression::default());
    encoder.write_all(bytes)?;
    let packed = BASE64.encode(encoder.finish()?);
    writeln!(out, "<script type=\"application/octet-stream\" class=\"{name}\" data-from=\"{from}\">{packed}</script>")
}
