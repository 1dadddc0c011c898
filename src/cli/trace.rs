//! What commands that read a trace have in common: one that cannot be read, and the protocol and edition of one.

use std::path::Path;

use crate::diagnostic::{Diagnostic, nearest};
use crate::protocol::{Edition, Protocol, protocols};
use crate::trace::{Header, ReadError};

/// A trace that cannot be read.
pub(super) fn unreadable(error: ReadError) -> Diagnostic {
    Diagnostic::error("trace/unreadable", error.to_string()).help(error.remedy)
}

/// The protocol of a trace, and its edition: the requested one, or else that of the header. `advice`: what to do where
/// there is none like it, before `--edition` with those that there are.
pub(super) fn edition_of(
    header: &Header,
    path: &Path,
    requested: Option<&str>,
    advice: &str,
) -> Result<(&'static Protocol, &'static dyn Edition), Diagnostic> {
    let Some(protocol) = protocols().iter().copied().find(|p| p.name == header.protocol) else {
        let message = format!("{}: the protocol `{}` is not known here", path.display(), header.protocol);
        let known = protocols().iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
        return Err(Diagnostic::error("trace/protocol", message).help(format!("known are {known}")));
    };
    let ids = protocol.edition_ids().collect::<Vec<_>>().join("|");
    let found = known_edition(protocol, requested.unwrap_or(&header.edition), &format!("{advice}: --edition {ids}"));
    let of_trace = |unknown: Diagnostic| {
        let message = format!("{}: {}", path.display(), unknown.message);
        Diagnostic { message, ..unknown }
    };
    found.map(|edition| (protocol, edition)).map_err(of_trace)
}

/// The edition of this id. `advice`: what to do where there is none like it.
pub(super) fn known_edition(protocol: &Protocol, id: &str, advice: &str) -> Result<&'static dyn Edition, Diagnostic> {
    protocol.edition(id).ok_or_else(|| {
        let help = match nearest(id, protocol.edition_ids()) {
            Some(near) => format!("did you mean `--edition {near}`?"),
            None => advice.to_owned(),
        };
        Diagnostic::error("trace/edition", format!("{} has no edition `{id}`", protocol.name)).help(help)
    })
}
