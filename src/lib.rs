//! wirecert certifies integrations between editors and AI agents on the wire.
//!
//! It runs a real implementation, the *subject*, against a mock of its counterpart, plays YAML
//! scenarios at it, records everything that crosses the wire as one [`trace`], and judges that
//! record against the published protocol.

pub mod atomic_file;
pub mod certification;
pub mod cli;
pub mod config;
pub mod description;
pub mod diagnostic;
pub mod export;
pub mod fixture;
pub mod format;
pub mod fuzz;
pub mod inspect;
pub mod judge;
pub mod matcher;
pub mod peer;
pub mod play;
pub mod protocol;
pub mod prove;
pub mod record;
pub mod replay;
pub mod report;
pub mod scenario;
pub mod shrink;
pub mod signals;
pub mod snapshot;
pub mod subject;
pub mod text;
pub mod trace;
pub mod uri;
pub mod wire;
