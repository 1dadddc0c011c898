//! The edition `guide`: the AMP Protocol Quick Reference of 2025-12-15.

use include_dir::include_dir;

use crate::protocol::amp::envelope::Envelope;
use crate::protocol::amp::lockfile::{LockfileFormat, SCANNED_PORTS};
use crate::protocol::amp::names::{MethodNames, NotificationNames};
use crate::protocol::schema_folder::SchemaFolder;

use super::{AmpEdition, DiagnosticsForm, EditForm, PlaceForm, ResultForm};

/// The edition `guide`.
pub static GUIDE: AmpEdition = AmpEdition {
    id: "guide",
    about: "the published guide for integrating editors",
    like: None,
    envelope: Envelope { wrapper: Some("method"), result_key: Some("result") },
    methods: MethodNames {
        ping: None,
        authenticate: None,
        read_file: Some("readFile"),
        edit_file: Some("editFile"),
        get_diagnostics: Some("getDiagnostics"),
        open_uri: Some("openURI"),
    },
    notifications: NotificationNames {
        selection: Some("selectionChanged"),
        visible_files: Some("visibleFilesChanged"),
        message: None,
        prompt: None,
        metadata: None,
    },
    schemas: &[&SCHEMAS],
    lockfile: LockfileFormat { members: &["port", "authToken"], ports: Some(SCANNED_PORTS), may_know_home_only: true },
    host: "127.0.0.1",
    numeric_ids: true,
    open_failures: true,
    absolute_paths: false,
    results: ResultForm::Bare,
    edits: EditForm::ByteRange,
    diagnostics: DiagnosticsForm::AllItems,
    places: PlaceForm::Positions,
};

static SCHEMAS: SchemaFolder = SchemaFolder::new(include_dir!("$CARGO_MANIFEST_DIR/src/protocol/amp/editions/guide"));
