//! `editFile`.

use serde_json::json;

use super::super::edition::Method;
use super::super::quirks::{Effect, Of, Switch};
use super::{BOTH, CLI, Entry, GUIDE, flaw, remove, set};

const EDIT: Of = Of::Success(Some(Method::EditFile));

pub const FLAWS: &[Entry] = &[
    flaw!("edit-success-as-text" BOTH "edit-file/result" "The `success` of `editFile` is a string."
        Effect::Body(EDIT, |b| set(b, "success", "true"))),
    flaw!("edit-success-missing" BOTH "edit-file/result"
        "The result of `editFile` is empty." Effect::Body(EDIT, |b| { remove(b, "success"); })),
    flaw!("edit-refused" BOTH "edit-file/succeeds"
        "`editFile` never succeeds." Effect::Switch(Switch::RefusesEdits)),
    flaw!("edit-not-saved" BOTH "edit-file/disk"
        "`editFile` changes the editor's text and does not save it." Effect::Switch(Switch::BufferOnly)),
    flaw!("edit-does-nothing" BOTH "edit-file/read-back" ["cli/edit-file/disk": "Nothing is written either."]
        "`editFile` of a file succeeds and does not change it." Effect::Switch(Switch::EditsNothing)),
    flaw!("edit-behind-editor" BOTH "edit-file/open-file"
        "`editFile` writes the file and leaves the editor's text as it was." Effect::Switch(Switch::DiskButNotBuffer)),
    flaw!("edit-loses-unicode" BOTH "edit-file/unicode" "`editFile` writes `?` for what is beyond ASCII."
        Effect::Switch(Switch::LosesUnicodeOnWrite)),
    flaw!("edit-cut-at-64k" BOTH "edit-file/large" "`editFile` writes the first 64 KiB." Effect::Switch(Switch::CutsWrites)),
    flaw!("edit-crlf-to-lf" BOTH "edit-file/crlf" "`editFile` turns CRLF into LF." Effect::Switch(Switch::CrlfToLf)),
    flaw!("first-edit-only" BOTH "edit-file/again"
        "`editFile` of a file that was edited before does nothing." Effect::Switch(Switch::FirstEditOnly)),
    flaw!("edit-decodes-names" BOTH "edit-file/special-names"
        ["edit-file/other-files": "The file of the name that is read into the path is changed."]
        "`editFile` takes `%`, `#` and brackets in a path for something else." Effect::Switch(Switch::DecodesNames(Method::EditFile))),
    flaw!("edit-partial-names" BOTH "edit-file/other-files"
        "`editFile` takes an open file whose path contains the one asked for, as Neovim's `bufnr` does."
        Effect::Switch(Switch::PartialName(Method::EditFile))),
    flaw!("edit-every-match" BOTH "edit-file/other-files"
        "`editFile` also changes open files whose paths begin alike." Effect::Switch(Switch::EditsEveryMatch)),
    flaw!("edit-leaves-folders" BOTH "edit-file/missing-directory"
        "`editFile` makes folders that are missing, and then fails." Effect::Switch(Switch::LeavesFolders)),
    flaw!("edit-directory-succeeds" BOTH "edit-file/directory" "`editFile` of a directory succeeds."
        Effect::Switch(Switch::EditsFoldersGladly)),
    flaw!("edit-empty-refused" CLI "edit-file/empty" "`editFile` takes an empty text for none."
        Effect::Switch(Switch::RefusesEmptyText)),
    flaw!("edit-new-file-refused" CLI "edit-file/new-file" "`editFile` creates no files."
        Effect::Switch(Switch::RefusesNewFiles)),
    flaw!("edit-fails-silently" CLI "edit-file/failure-message" "An `editFile` that did not succeed does not say why."
        Effect::Body(Of::Failure(Method::EditFile), |b| *b = json!({"success": false}))),
    flaw!("edit-keeps-range" GUIDE "edit-file/range"
        "`editFile` puts the new text before the old one, and keeps that." Effect::Switch(Switch::KeepsRange)),
    flaw!("edit-end-of-both-kinds" GUIDE "edit-file/delete"
        "`end` is the last byte where text is taken out, and the one behind it where other text takes its place."
        Effect::Switch(Switch::EndOfBothKinds)),
    flaw!("edit-in-characters" GUIDE "edit-file/bytes"
        "`start` and `end` are taken for characters." Effect::Switch(Switch::OffsetsInCharacters)),
    flaw!("edit-deletes-nothing" GUIDE "edit-file/delete" "`editFile` with an empty new text does nothing."
        Effect::Switch(Switch::DeletesNothing)),
    flaw!("edit-missing-file-made" GUIDE "edit-file/missing-file" "`editFile` makes a file that does not exist."
        Effect::Switch(Switch::MissingIsMade)),
    flaw!("edit-offsets-clamped" GUIDE "edit-file/out-of-range" "Offsets beyond the end are taken for the end."
        Effect::Switch(Switch::ClampsOffsets)),
    flaw!("edit-offsets-swapped" GUIDE "edit-file/reversed" "An end before the start is swapped with it."
        Effect::Switch(Switch::SwapsOffsets)),
    flaw!("edit-cuts-characters" GUIDE "edit-file/inside-character" "An offset inside a character leaves a broken one."
        Effect::Switch(Switch::CutsCharacters)),
    flaw!("edit-over-unsaved-refused" CLI "edit-file/over-unsaved" "`editFile` fails for a file with unsaved changes."
        Effect::Switch(Switch::RefusesOverUnsaved)),
];
