//! `readFile`.

use serde_json::{Value, json};

use super::super::edition::Method;
use super::super::files::PIECE;
use super::super::quirks::{Effect, Of, Switch};
use super::{BOTH, CLI, Entry, GUIDE, each, flaw, remove, set};

const READ: Of = Of::Success(Some(Method::ReadFile));

pub const FLAWS: &[Entry] = &[
    flaw!("content-as-lines" BOTH "read-file/result"
    "The content is a list of lines." Effect::Body(READ, |b| each(b, "content", |c| {
        *c = c.as_str().unwrap_or_default().lines().map(Value::from).collect();
    }))),
    flaw!("content-as-result" GUIDE "read-file/result"
        "The result is the content itself." Effect::Body(READ, |b| *b = remove(b, "content"))),
    flaw!("success-missing" CLI "read-file/result" "The result of `readFile` has no `success`."
        Effect::Body(READ, |b| { remove(b, "success"); })),
    flaw!("dirty-as-text" CLI "read-file/result" "The `isDirty` of `readFile` is a string."
        Effect::Body(READ, |b| set(b, "isDirty", b["isDirty"].to_string()))),
    flaw!("last-line-lost" BOTH "read-file/content"
    "The last line of a file is lost." Effect::Body(READ, |b| each(b, "content", |c| {
        let text = c.as_str().unwrap_or_default();
        let end = text.trim_end_matches('\n').rfind('\n').unwrap_or(0);
        *c = text[..end].into();
    }))),
    flaw!("open-files-only" BOTH "read-file/not-open"
        "`readFile` fails for a file that is not open." Effect::Switch(Switch::OpenOnly)),
    flaw!("open-files-fail" BOTH "read-file/open-file"
        "`readFile` fails for a file that is open: it is locked." Effect::Switch(Switch::OpenFails)),
    flaw!("empty-file-fails" BOTH "read-file/empty" "`readFile` takes an empty content for none."
        Effect::Switch(Switch::RefusesEmptyFile)),
    flaw!("no-unicode" BOTH "read-file/unicode"
    "`readFile` replaces characters beyond the Basic Multilingual Plane." Effect::Body(READ, |b| each(b, "content", |c| {
        let text = c.as_str().unwrap_or_default();
        *c = text.chars().map(|c| if u32::from(c) > 0xffff { '\u{fffd}' } else { c }).collect::<String>().into();
    }))),
    flaw!("backslashes-doubled" BOTH "read-file/escapes" "`readFile` escapes backslashes twice."
        Effect::Body(READ, |b| each(b, "content", |c| *c = c.as_str().unwrap_or_default().replace('\\', "\\\\").into()))),
    flaw!("cut-at-64k" BOTH "read-file/large" "`readFile` gives the first 64 KiB."
        Effect::Switch(Switch::CutsAt(PIECE))),
    flaw!("cut-at-1m" BOTH "read-file/huge" "`readFile` gives the first mebibyte." Effect::Switch(Switch::CutsAt(1 << 20))),
    flaw!("crlf-read-as-lf" BOTH "read-file/crlf" "`readFile` turns CRLF into LF."
        Effect::Body(READ, |b| each(b, "content", |c| *c = c.as_str().unwrap_or_default().replace("\r\n", "\n").into()))),
    flaw!("read-decodes-names" BOTH "read-file/special-names"
        ["read-file/exact-name": "The file of the name that is read into the path is taken for it."]
        "`readFile` takes `%`, `#` and brackets in a path for something else." Effect::Switch(Switch::DecodesNames(Method::ReadFile))),
    flaw!("read-partial-names" BOTH "read-file/exact-name"
        "`readFile` takes an open file whose path contains the one asked for, as Neovim's `bufnr` does."
        Effect::Switch(Switch::PartialName(Method::ReadFile))),
    flaw!("missing-file-empty" BOTH "read-file/missing-file"
        "`readFile` of a file that does not exist succeeds with an empty content." Effect::Switch(Switch::MissingIsEmpty)),
    flaw!("directory-empty" BOTH "read-file/directory"
        "`readFile` of a directory succeeds with an empty content." Effect::Switch(Switch::DirectoryIsListed)),
    flaw!("read-fails-silently" CLI "read-file/failure-message" "A `readFile` that did not succeed does not say why."
        Effect::Body(Of::Failure(Method::ReadFile), |b| *b = json!({"success": false}))),
    flaw!("not-utf8-unanswered" BOTH "read-file/not-utf8"
        "`readFile` of a file that is not UTF-8 is not answered." Effect::Switch(Switch::BadBytesUnanswered)),
    flaw!("read-leaves-backup" BOTH "read-file/side-effects"
        "`readFile` leaves a backup file beside the one it read." Effect::Switch(Switch::ReadTouches)),
    flaw!("disk-not-buffer" BOTH "read-file/unsaved" "`readFile` reads the disk, not the editor's unsaved text."
        Effect::Switch(Switch::DiskOnly)),
    flaw!("dirty-negated" CLI "read-file/dirty-flag" "`isDirty` says the opposite."
        Effect::Body(READ, |b| each(b, "isDirty", |d| *d = (!d.as_bool().unwrap_or_default()).into()))),
];
