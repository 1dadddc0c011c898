//! The standards on which protocols rest, as sources of requirements.

use super::Section;

/// A section of HTTP Semantics.
pub const fn semantics(section: &'static str) -> Section {
    Section { document: "RFC 9110", section }
}

/// A section of HTTP/1.1.
pub const fn http11(section: &'static str) -> Section {
    Section { document: "RFC 9112", section }
}

/// A section of the JSON specification.
pub const fn json(section: &'static str) -> Section {
    Section { document: "RFC 8259", section }
}

/// A section of the URI specification.
pub const fn uri(section: &'static str) -> Section {
    Section { document: "RFC 3986", section }
}

/// A section of the WebSocket protocol.
pub const fn rfc6455(section: &'static str) -> Section {
    Section { document: "RFC 6455", section }
}

/// A section of the HTML standard.
pub const fn html(section: &'static str) -> Section {
    Section { document: "HTML standard", section }
}
