//! Where messages pass that are no plain request and response, and what the query of a request may have: [`Channel`] and
//! [`QueryParameter`]. The documents that describe a protocol to other programs are made of them.

/// What carries the messages of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// A WebSocket: text messages in both directions.
    WebSocket,
    /// An event stream (Server-Sent Events): messages of the server.
    EventStream,
}

/// A connection that stays open, at a target of the server.
#[derive(Clone, Copy, Debug)]
pub struct Channel {
    /// A name, unique in the edition.
    pub name: &'static str,
    /// What carries its messages.
    pub kind: ChannelKind,
    /// The host at which clients look for it, without the port.
    pub host: &'static str,
    /// The path of the request target; `{name}` stands for any segment.
    pub path: &'static str,
    /// The parameters of its query.
    pub query: &'static [QueryParameter],
    /// What it is for, in a sentence.
    pub about: &'static str,
}

/// A parameter of the query of a request target.
#[derive(Clone, Copy, Debug)]
pub struct QueryParameter {
    /// Its name.
    pub name: &'static str,
    /// Whether it has to be there.
    pub required: bool,
    /// The values that it has.
    pub values: QueryValues,
    /// What it means, in a sentence.
    pub about: &'static str,
}

/// The values of a parameter of a query.
#[derive(Clone, Copy, Debug)]
pub enum QueryValues {
    /// Any text.
    Text,
    /// A whole number.
    Integer,
    /// One of these.
    OneOf(&'static [&'static str]),
}
