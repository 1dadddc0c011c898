//! Parameters that the steps of both roles have in common, and the words of the document.

use crate::protocol::{Field, Shape};

/// How a frame is made, where it is no ordinary one.
pub const FRAMES: [Field; 5] = [
    Field::optional("fin", Shape::Bool, "The FIN bit; set where not said."),
    Field::optional("opcode", Shape::Integer { min: 0, max: 15 }, "The opcode; 1 (text) where not said."),
    Field::optional("rsv", Shape::Integer { min: 0, max: 7 }, "The reserved bits, RSV1 being 4; none where not said."),
    Field::optional("masked", Shape::Bool, "Whether it is masked; as the sender has to where not said."),
    Field::optional("code", Shape::Integer { min: 0, max: 65535 }, "The close code, for the opcode 8."),
];

/// The twelve endpoints, by the names that the driver contract gives them.
pub const ENDPOINTS: &[&str] = &[
    "createSession",
    "submitPrompt",
    "getSession",
    "submitApproval",
    "deleteSession",
    "listSessions",
    "listProfiles",
    "getProfile",
    "listCollections",
    "listAgents",
    "health",
    "info",
];

/// The eighteen events.
pub const EVENTS: &[&str] = &[
    "session:start",
    "session:end",
    "prompt:submit",
    "prompt:complete",
    "content_block:start",
    "content_block:delta",
    "content_block:end",
    "thinking:delta",
    "thinking:final",
    "tool:pre",
    "tool:post",
    "tool:error",
    "approval:required",
    "approval:granted",
    "approval:denied",
    "diagnostic:add",
    "diagnostic:clear",
    "status:update",
];

/// The values that the status of a session has.
pub const STATUSES: &[&str] = &["idle", "processing", "awaiting_approval", "error", "stopped"];

/// The fourteen codes, each with its status and the slug of its requirement.
pub const CODES: &[(&str, u16, &str)] = &[
    ("INVALID_REQUEST", 400, "errors/invalid-request"),
    ("MISSING_CREDENTIALS", 401, "errors/missing-credentials"),
    ("INVALID_API_KEY", 401, "errors/invalid-api-key"),
    ("API_KEY_UNAUTHORIZED", 403, "errors/api-key-unauthorized"),
    ("RATE_LIMITED", 429, "errors/rate-limited"),
    ("SESSION_NOT_FOUND", 404, "errors/session-not-found"),
    ("PROFILE_NOT_FOUND", 404, "errors/profile-not-found"),
    ("SESSION_BUSY", 409, "errors/session-busy"),
    ("APPROVAL_TIMEOUT", 408, "errors/approval-timeout"),
    ("APPROVAL_INVALID", 400, "errors/approval-invalid"),
    ("SERVER_ERROR", 500, "errors/server-error"),
    ("MODULE_LOAD_FAILED", 500, "errors/module-load-failed"),
    ("PROVIDER_ERROR", 502, "errors/provider-error"),
    ("PROVIDER_UNAVAILABLE", 503, "errors/provider-unavailable"),
];
