//! The mocks: peers that play the other role, and the flaws they can be given.
//!
//! A [`Peer`] performs the verbs of its role's scenarios. What comes back from the subject does not
//! pass through it: its connections write the trace, and expectations read that.

pub mod amp;
pub mod amplifier;
pub mod control;
pub mod deviation;
mod driven;
mod fill;
mod http;
mod interface;
mod lives;
mod mock;
pub mod openctx;
mod params;
pub mod script;

pub use deviation::{Also, Flaw, Freedom};
pub use interface::{
    Announce, Announced, Announcement, Answer, BoxFuture, Detected, Peer, PeerError, PeerKind, Performed, Probe,
    Setting, SubjectDirs, VerbCall,
};
pub use lives::{LivesEnd, drive_lives};
pub use mock::{
    Begin, Draws, Ended, Latency, Lines, Mock, MockError, MockEvent, MockKind, MockOptions, Starting, described, flaws,
    freedoms, mock,
};

/// A format of files: its name, what it is, its JSON Schema.
pub type Format = (&'static str, &'static str, fn() -> serde_json::Value);

/// The formats of files with what mocks give: name, what it is, its JSON Schema.
pub const DATA: &[Format] = &[
    ("agent-script", "what the agent of a mock Amplifier server does", amplifier::server::script::schema),
    ("provider-data", "what a mock of an OpenCtx provider gives", openctx::data::schema),
];

/// The peers, by role.
static KINDS: [PeerKind; 6] = [
    PeerKind {
        role: "amp-server",
        new: |setting| Box::new(amp::client::steps::AmpClientSteps::new(setting)),
        probe: Some(Probe {
            detect: |lock, patience, recorder| Box::pin(amp::client::detect(lock, patience, recorder)),
            call: |setting, method, params| Box::pin(amp::client::call(setting, method, params)),
        }),
        announce: None,
    },
    PeerKind {
        role: "amp-client",
        new: |setting| Box::new(amp::server::steps::AmpServerSteps::new(setting)),
        probe: None,
        announce: Some(amp::server::steps::announce),
    },
    PeerKind {
        role: "openctx-provider",
        new: |setting| Box::new(openctx::client::steps::OpenctxClientSteps::new(setting)),
        probe: Some(Probe {
            detect: |lock, patience, recorder| Box::pin(openctx::client::detect(lock, patience, recorder)),
            call: |setting, method, params| Box::pin(openctx::client::call(setting, method, params)),
        }),
        announce: None,
    },
    PeerKind {
        role: "openctx-client",
        new: |setting| Box::new(openctx::server::steps::OpenctxServerSteps::new(setting)),
        probe: None,
        announce: None,
    },
    PeerKind {
        role: "amplifier-server",
        new: |setting| Box::new(amplifier::client::steps::AmplifierClientSteps::new(setting)),
        probe: Some(Probe {
            detect: |lock, patience, recorder| Box::pin(amplifier::client::detect(lock, patience, recorder)),
            call: |setting, method, params| Box::pin(amplifier::client::call(setting, method, params)),
        }),
        announce: None,
    },
    PeerKind {
        role: "amplifier-client",
        new: |setting| Box::new(amplifier::server::steps::AmplifierServerSteps::new(setting)),
        probe: None,
        announce: None,
    },
];

/// The peer of this role; none where it cannot be played against yet.
pub fn kind(role: &str) -> Option<&'static PeerKind> {
    KINDS.iter().find(|kind| kind.role == role)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use crate::protocol;
    use crate::trace::{Clock, Recorder};

    use super::*;

    fn setting(role: &str, folder: &std::path::Path) -> Setting {
        let (protocol, _) = protocol::role(role).expect("the role is there");
        let folder = folder.to_owned();
        Setting {
            edition: protocol.default_edition(),
            recorder: Recorder::new(Clock::start(), vec![]),
            server: None,
            patience: Duration::from_secs(5),
            longest: None,
            place: Some(SubjectDirs { root: folder.clone(), home: folder.clone(), data_home: folder }),
            settings: None,
            described: crate::config::Described::default(),
            folder: None,
        }
    }

    #[tokio::test]
    async fn the_peer_of_a_judged_play_has_no_flaw_and_takes_no_freedom() {
        let folder = tempfile::tempdir().unwrap();
        for kind in &KINDS {
            for params in [json!({}), json!({"answers": "none"})] {
                let Value::Object(params) = params else { panic!("an object") };
                let mut peer = (kind.new)(setting(kind.role, folder.path()));
                if kind.role.ends_with("-client") {
                    let call = VerbCall { verb: "serve", params: &params, step: "step 1" };
                    peer.perform(call).await.unwrap();
                }
                assert_eq!(peer.deviations(), [""; 0], "{}", kind.role);
                peer.finish().await;
            }
        }
    }
}
