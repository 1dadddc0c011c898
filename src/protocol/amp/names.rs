//! What clients can request and servers can notify of, and how an edition calls it.

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
