//! Draws the lists, and the field of an act.

use ratatui::layout::{Position, Rect};
use serde_json::Value;

use crate::inspect::api::{Deviation, FoundAt, ShownRow};
use crate::inspect::tui::act::{Outcome, Step};
use crate::inspect::tui::app::App;
use crate::inspect::tui::details::{finding_lines, sign, wrapped};
use crate::inspect::tui::layout::Layout;
use crate::inspect::tui::list::List;
use crate::inspect::tui::text::{TextLine, Tone, fit, line, one_line, pad, pretty, width_of};
use crate::trace::Direction;

use super::Canvas;

/// Draws the rows of a list that are seen, and shows which one is selected.
fn list<T>(canvas: &mut Canvas<'_>, area: Rect, list: &List, entries: &[T], draw: impl Fn(&T) -> TextLine) {
    let seen = list.seen(entries.len());
    for (row, at) in seen.enumerate() {
        let is_selected = at == list.selected;
        let mut parts = vec![(marker(is_selected), Tone::Strong)];
        parts.extend(draw(&entries[at]));
        canvas.line(area, row, &parts);
        if is_selected {
            canvas.select(area, row);
        }
    }
}

fn marker(is_selected: bool) -> String {
    (if is_selected { "> " } else { "  " }).to_owned()
}

/// Draws the list of events.
pub fn timeline(canvas: &mut Canvas<'_>, app: &App, area: Rect) {
    let timeline = &app.timeline;
    if let Some(error) = &timeline.error {
        return canvas.lines(area, &wrapped(error, area.width.into(), Tone::Must));
    }
    if timeline.rows.is_empty() {
        let text = if app.live.events == 0 { "nothing has passed yet" } else { "no event fits the filter" };
        return canvas.line(area, 0, &line(text, Tone::Faint));
    }
    let longest = timeline.rows.iter().filter_map(|row| row.row.conn.as_deref()).map(width_of).max();
    let conn = longest.unwrap_or_default().min(usize::from(area.width) / 5);
    for (at, row) in timeline.rows.iter().enumerate() {
        let is_selected = timeline.top + at as u64 == timeline.cursor;
        let mut parts = vec![(marker(is_selected), Tone::Strong)];
        parts.extend(event(row, conn));
        canvas.line(area, at, &parts);
        if is_selected {
            canvas.select(area, at);
        }
    }
}

/// A row of the list of events: sign, time, direction, connection, what it was, what it carried.
fn event(shown: &ShownRow, conn: usize) -> TextLine {
    let row = &shown.row;
    let (mark, mark_tone) = shown.level.as_deref().map_or((" ", Tone::Plain), sign);
    let arrow = match row.dir {
        Some(Direction::ToServer) => "→",
        Some(Direction::ToClient) => "←",
        None => " ",
    };
    let tone = match row.tone.as_str() {
        "piece" | "around" | "mark" => Tone::Faint,
        "failure" => Tone::Should,
        "request" | "notification" => Tone::Strong,
        _ => Tone::Plain,
    };
    let mut parts = vec![
        (format!("{mark} "), mark_tone),
        (format!("{} ", seconds(row.t)), Tone::Faint),
        (format!("{arrow} "), Tone::Plain),
        (format!("{} ", pad(&one_line(row.conn.as_deref().unwrap_or_default()), conn)), Tone::Faint),
        (one_line(&row.what), tone),
    ];
    if shown.more > 0 {
        parts.push((format!(" +{} more", shown.more), Tone::Strong));
    }
    if let Some(after) = row.after {
        parts.push((format!(" {}", duration(after)), Tone::Faint));
    }
    if let Some(purpose) = &row.deliberate {
        parts.push((format!(" [{}]", one_line(purpose)), Tone::May));
    }
    if !row.text.is_empty() {
        parts.push((format!(" {}", one_line(&row.text)), Tone::Faint));
    }
    parts
}

/// Microseconds as seconds.
fn seconds(t: u64) -> String {
    format!("{:>5}.{:03}", t / 1_000_000, t / 1000 % 1000)
}

fn duration(micros: u64) -> String {
    match micros {
        0..1000 => format!("{micros} µs"),
        1000..10_000_000 => format!("{} ms", micros / 1000),
        _ => format!("{} s", micros / 1_000_000),
    }
}

/// Draws the findings, and the selected one in full.
pub fn findings(canvas: &mut Canvas<'_>, app: &App, layout: &Layout) -> Option<Position> {
    let (above, below) = layout.findings();
    let found = &app.findings.findings;
    if found.is_empty() {
        canvas.line(above, 0, &line("nothing was found", Tone::Faint));
        return None;
    }
    list(canvas, above, &app.finding, found, |FoundAt { i, deliberate, finding }| {
        let (sign, tone) = sign(finding.level.as_str());
        let id = finding.requirement.as_deref().unwrap_or("no requirement");
        let mut parts = vec![
            (format!("{sign} {:<6} ", finding.level.as_str()), tone),
            (format!("{i:>5} "), Tone::Faint),
            (one_line(id), Tone::Strong),
        ];
        parts.extend(deliberate.iter().map(|purpose| (format!(" [{}]", one_line(purpose)), Tone::May)));
        parts.push((format!(" {}", one_line(&finding.message)), Tone::Plain));
        parts
    });
    let uncounted = app.findings.uncounted;
    let more = if uncounted > 0 { format!("{uncounted} more are not listed") } else { String::new() };
    canvas.rule(below, &more);
    if let Some(selected) = found.get(app.finding.selected) {
        canvas.lines(below, &finding_lines(selected, &app.findings, below.width.into()));
    }
    None
}

/// Draws the acts, or the examples of one.
pub fn acts(canvas: &mut Canvas<'_>, app: &App, layout: &Layout) -> Option<Position> {
    let (above, below) = layout.choice();
    let screen = &app.act;
    let Some(known) = &screen.acts else {
        canvas.line(above, 0, &line("what can be done is being found out", Tone::Faint));
        return None;
    };
    if known.is_empty() {
        canvas.line(above, 0, &line("nothing can be done here but to look", Tone::Faint));
        return None;
    }
    let (name, about) = screen.selected().map(|act| (act.name.as_str(), act.about.as_str())).unwrap_or_default();
    if screen.step == Step::Example {
        let examples = screen.selected().map(|act| act.examples.as_slice()).unwrap_or_default();
        let mut entries: Vec<TextLine> = vec![];
        for example in examples {
            let wrong = if example.wrong { "✗ wrong on purpose " } else { "" };
            let params = one_line(&Value::Object(example.params.clone()).to_string());
            entries.push(vec![
                (wrong.to_owned(), Tone::May),
                (one_line(&example.name), Tone::Strong),
                (format!("  {}", fit(&params, above.width.into())), Tone::Faint),
            ]);
        }
        entries.push(line("without parameters", Tone::Plain));
        list(canvas, above, &screen.examples, &entries, Clone::clone);
    } else {
        let found = screen.found();
        list(canvas, above, &screen.list, &found, |act| {
            let about = one_line(&act.about);
            vec![(pad(&one_line(&act.name), 22), Tone::Strong), (format!(" {about}"), Tone::Faint)]
        });
    }
    canvas.rule(below, name);
    canvas.lines(below, &wrapped(about, below.width.into(), Tone::Plain));
    None
}

/// Draws the parameters of an act, and what came of it.
pub fn field(canvas: &mut Canvas<'_>, app: &App, layout: &Layout) -> Option<Position> {
    let (area, below) = layout.field();
    let screen = &app.act;
    let about = screen.acts.iter().flatten().find(|act| act.name == screen.name);
    let about = about.map(|act| one_line(&act.about)).unwrap_or_default();
    let heading = vec![(format!("{}  ", one_line(&screen.name)), Tone::Strong), (about, Tone::Faint)];
    canvas.line(layout.content, 0, &heading);
    let (row, column) = screen.editor.cursor();
    let lines = screen.editor.lines();
    let top = (row + 1).saturating_sub(usize::from(area.height).max(1));
    let before: String = lines.get(row).map(|text| text.chars().take(column).collect()).unwrap_or_default();
    // A long line moves to the left, as far as the cursor needs.
    let room = usize::from(area.width).saturating_sub(1).max(1);
    let x = width_of(&one_line(&before));
    let shift = x.saturating_sub(room);
    for (at, text) in lines.iter().skip(top).take(area.height.into()).enumerate() {
        let text = one_line(text);
        let text = if top + at == row { without_cells(&text, shift) } else { text };
        canvas.line(area, at, &line(text, Tone::Plain));
    }
    let (title, outcome) = match &screen.outcome {
        None => ("", vec![]),
        Some(Outcome::Waits) => ("it is being done", vec![]),
        Some(Outcome::Done(value)) => ("done", pretty(value).into_iter().map(|text| line(text, Tone::Good)).collect()),
        Some(Outcome::Failed(error)) => ("error", wrapped(error, below.width.into(), Tone::Must)),
    };
    canvas.rule(below, title);
    canvas.lines(below, &outcome);
    let cell = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
    Some(Position::new(area.x + cell(x - shift), area.y + cell(row - top)))
}

/// A text without its first cells.
fn without_cells(text: &str, cells: usize) -> String {
    let mut rest = text;
    while let Some(c) = rest.chars().next().filter(|_| width_of(text) - width_of(rest) < cells) {
        rest = &rest[c.len_utf8()..];
    }
    rest.to_owned()
}

/// Draws flaws and freedoms.
pub fn flaws(canvas: &mut Canvas<'_>, app: &App, layout: &Layout) -> Option<Position> {
    let (above, below) = layout.choice();
    let screen = &app.switches;
    if screen.all.as_ref().is_none_or(Vec::is_empty) {
        let text = if screen.all.is_none() { "they are being read" } else { "nothing can be switched here" };
        canvas.line(above, 0, &line(text, Tone::Faint));
        return None;
    }
    let found = screen.found();
    list(canvas, above, &screen.list, &found, |Deviation { name, flaw, about, on, .. }| {
        let (mark, tone) = if *on { ("[on] ", Tone::Good) } else { ("[  ] ", Tone::Faint) };
        let sort = if *flaw { "flaw    " } else { "freedom " };
        vec![
            (mark.to_owned(), tone),
            (sort.to_owned(), if *flaw { Tone::Should } else { Tone::Plain }),
            (one_line(name), Tone::Strong),
            (format!(" {}", one_line(about)), Tone::Faint),
        ]
    });
    canvas.rule(below, "");
    let mut lines = vec![];
    if let Some(error) = &screen.error {
        lines.extend(wrapped(&format!("error: {error}"), below.width.into(), Tone::Must));
    }
    if let Some(Deviation { name, about, breaks, .. }) = screen.selected() {
        lines.push(line(one_line(name), Tone::Strong));
        lines.extend(wrapped(about, below.width.into(), Tone::Plain));
        lines.extend(breaks.iter().map(|id| line(format!("breaks {}", one_line(id)), Tone::Should)));
    }
    canvas.lines(below, &lines);
    None
}
