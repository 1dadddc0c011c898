//! A trace that can be read more than once: [`Source`].

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::trace::{ReadError, TraceReader};

/// A trace file; what comes through a pipe is kept in a temporary file first.
pub struct Source {
    name: PathBuf,
    kept: Option<NamedTempFile>,
}

impl Source {
    /// Of a path; `-` is stdin.
    ///
    /// # Errors
    /// What comes through a pipe cannot be kept.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        if path.as_os_str() == "-" {
            return Self::keep(io::stdin().lock(), Path::new("<stdin>"));
        }
        let is_stream = std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
        match File::open(path) {
            Ok(file) if is_stream => Self::keep(file, path),
            // Whoever reads it tells what is wrong with it.
            _ => Ok(Self { name: path.to_owned(), kept: None }),
        }
    }

    fn keep(mut from: impl io::Read, name: &Path) -> Result<Self, ReadError> {
        let kept = NamedTempFile::new().and_then(|mut kept| io::copy(&mut from, &mut kept).map(|_| kept));
        match kept {
            Ok(kept) => Ok(Self { name: name.to_owned(), kept: Some(kept) }),
            Err(error) => Err(ReadError {
                path: name.to_owned(),
                line: 0,
                column: 0,
                message: format!("cannot be kept in a temporary file to be read twice: {error}"),
                remedy: "make room in the folder for temporary files, or name a file",
            }),
        }
    }

    /// What errors and titles call it.
    pub fn name(&self) -> String {
        self.name.display().to_string()
    }

    /// Reads it from the beginning.
    ///
    /// # Errors
    /// As [`TraceReader::open`].
    pub fn reader(&self) -> Result<TraceReader, ReadError> {
        match &self.kept {
            None => TraceReader::open(&self.name),
            Some(kept) => {
                let file = kept.reopen().map_err(|error| ReadError {
                    path: self.name.clone(),
                    line: 0,
                    column: 0,
                    message: format!("cannot be read again: {error}"),
                    remedy: "name a file",
                })?;
                TraceReader::new(Box::new(BufReader::with_capacity(1 << 16, file)), &self.name)
            }
        }
    }
}
