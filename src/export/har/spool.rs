//! Lists of JSON values that may become long: [`Spool`].

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use serde_json::Value;

/// How many bytes of a list stay in memory.
const IN_MEMORY: usize = 16 << 10;

/// Keeps lists in a temporary file, all in the same.
#[derive(Default)]
pub struct Spool(Option<File>);

/// A list: JSON values with commas between them.
#[derive(Default)]
pub struct SpooledList {
    /// Where its parts are in the file: offset and length.
    parts: Vec<(u64, u64)>,
    /// What follows them.
    rest: Vec<u8>,
}

impl Spool {
    /// Adds a value to a list.
    ///
    /// # Errors
    /// The temporary file cannot be written.
    pub fn push(&mut self, list: &mut SpooledList, value: &Value) -> io::Result<()> {
        if !list.parts.is_empty() || !list.rest.is_empty() {
            list.rest.push(b',');
        }
        serde_json::to_writer(&mut list.rest, value)?;
        if list.rest.len() > IN_MEMORY {
            let file = match &mut self.0 {
                Some(file) => file,
                None => self.0.insert(tempfile::tempfile()?),
            };
            let at = file.seek(SeekFrom::End(0))?;
            file.write_all(&list.rest)?;
            list.parts.push((at, list.rest.len() as u64));
            list.rest.clear();
        }
        Ok(())
    }

    /// Writes a list.
    ///
    /// # Errors
    /// The temporary file cannot be read, or `out` cannot be written.
    pub fn write(&mut self, list: &SpooledList, out: &mut impl Write) -> io::Result<()> {
        out.write_all(b"[")?;
        if let Some(file) = &mut self.0 {
            for (at, length) in &list.parts {
                file.seek(SeekFrom::Start(*at))?;
                io::copy(&mut file.take(*length), out)?;
            }
        }
        out.write_all(&list.rest)?;
        out.write_all(b"]")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_come_back_as_they_were_pushed_however_long_they_are() {
        let mut spool = Spool::default();
        let mut lists = [SpooledList::default(), SpooledList::default(), SpooledList::default()];
        let value = |list: usize, n: usize| json!({"list": list, "n": n, "text": "x".repeat(n % 700)});
        for n in 0..400 {
            spool.push(&mut lists[0], &value(0, n)).unwrap();
            if n < 3 {
                spool.push(&mut lists[1], &value(1, n)).unwrap();
            }
        }
        for (number, length) in [400, 3, 0].into_iter().enumerate() {
            let mut out = vec![];
            spool.write(&lists[number], &mut out).unwrap();
            let expected: Vec<Value> = (0..length).map(|n| value(number, n)).collect();
            assert_eq!(serde_json::from_slice::<Vec<Value>>(&out).unwrap(), expected);
        }
        assert!(lists[0].parts.len() > 2 && lists[0].rest.len() <= IN_MEMORY);
    }
}
