//! [`AmpEdition`]: what can differ between editions of AMP, as data; the names of its methods and notifications among it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;

use serde_json::Value;

use crate::matcher::Schemas;
use crate::protocol::amp::envelope::{self, Envelope};
use crate::protocol::amp::lockfile::{self, LockfileFormat};
use crate::protocol::amp::observer::AmpObserver;
use crate::protocol::amp::to_scenario::{ClientToScenario, ServerToScenario};
use crate::protocol::amp::{rules, samples};
use crate::protocol::edition::SchemaFolder;
use crate::protocol::sample::{Example, Flow, MessageType, SampleStep};
use crate::protocol::scenario_element::TraceToScenario;
use crate::protocol::{
    Channel, ChannelKind, Edition, Lock, MessageSummary, Observer, QueryParameter, QueryValues, Rule,
};
use crate::trace::{End, Event};

use super::ALL;

/// An edition of AMP.
#[derive(Clone, Copy)]
pub struct AmpEdition {
    /// The id.
    pub id: &'static str,
    /// What sets the edition apart, in a sentence.
    pub about: &'static str,
    /// The id of the edition whose requirements hold for this one as well, where it has none of its own.
    pub like: Option<&'static str>,
    /// The form of whole messages.
    pub envelope: Envelope,
    /// The methods.
    pub methods: MethodNames,
    /// The notifications.
    pub notifications: NotificationNames,
    /// Folders of schemas. Of schemas that are called alike, the first counts.
    pub schemas: &'static [&'static SchemaFolder],
    /// The lockfile.
    pub lockfile: LockfileFormat,
    /// The host to which clients connect.
    pub host: &'static str,
    /// Whether it is left open how the token is encoded in the URL: a form has a plus sign for a space.
    pub open_token_encoding: bool,
    /// Whether the id of a request may be a number.
    pub numeric_ids: bool,
    /// Whether the form of a failure is left open: as an `error` that is no object, or a result that explains it. Then a
    /// null `error` is none.
    pub open_failures: bool,
    /// Whether paths in parameters have to be absolute.
    pub absolute_paths: bool,
    /// The results of methods that can fail.
    pub results: ResultForm,
    /// The parameters of `editFile`.
    pub edits: EditForm,
    /// The parameters and the result of `getDiagnostics`.
    pub diagnostics: DiagnosticsForm,
    /// How notifications say which files they are about, and which text.
    pub places: PlaceForm,
}

/// The form of results of methods that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultForm {
    /// Each has `success`, and `message` where that is false.
    Flagged,
    /// That of `readFile` has the content alone.
    Bare,
}

/// What `editFile` replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditForm {
    /// The whole text, by `fullContent`.
    WholeText,
    /// The bytes from `start` to `end`, by `newText`.
    ByteRange,
}

/// What `getDiagnostics` gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagnosticsForm {
    /// `entries`, one for each file at or below `path`.
    EntriesOfPath,
    /// A list of all diagnostics, whose form is left open.
    AllItems,
}

/// How a notification names a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceForm {
    /// By URIs and ranges: `uri` with `selections`, and `uris`.
    Ranges,
    /// By paths and positions: `path` with `start` and `end`, and `files`.
    Positions,
}

impl AmpEdition {
    /// The edition of AMP that is meant; the first one where it is none of them.
    pub fn of(edition: &dyn Edition) -> &'static Self {
        ALL.into_iter().find(|own| own.id == edition.id()).unwrap_or(ALL[0])
    }

    /// The method of this name.
    pub fn method(&self, name: &str) -> Option<Method> {
        Method::ALL.into_iter().find(|method| self.methods.of(*method) == Some(name))
    }

    /// The kind of the notifications of this name.
    pub fn notification(&self, name: &str) -> Option<NotificationKind> {
        NotificationKind::ALL.into_iter().find(|kind| self.notifications.of(*kind) == Some(name))
    }

    /// The names of the methods.
    pub fn method_names(&self) -> impl Iterator<Item = &'static str> {
        Method::ALL.into_iter().filter_map(|method| self.methods.of(method))
    }

    /// The names of the notifications.
    pub fn notification_names(&self) -> impl Iterator<Item = &'static str> {
        NotificationKind::ALL.into_iter().filter_map(|kind| self.notifications.of(kind))
    }

    /// The schema in the file of this name.
    fn schema_in(&self, file: &str) -> Option<&'static Value> {
        self.schemas.iter().find_map(|folder| folder.get(file))
    }

    /// The parameters of a method, by its schema.
    pub fn params(&self, method: Method) -> impl Iterator<Item = &'static str> {
        let schema = self.schema_in(&format!("{}.params", method.area()));
        let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
        properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str))
    }
}

impl Schemas for AmpEdition {
    fn schema(&self, name: &str) -> Option<&'static Value> {
        let file = match name.split_once('.') {
            None => Cow::Borrowed(name),
            Some((of, "data")) => format!("{}.data", self.notification(of)?.area()).into(),
            Some((of, part)) => format!("{}.{part}", self.method(of)?.area()).into(),
        };
        self.schema_in(&file)
    }

    fn names(&self) -> Vec<String> {
        let methods = self.method_names().flat_map(|name| [format!("{name}.params"), format!("{name}.result")]);
        let notifications = self.notification_names().map(|name| format!("{name}.data"));
        let files = self.schemas.iter().flat_map(|folder| folder.names()).filter(|file| !file.contains('.'));
        let all = methods.chain(notifications).chain(files.map(str::to_owned));
        BTreeSet::from_iter(all.filter(|name| self.schema(name).is_some())).into_iter().collect()
    }
}

impl Edition for AmpEdition {
    fn id(&self) -> &'static str {
        self.id
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn rules(&'static self) -> Vec<Box<dyn Rule>> {
        rules::of(self)
    }

    fn observer(&'static self, subject: End) -> Box<dyn Observer> {
        Box::new(AmpObserver::new(self, subject))
    }

    fn to_scenario(&'static self, subject: End) -> Box<dyn TraceToScenario> {
        match subject {
            End::Server => Box::new(ServerToScenario::new(self)),
            End::Client => Box::new(ClientToScenario::new(self)),
        }
    }

    fn summarize<'a>(&self, event: &'a Event) -> Option<MessageSummary<'a>> {
        envelope::summarize(self, event)
    }

    fn message_types(&self) -> Vec<MessageType> {
        samples::types(self)
    }

    fn conversation(&self, message: &MessageType, body: &Value, example: Example<'_>) -> Vec<SampleStep> {
        samples::around(self, message, body, example)
    }

    fn flows(&self, example: Example<'_>) -> Vec<Flow> {
        samples::flows(self, example)
    }

    fn channels(&self) -> Vec<Channel> {
        const TOKEN: &[QueryParameter] = &[QueryParameter {
            name: "auth",
            required: true,
            values: QueryValues::Text,
            about: "The `authToken` of the server's lockfile.",
        }];
        vec![Channel {
            name: "main",
            kind: ChannelKind::WebSocket,
            host: self.host,
            path: "/",
            query: TOKEN,
            about: "All messages between a client and an editor.",
        }]
    }

    fn refusal(&self, message: &Value) -> Option<Value> {
        envelope::refusal(self, message)
    }

    fn read_lockfile(&self, content: &[u8]) -> Result<Lock, String> {
        lockfile::read(self.lockfile.members, content)
    }

    fn may_know_home_only(&self) -> bool {
        self.lockfile.may_know_home_only
    }

    fn ports(&self) -> Option<RangeInclusive<u16>> {
        self.lockfile.ports.map(|(first, last)| first..=last)
    }
}

impl fmt::Debug for AmpEdition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// A method that a client can request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Ping,
    Authenticate,
    ReadFile,
    EditFile,
    GetDiagnostics,
    OpenUri,
}

impl Method {
    /// Every method that some edition has.
    pub const ALL: [Self; 6] =
        [Self::Ping, Self::Authenticate, Self::ReadFile, Self::EditFile, Self::GetDiagnostics, Self::OpenUri];

    /// The area of the requirements about the method, by which its schemas are called as well.
    pub fn area(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Authenticate => "authenticate",
            Self::ReadFile => "read-file",
            Self::EditFile => "edit-file",
            Self::GetDiagnostics => "diagnostics",
            Self::OpenUri => "open-uri",
        }
    }

    /// The capability that consists of this method.
    pub fn capability(self) -> Option<&'static str> {
        match self {
            Self::Authenticate => Some("authenticate"),
            Self::GetDiagnostics => Some("diagnostics"),
            Self::OpenUri => Some("open_uri"),
            Self::Ping | Self::ReadFile | Self::EditFile => None,
        }
    }
}

/// A kind of notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotificationKind {
    Selection,
    VisibleFiles,
    Message,
    Prompt,
    Metadata,
}

impl NotificationKind {
    /// Every kind that some edition has.
    pub const ALL: [Self; 5] = [Self::Selection, Self::VisibleFiles, Self::Message, Self::Prompt, Self::Metadata];

    /// The area of the requirements about the notification, by which its schema is called as well.
    pub fn area(self) -> &'static str {
        match self {
            Self::Selection => "selection",
            Self::VisibleFiles => "visible-files",
            Self::Message => "message",
            Self::Prompt => "prompt",
            Self::Metadata => "metadata",
        }
    }
}

/// The names of methods on the wire; none of those that the edition does not have.
#[derive(Clone, Copy)]
pub struct MethodNames {
    pub ping: Option<&'static str>,
    pub authenticate: Option<&'static str>,
    pub read_file: Option<&'static str>,
    pub edit_file: Option<&'static str>,
    pub get_diagnostics: Option<&'static str>,
    pub open_uri: Option<&'static str>,
}

impl MethodNames {
    /// The name of a method.
    pub fn of(&self, method: Method) -> Option<&'static str> {
        match method {
            Method::Ping => self.ping,
            Method::Authenticate => self.authenticate,
            Method::ReadFile => self.read_file,
            Method::EditFile => self.edit_file,
            Method::GetDiagnostics => self.get_diagnostics,
            Method::OpenUri => self.open_uri,
        }
    }
}

/// The names of notifications on the wire; none of those that the edition does not have.
#[derive(Clone, Copy)]
pub struct NotificationNames {
    pub selection: Option<&'static str>,
    pub visible_files: Option<&'static str>,
    pub message: Option<&'static str>,
    pub prompt: Option<&'static str>,
    pub metadata: Option<&'static str>,
}

impl NotificationNames {
    /// The name of a kind of notification.
    pub fn of(&self, kind: NotificationKind) -> Option<&'static str> {
        match kind {
            NotificationKind::Selection => self.selection,
            NotificationKind::VisibleFiles => self.visible_files,
            NotificationKind::Message => self.message,
            NotificationKind::Prompt => self.prompt,
            NotificationKind::Metadata => self.metadata,
        }
    }
}
