//! The two editions' words for the same things.

/// A dated description of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edition {
    /// What Amp's own CLI and the editors' plugins exchange.
    Cli,
    /// The published quick reference.
    Guide,
}

impl Edition {
    /// The edition of this id.
    pub fn parse(id: &str) -> Option<Self> {
        match id {
            "cli" => Some(Self::Cli),
            "guide" => Some(Self::Guide),
            _ => None,
        }
    }

    /// Its id.
    pub fn id(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Guide => "guide",
        }
    }
}

/// What a client can ask for.
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
    /// The method of this name, if the edition has it.
    pub fn parse(edition: Edition, name: &str) -> Option<Self> {
        let all = [Self::Ping, Self::Authenticate, Self::ReadFile, Self::EditFile, Self::GetDiagnostics, Self::OpenUri];
        let has = |m: &Self| edition == Edition::Cli || !matches!(m, Self::Ping | Self::Authenticate);
        all.into_iter().find(|m| m.name() == name && has(m))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Authenticate => "authenticate",
            Self::ReadFile => "readFile",
            Self::EditFile => "editFile",
            Self::GetDiagnostics => "getDiagnostics",
            Self::OpenUri => "openURI",
        }
    }
}

/// What clients are notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotificationKind {
    Selection,
    VisibleFiles,
    Message,
    Prompt,
    Metadata,
}

impl NotificationKind {
    /// The name of the notification, if the edition has it.
    pub fn name(self, edition: Edition) -> Option<&'static str> {
        match (self, edition) {
            (Self::Selection, Edition::Cli) => Some("selectionDidChange"),
            (Self::Selection, Edition::Guide) => Some("selectionChanged"),
            (Self::VisibleFiles, Edition::Cli) => Some("visibleFilesDidChange"),
            (Self::VisibleFiles, Edition::Guide) => Some("visibleFilesChanged"),
            (Self::Message, Edition::Cli) => Some("userSentMessage"),
            (Self::Prompt, Edition::Cli) => Some("appendToPrompt"),
            (Self::Metadata, Edition::Cli) => Some("pluginMetadata"),
            (Self::Message | Self::Prompt | Self::Metadata, Edition::Guide) => None,
        }
    }
}
