//! AMP: the client and the editor.

pub mod client;
pub mod editor;
