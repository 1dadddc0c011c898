//! An edition for tests, which shows what one takes: it is like `cli`, but `readFile` is called `readDocument`. The only
//! schema that names methods is that of a whole response, so that is the only one in its folder.

use include_dir::include_dir;

use crate::protocol::amp::names::MethodNames;
use crate::protocol::schema_folder::SchemaFolder;

use super::{AmpEdition, CLI};

/// The edition `documents`.
pub static DOCUMENTS: AmpEdition = AmpEdition {
    id: "documents",
    about: "an edition for tests",
    like: Some("cli"),
    methods: MethodNames { read_file: Some("readDocument"), ..CLI.methods },
    schemas: &[&SCHEMAS, CLI.schemas[0]],
    ..CLI
};

static SCHEMAS: SchemaFolder =
    SchemaFolder::new(include_dir!("$CARGO_MANIFEST_DIR/src/protocol/amp/editions/documents"));
