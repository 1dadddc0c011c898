//! A trace in memory.

use std::sync::{Arc, Mutex};

use wirecert::trace::{Clock, Direction, End, Event, EventKind, Frame, Recorder, Sink};
use wirecert::wire::Tap;

/// Clones share it.
#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Vec<Event>>>);

impl Sink for Kept {
    fn event(&mut self, event: &Arc<Event>) {
        self.0.lock().expect("no test panics in here").push(Event::clone(event));
    }
}

impl Kept {
    pub fn tap(&self, us: End) -> Tap {
        Tap::new(Recorder::new(Clock::start(), vec![Box::new(self.clone())]), "main", us)
    }

    pub fn events(&self) -> Vec<Event> {
        self.0.lock().expect("no test panics in here").clone()
    }

    /// The frames that went this way.
    pub fn frames(&self, dir: Direction) -> Vec<Frame> {
        let frame = |event: Event| match event.kind {
            EventKind::Frame(frame) if event.dir == Some(dir) => Some(frame),
            _ => None,
        };
        self.events().into_iter().filter_map(frame).collect()
    }

    /// The code and the reason of the first close frame that went this way; 1005 stands for none, as in RFC 6455.
    pub fn close(&self, dir: Direction) -> Option<(u16, String)> {
        let frame = self.frames(dir).into_iter().find(|frame| frame.opcode == 8)?;
        match frame.payload.as_bytes() {
            [a, b, reason @ ..] => {
                Some((u16::from_be_bytes([*a, *b]), String::from_utf8(reason.to_vec()).expect("reasons are text")))
            }
            _ => Some((1005, String::new())),
        }
    }
}
