//! Draws the state: [`draw`]. Nothing here changes it.

mod lists;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};

use super::act::Step;
use super::app::{App, Screen};
use super::details::Details;
use super::layout::Layout;
use super::list::Purpose;
use super::text::{TextLine, Tone, fit, line, one_line, pad, width_of};

/// The keys, as the screen `?` lists them.
const KEYS: [(&str, &str); 13] = [
    ("1 to 5, Tab", "show a screen"),
    ("Up Down PgUp PgDn", "move, scroll; also k and j"),
    ("Home End", "the first, the newest; also g and G"),
    ("Enter", "details; choose; go to the event"),
    ("Left Right", "in details: the event before, after"),
    ("a", "in details: change it, do it again"),
    ("/", "search; in a list: find"),
    ("c", "only these connections; * is any text"),
    ("f p d", "only findings; pieces; each delta"),
    ("Esc", "close details; clear the filter; back"),
    ("Space", "pause the list; switch a flaw"),
    ("Ctrl-D F5, r", "do the act; read the state again"),
    ("q, Ctrl-C", "end; the exit code is 0, or 130"),
];

/// How tones look.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    /// Whether there are colours.
    pub colored: bool,
}

impl Theme {
    fn style(self, tone: Tone) -> Style {
        let style = Style::new();
        let colored = |color| if self.colored { style.fg(color) } else { style };
        match tone {
            Tone::Plain => style,
            Tone::Strong => style.add_modifier(Modifier::BOLD),
            Tone::Faint => style.add_modifier(Modifier::DIM),
            Tone::Must => colored(Color::Red).add_modifier(Modifier::BOLD),
            Tone::Should => colored(Color::Yellow),
            Tone::May => colored(Color::Cyan),
            Tone::Good => colored(Color::Green),
        }
    }
}

/// A part of the screen that is drawn on.
struct Canvas<'b> {
    buffer: &'b mut Buffer,
    theme: Theme,
}

impl Canvas<'_> {
    /// Draws a line in a row of an area; what has no room is left out.
    fn line(&mut self, area: Rect, row: usize, parts: &TextLine) {
        let Ok(row) = u16::try_from(row) else { return };
        if row >= area.height {
            return;
        }
        let (mut x, y) = (area.x, area.y + row);
        for (text, tone) in parts {
            let room = area.right().saturating_sub(x);
            (x, _) = self.buffer.set_stringn(x, y, fit(text, room.into()), room.into(), self.theme.style(*tone));
        }
    }

    /// Draws lines from the top of an area.
    fn lines<'l>(&mut self, area: Rect, lines: impl IntoIterator<Item = &'l TextLine>) {
        for (row, line) in lines.into_iter().take(area.height.into()).enumerate() {
            self.line(area, row, line);
        }
    }

    /// Shows a row of an area as the selected one.
    fn select(&mut self, area: Rect, row: usize) {
        let Ok(row) = u16::try_from(row) else { return };
        if row < area.height {
            let area = Rect { y: area.y + row, height: 1, ..area };
            self.buffer.set_style(area, Style::new().add_modifier(Modifier::REVERSED));
        }
    }

    /// Draws a line between two areas, above the second one, with a title in it.
    fn rule(&mut self, below: Rect, title: &str) {
        let area = Rect { y: below.y.saturating_sub(1), height: 1, ..below };
        let title = if title.is_empty() { String::new() } else { format!(" {title} ") };
        let width = usize::from(area.width).saturating_sub(2);
        let title = fit(&title, width);
        let rest = "─".repeat(width.saturating_sub(width_of(&title)));
        self.line(area, 0, &vec![("──".to_owned(), Tone::Faint), (title, Tone::Strong), (rest, Tone::Faint)]);
    }
}

/// Draws the state on a screen, and gives where the cursor is, where there is one.
pub fn draw(app: &App, theme: Theme, buffer: &mut Buffer) -> Option<Position> {
    let area = buffer.area;
    let layout = Layout::new((area.width, area.height), app.details.is_some());
    let mut canvas = Canvas { buffer, theme };
    if !layout.is_enough {
        canvas.line(area, 0, &line("the terminal is too small", Tone::Plain));
        return None;
    }
    title(&mut canvas, app, Rect { height: 1, ..area });
    tabs(&mut canvas, app, Rect { y: 1, height: 1, ..area });
    let bottom = Rect { y: area.height - 1, height: 1, ..area };
    if app.help {
        let width = usize::from(area.width).min(20);
        let rows = KEYS.map(|(keys, what)| vec![(pad(keys, width), Tone::Strong), (what.to_owned(), Tone::Plain)]);
        canvas.lines(layout.content, &rows);
        canvas.line(bottom, 0, &line("any key: back", Tone::Faint));
        return None;
    }
    let cursor = match app.screen {
        Screen::Timeline => {
            if let Some(area) = layout.timeline {
                lists::timeline(&mut canvas, app, area);
            }
            if let (Some(area), Some(shown)) = (layout.details, &app.details) {
                details(&mut canvas, shown, &layout, area);
            }
            None
        }
        Screen::Findings => lists::findings(&mut canvas, app, &layout),
        Screen::Act if app.act.step == Step::Edit => lists::field(&mut canvas, app, &layout),
        Screen::Act => lists::acts(&mut canvas, app, &layout),
        Screen::Flaws => lists::flaws(&mut canvas, app, &layout),
        Screen::State => {
            canvas.lines(layout.content, app.state.lines.iter().skip(app.state.scroll.top));
            None
        }
    };
    status(&mut canvas, app, bottom).or(cursor)
}

fn title(canvas: &mut Canvas<'_>, app: &App, area: Rect) {
    let place = ["url", "lockfile", "port"].iter().find_map(|name| app.place.get(name));
    let place = place.map(|place| place.as_str().map_or_else(|| place.to_string(), one_line)).unwrap_or_default();
    let text = format!("{}{}{place}", app.title, if place.is_empty() { "" } else { " · " });
    // The place is worth more than our name.
    let named = format!("wirecert · {text}");
    let text = if width_of(&named) <= area.width.into() { named } else { text };
    canvas.line(area, 0, &line(pad(&text, area.width.into()), Tone::Strong));
    canvas.select(area, 0);
}

fn tabs(canvas: &mut Canvas<'_>, app: &App, area: Rect) {
    let mut parts = vec![];
    for (n, screen) in (1..).zip(Screen::ALL) {
        let count = match screen {
            Screen::Findings => app.live.findings,
            Screen::Flaws => app.switches.on() as u64,
            _ => 0,
        };
        let name = screen.name();
        let name = if count > 0 { format!("{n} {name} {count}") } else { format!("{n} {name}") };
        let is_seen = screen == app.screen;
        let tone = match screen {
            Screen::Findings if count > 0 => Tone::Must,
            _ if is_seen => Tone::Strong,
            _ => Tone::Faint,
        };
        parts.push((if is_seen { format!("[{name}]") } else { format!(" {name} ") }, tone));
    }
    parts.push((" ? keys".to_owned(), Tone::Faint));
    canvas.line(area, 0, &parts);
}

fn status(canvas: &mut Canvas<'_>, app: &App, area: Rect) -> Option<Position> {
    let Some(prompt) = &app.prompt else {
        let text = match app.screen {
            Screen::Timeline => one_line(&app.timeline.status(&app.live)),
            Screen::Findings => "Enter: the event".to_owned(),
            Screen::Act => match app.act.step {
                Step::Act => found("Enter: choose", &app.act.search),
                Step::Example => "Enter: choose · Esc: another act".to_owned(),
                Step::Edit => "Ctrl-D or F5: do it · Esc: back".to_owned(),
            },
            Screen::Flaws => found("Space: switch", &app.switches.search),
            Screen::State => "r: read it again".to_owned(),
        };
        canvas.line(area, 0, &line(text, Tone::Faint));
        return None;
    };
    let name = match prompt.purpose {
        Purpose::Search => "search",
        Purpose::Connection => "connection",
        Purpose::Find => "find",
    };
    // The end is seen of a text that has no room.
    let room = usize::from(area.width).saturating_sub(name.len() + 4);
    let mut text = one_line(&prompt.text);
    while width_of(&text) > room {
        text.remove(0);
    }
    let before = format!("{name}: ");
    let x = width_of(&before) + width_of(&text);
    canvas.line(area, 0, &vec![(before, Tone::Strong), (text, Tone::Plain)]);
    Some(Position::new(u16::try_from(x).unwrap_or(area.width), area.y))
}

fn found(keys: &str, search: &str) -> String {
    if search.is_empty() { format!("{keys} · /: find") } else { format!("{keys} · found: {}", one_line(search)) }
}

fn details(canvas: &mut Canvas<'_>, shown: &Details, layout: &Layout, area: Rect) {
    let (count, top) = (shown.lines.len(), shown.scroll.top);
    let rest = count.saturating_sub(top + shown.scroll.height);
    let more = if rest > 0 { format!(" · {rest} more lines") } else { String::new() };
    let heading = format!("event {}{more}", shown.i);
    if layout.timeline.is_some_and(|list| list.y < area.y && list.x == area.x) {
        canvas.rule(area, "");
    } else if area.x > 0 {
        for y in area.y..area.bottom() {
            let between = Rect::new(area.x - 1, y, 1, 1);
            canvas.line(between, 0, &line("│", Tone::Faint));
        }
    }
    canvas.line(area, 0, &line(heading, Tone::Strong));
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    canvas.lines(below, shown.lines.iter().skip(top));
}
