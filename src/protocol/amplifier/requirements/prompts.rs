//! Prompts and decisions: what is posted to a session.

use super::{Table, doc, own, table};

pub const TABLES: &[Table] = &[PROMPT, APPROVAL];

const PROMPT: Table = table! { "prompt", Server, None;
    "status": Must doc("Submit Prompt") =>
        "A prompt that was accepted is answered with the status 202."
        "";
    "object": Must doc("Submit Prompt") =>
        "The answer is an object."
        "";
    "request-id": Must doc("Submit Prompt") =>
        "The answer has a string `request_id`, which is not empty."
        "";
    "request-id-unique": Should doc("Submit Prompt") =>
        "No two prompts have the same `request_id`."
        "";
    "value": Must doc("Submit Prompt") =>
        "The answer has the `status` `processing`."
        "";
    "message": Must doc("Submit Prompt") =>
        "The answer has a string `message`."
        "";
    "at-once": Should doc("Submit Prompt") =>
        "A prompt is answered before it is complete."
        "The response comes by events; a client that waits for the answer sees none of it coming.";
    "not-found": Must doc("Submit Prompt") =>
        "A prompt for a session that never existed is refused with the status 404."
        "";
    "busy": Must doc("Submit Prompt") =>
        "A prompt for a session that works on another one is refused with the status 409."
        "";
    "busy-undisturbed": Must doc("Submit Prompt") =>
        "A prompt that is refused because the session is busy leaves the one under way alone."
        "";
    "prompt-missing": Must doc("Error Codes") =>
        "A body without a `prompt` is refused with the status 400."
        "";
    "prompt-type": Must doc("Error Codes") =>
        "A `prompt` that is no string is refused with the status 400."
        "";
    "bad-json": Must doc("Error Codes") =>
        "A body that is no JSON is refused with the status 400."
        "";
    "refused-no-work": Should doc("Submit Prompt") =>
        "A prompt that was refused is not worked on."
        "";
    "context-update": Must doc("Submit Prompt") =>
        "A `context_update` with any of the members of a context is accepted."
        "";
    "context-update-invalid": Must doc("Error Codes") =>
        "A `context_update` of another format is refused with the status 400."
        "";
    "extra-members": Should own("Unknown members") =>
        "Members that the document does not know do no harm in a body."
        "";
    "unicode": Must doc("Submit Prompt") =>
        "A prompt of any script, beyond the basic plane too, is accepted and told unchanged."
        "";
    "long": Should doc("Input Validation (Deferred)") =>
        "A prompt of a mebibyte is accepted, or refused with an error."
        "";
    "next": Must doc("Get Session Status") =>
        "A session takes another prompt when one is complete."
        "";
};

const APPROVAL: Table = table! { "approval", Server, Some("approval");
    "required": Must doc("Approval Flow") =>
        "What needs an approval is asked for by `approval:required` while it waits."
        "The decision has to be one of the options that this event offers.";
    "status": Must doc("Submit Approval Decision") =>
        "A decision that was offered, for an approval that is pending, is answered with the status 200."
        "";
    "object": Must doc("Submit Approval Decision") =>
        "The answer is an object."
        "";
    "value": Must doc("Submit Approval Decision") =>
        "The answer has a string `status`."
        "The example has `approved`, and the document no word for a denial.";
    "value-approved": Should doc("Submit Approval Decision") =>
        "The `status` of the answer to a decision that allows is `approved`."
        "";
    "message": Must doc("Submit Approval Decision") =>
        "The answer has a string `message`."
        "";
    "unknown-decision": Must doc("Submit Approval Decision") =>
        "A decision that was not offered is refused with the status 400."
        "";
    "case": Must doc("Submit Approval Decision") =>
        "A decision whose case is not that of an option is refused with the status 400."
        "";
    "empty": Must doc("Submit Approval Decision") =>
        "An empty decision is refused with the status 400."
        "";
    "decision-missing": Must doc("Error Codes") =>
        "A body without a `decision` is refused with the status 400."
        "";
    "decision-type": Must doc("Error Codes") =>
        "A `decision` that is no string is refused with the status 400."
        "";
    "bad-json": Must doc("Error Codes") =>
        "A body that is no JSON is refused with the status 400."
        "";
    "none-pending": Must doc("Submit Approval Decision") =>
        "A decision for a session that never asked for one is refused with the status 400."
        "";
    "repeated": Must doc("Submit Approval Decision") =>
        "A second decision about an approval is refused with the status 409, 408 or 400."
        "";
    "late": Must doc("Submit Approval Decision") =>
        "A decision about an approval that has timed out is refused with the status 409, 408 or 400."
        "";
    "concurrent": Must doc("Submit Approval Decision") =>
        "Of decisions that are sent at the same time exactly one is accepted."
        "";
    "not-found": Must doc("Submit Approval Decision") =>
        "A decision for a session that never existed is refused with the status 404."
        "";
    "still-pending": Must doc("Submit Approval Decision") =>
        "After a decision that was refused as not offered, one that is offered is accepted."
        "";
    "every-option": Must doc("Submit Approval Decision") =>
        "Every option that is offered is accepted as a decision."
        "";
};
