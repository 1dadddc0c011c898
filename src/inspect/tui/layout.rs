//! Where the parts of the screen are: [`Layout`].

use ratatui::layout::Rect;

/// The least screen on which something is drawn.
const LEAST: (u16, u16) = (30, 8);

/// From so many columns on, details are beside the list.
const BESIDE: u16 = 110;

/// From so many rows on, details are below the list.
const BELOW: u16 = 30;

/// The rows below a choice that describe what is selected.
const ABOUT: u16 = 4;

/// The rows below the field of an act that tell what came of it.
const OUTCOME: u16 = 5;

/// Where the parts of the screen are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Everything between the two rows at the top and the one at the bottom.
    pub content: Rect,
    /// The list of events; nothing where the details need the room.
    pub timeline: Option<Rect>,
    /// The details of an event, where they are open.
    pub details: Option<Rect>,
    /// Whether something can be drawn at all.
    pub is_enough: bool,
}

impl Layout {
    /// On a terminal of so many columns and rows.
    pub fn new((columns, rows): (u16, u16), details: bool) -> Self {
        let content = Rect::new(0, 2, columns, rows.saturating_sub(3));
        let (timeline, details) = match details {
            false => (Some(content), None),
            true if columns >= BESIDE => {
                let list = Rect { width: columns / 2, ..content };
                (Some(list), Some(Rect { x: list.width + 1, width: columns - list.width - 1, ..content }))
            }
            true if rows >= BELOW => {
                let list = Rect { height: content.height / 3, ..content };
                let below = list.height + 1;
                let height = content.height.saturating_sub(below);
                (Some(list), Some(Rect { y: content.y + below, height, ..content }))
            }
            true => (None, Some(content)),
        };
        Self { content, timeline, details, is_enough: columns >= LEAST.0 && rows >= LEAST.1 }
    }

    /// How many events are seen.
    pub fn timeline_height(&self) -> usize {
        self.timeline.unwrap_or(self.content).height.into()
    }

    /// How many cells the lines of the details have, and how many lines there are below their heading.
    pub fn details_size(&self) -> (usize, usize) {
        self.details.map_or((0, 0), |area| (area.width.into(), area.height.saturating_sub(1).into()))
    }

    /// The list of findings, and what is said of the selected one.
    pub fn findings(&self) -> (Rect, Rect) {
        split(self.content, self.content.height * 3 / 5)
    }

    /// A list to choose from, and what is said of the selected entry.
    pub fn choice(&self) -> (Rect, Rect) {
        split(self.content, ABOUT)
    }

    /// The field of an act, and what came of it.
    pub fn field(&self) -> (Rect, Rect) {
        let below = Rect { y: self.content.y + 1, height: self.content.height.saturating_sub(1), ..self.content };
        split(below, OUTCOME)
    }
}

/// An area, and another of so many rows below it, with a row between the two.
fn split(area: Rect, below: u16) -> (Rect, Rect) {
    let below = below.min(area.height.saturating_sub(2));
    let above = area.height.saturating_sub(below + 1);
    (Rect { height: above, ..area }, Rect { y: area.y + area.height - below, height: below, ..area })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_beside_the_list_below_it_or_in_its_place() {
        let areas = |size| {
            let layout = Layout::new(size, true);
            (layout.timeline.map(|area| (area.width, area.height)), layout.details.map(|area| (area.x, area.y)))
        };
        assert_eq!(areas((120, 24)), (Some((60, 21)), Some((61, 2))));
        assert_eq!(areas((80, 40)), (Some((80, 12)), Some((0, 15))));
        assert_eq!(areas((60, 16)), (None, Some((0, 2))));
    }

    #[test]
    fn every_part_is_on_the_screen_however_small_that_is() {
        for (columns, rows) in (0..150).flat_map(|columns| (0..45).map(move |rows| (columns, rows))) {
            for layout in [Layout::new((columns, rows), false), Layout::new((columns, rows), true)] {
                let pairs = [layout.findings(), layout.choice(), layout.field()];
                let all = pairs.into_iter().flat_map(|(a, b)| [a, b]).chain(layout.timeline).chain(layout.details);
                for area in all.filter(|area| rows >= 3 && !area.is_empty()) {
                    assert!(area.right() <= columns && area.bottom() < rows, "{columns}x{rows}: {area:?}");
                }
            }
        }
    }
}
