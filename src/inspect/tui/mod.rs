//! The inspector on a terminal: [`Tui`].
//!
//! The state ([`app`]) takes keys and what the feed tells, and gives what is to be done. The view draws the state on cells. The
//! driver has the terminal: it reads keys, asks the feed and the controls for what the state wants, and redraws what has changed.

mod act;
mod app;
mod details;
mod driver;
mod editor;
mod layout;
mod list;
mod message;
mod screen;
mod source;
mod switches;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text;
mod timeline;
mod view;

pub use driver::Tui;
