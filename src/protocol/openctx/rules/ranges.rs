//! Ranges: where in a document an annotation belongs.

use serde_json::Value;

use super::members::{BodyObject, INTEGER, OBJECT};
use crate::protocol::ViolationDetail;
use crate::protocol::http::requirement_index::RuleContext;

/// How long the lines of a document are. Measured once, however many ranges lie in it.
pub struct Measures {
    /// In bytes, each without its line feed.
    lines: Vec<usize>,
    /// How many carriage returns there are: by itself, one ends a line in some editors.
    returns: usize,
}

impl Measures {
    /// Of this content.
    pub fn of(content: &str) -> Self {
        let returns = content.bytes().filter(|byte| *byte == b'\r').count();
        Self { lines: content.split('\n').map(str::len).collect(), returns }
    }

    /// Whether there is such a position, in any unit of characters. The line after the last one has one position.
    fn holds(&self, line: f64, character: f64) -> bool {
        let (lines, alone) = (self.lines.len() as f64, self.returns as f64);
        if line >= lines {
            return line < lines + alone || line == lines && character == 0.0;
        }
        let length = self.lines.get(line as usize).copied().unwrap_or_default();
        // One more for the line's end.
        alone > 0.0 || character <= length as f64 + 1.0
    }
}

/// Judges a range in this content, as far as the document's words go: the unit of characters is left open.
pub fn judge(range: &Value, pointer: &str, content: &Measures, ctx: &mut RuleContext<'_>) {
    let short = "annotations/range";
    let Some(members) = range.as_object() else { return };
    let place = BodyObject { members, pointer };
    let mut position = |key: &str| {
        let pointer = place.at(key);
        let members = place.required(ctx, key, OBJECT, short)?.as_object()?;
        let position = BodyObject { members, pointer: &pointer };
        let line = position.required(ctx, "line", INTEGER, short).and_then(Value::as_f64);
        let character = position.required(ctx, "character", INTEGER, short).and_then(Value::as_f64);
        Some((line?, character?))
    };
    let (Some(start), Some(end)) = (position("start"), position("end")) else { return };
    let fault = |message: &str| ViolationDetail::new(message).at(pointer).actual(range.clone());
    let below = [start.0, start.1, end.0, end.1].into_iter().any(|n| n < 0.0);
    ctx.check("annotations/range-zero-based", below.then(|| fault("a position is negative, though they count from 0")));
    if below {
        return;
    }
    ctx.check("annotations/range-ordered", (end < start).then(|| fault("a range ends before it starts")));
    let inside = [start, end].into_iter().all(|(line, character)| content.holds(line, character));
    ctx.check("annotations/range-inside", (!inside).then(|| fault("a range lies outside the content of the request")));
}
