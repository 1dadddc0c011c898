//! The edition `cli`: what Amp's own CLI and the editors' plugins exchange (docs/amp.md).

use include_dir::include_dir;

use crate::protocol::amp::envelope::Envelope;
use crate::protocol::amp::lockfile::LockfileFormat;
use crate::protocol::amp::names::{MethodNames, NotificationNames};
use crate::protocol::schema_folder::SchemaFolder;

use super::{AmpEdition, DiagnosticsForm, EditForm, PlaceForm, ResultForm};

/// The edition `cli`.
pub static CLI: AmpEdition = AmpEdition {
    id: "cli",
    about: "what Amp's own CLI and the editors' plugins exchange, as of January 2026",
    like: None,
    envelope: Envelope { wrapper: None, result_key: None },
    methods: MethodNames {
        ping: Some("ping"),
        authenticate: Some("authenticate"),
        read_file: Some("readFile"),
        edit_file: Some("editFile"),
        get_diagnostics: Some("getDiagnostics"),
        open_uri: Some("openURI"),
    },
    notifications: NotificationNames {
        selection: Some("selectionDidChange"),
        visible_files: Some("visibleFilesDidChange"),
        message: Some("userSentMessage"),
        prompt: Some("appendToPrompt"),
        metadata: Some("pluginMetadata"),
    },
    schemas: &[&SCHEMAS],
    lockfile: LockfileFormat {
        members: &["workspaceFolders", "port", "ideName", "authToken", "pid"],
        ports: None,
        may_know_home_only: false,
    },
    host: "localhost",
    numeric_ids: false,
    open_failures: false,
    absolute_paths: true,
    results: ResultForm::Flagged,
    edits: EditForm::WholeText,
    diagnostics: DiagnosticsForm::EntriesOfPath,
    places: PlaceForm::Ranges,
};

static SCHEMAS: SchemaFolder = SchemaFolder::new(include_dir!("$CARGO_MANIFEST_DIR/src/protocol/amp/editions/cli"));
