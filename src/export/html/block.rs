//! The compressed blocks (zlib, RFC 1950, in base64) that hold the data of a page: [`BlockWriter`].

use std::io::{self, Write};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::ZlibEncoder;

/// How many blocks may wait to be compressed: few, because a block can be as large as an event.
const WAITING: usize = 1;

/// A block as it is, before it is compressed.
pub struct Block {
    /// The class of its element.
    pub name: &'static str,
    /// The number of its first line.
    pub from: u64,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// Compresses blocks and writes them in the order in which they come, in a thread of its own: a quarter of the time that a page
/// takes is compression.
pub struct BlockWriter<W: Send + 'static> {
    /// Nobody, once there are no more blocks.
    blocks: Option<SyncSender<Block>>,
    /// Gives the output back, or why it could not be written to.
    thread: Option<JoinHandle<io::Result<W>>>,
}

impl<W: Write + Send + 'static> BlockWriter<W> {
    /// Writes to this output from now on.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(mut out: W) -> io::Result<Self> {
        let (sender, blocks) = sync_channel::<Block>(WAITING);
        let thread = std::thread::Builder::new().name("blocks".to_owned()).spawn(move || {
            blocks.iter().try_for_each(|block| write(&mut out, &block))?;
            Ok(out)
        })?;
        Ok(Self { blocks: Some(sender), thread: Some(thread) })
    }

    /// Adds a block.
    ///
    /// # Errors
    /// An earlier one could not be written.
    pub fn add(&mut self, block: Block) -> io::Result<()> {
        match &self.blocks {
            Some(blocks) if blocks.send(block).is_ok() => Ok(()),
            _ => self.join().map(drop),
        }
    }

    /// Waits until all blocks are written; gives the output back.
    ///
    /// # Errors
    /// One of them could not be written.
    pub fn end(mut self) -> io::Result<W> {
        self.join()
    }
}

impl<W: Send + 'static> BlockWriter<W> {
    fn join(&mut self) -> io::Result<W> {
        self.blocks = None;
        let over = || io::Error::other("the output has ended already");
        self.thread.take().map_or_else(|| Err(over()), |thread| thread.join().unwrap_or_else(|_| Err(over())))
    }
}

impl<W: Send + 'static> Drop for BlockWriter<W> {
    /// The output is dropped by the time that this is: a file that is not to be kept is gone then.
    fn drop(&mut self) {
        if self.thread.is_some() {
            let _ = self.join();
        }
    }
}

fn write(out: &mut impl Write, Block { name, from, bytes }: &Block) -> io::Result<()> {
    let mut encoder = ZlibEncoder::new(vec![], Compression::default());
    encoder.write_all(bytes)?;
    let packed = BASE64.encode(encoder.finish()?);
    writeln!(out, "<script type=\"application/octet-stream\" class=\"{name}\" data-from=\"{from}\">{packed}</script>")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Takes so many bytes, and no more.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_told_at_a_later_block_or_at_the_end() {
        let block = |from| Block { name: "detail", from, bytes: vec![b'a'; 100] };
        let mut writer = BlockWriter::start(Full(1000)).unwrap();
        let error = (0..100).find_map(|from| writer.add(block(from)).err());
        assert_eq!(error.map(|error| error.kind()), Some(io::ErrorKind::StorageFull));
        assert!(writer.add(block(100)).is_err());
        let mut writer = BlockWriter::start(Full(10)).unwrap();
        let _ = writer.add(block(0));
        assert_eq!(writer.end().err().map(|error| error.kind()), Some(io::ErrorKind::StorageFull));
    }

    /// Lives as long as the output.
    struct Held(#[expect(dead_code, reason = "only held")] Arc<()>);

    impl Write for Held {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_output_of_a_page_that_is_given_up_is_gone_with_it() {
        let held = Arc::new(());
        let mut writer = BlockWriter::start(Held(held.clone())).unwrap();
        writer.add(Block { name: "detail", from: 0, bytes: vec![b'a'; 1 << 20] }).unwrap();
        drop(writer);
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
