//! An AMP client: the peer of plays against an editor, and the reference client.
//!
//! Both show the token of an editor in the same way ([`target`]). They differ in who steers them: the steps of a scenario have any
//! number of named connections, send frames and bytes of any kind, and leave what is wrong with a server to the rules (`steps`); the
//! reference client finds an editor, keeps one connection to it, and makes the calls of a driver, where flaws and freedoms can change
//! what it makes of frames (`run`). [`MOCK`] is its descriptor. [`detect`] and [`call`] make
//! requests apart from any play.

use std::time::Duration;

use crate::peer::amp::server::mock::lockfile::{MisreadVariables, data_home};
use crate::peer::{Begin, Ended, Lines, MockError, MockKind, MockOptions, PeerError};
use crate::protocol::amp::editions::AmpEdition;
use crate::protocol::amp::verbs::Encoding;
use crate::uri;
use crate::wire::tcp::{Address, ConnectError};

use self::deviations::{Deviations, TABLE};
use self::discovery::{DiscoverySwitch, SearchScope};
use self::run::AgentSettings;

mod deviations;
mod discovery;
mod handshake;
mod incoming;
mod pending_calls;
mod probe;
mod report;
mod run;
mod search;
mod session;
pub mod steps;

pub use probe::{call, detect};

/// The connection that a step means which names none.
const MAIN: &str = "main";

/// How long the closing handshake may take when a scenario is over.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// The request target with which a client shows its token.
pub fn target(token: Option<&str>, encoding: Encoding) -> String {
    match token {
        None => "/".to_owned(),
        Some(token) => format!("/?auth={}", encode(token, encoding)),
    }
}

/// A token percent-encoded.
pub fn encode(token: &str, encoding: Encoding) -> String {
    match encoding {
        Encoding::Component => uri::encode(token, uri::COMPONENT),
        Encoding::All => uri::encode_all(token),
        Encoding::None => token.to_owned(),
    }
}

/// The subject is up, so a port that refuses connections is its fault; a machine without sockets is not.
fn unreachable(address: &Address, error: ConnectError) -> PeerError {
    match error {
        ConnectError::Broken { .. } => PeerError::Environment(error.to_string()),
        ConnectError::Unreachable { .. } | ConnectError::TimedOut { .. } => PeerError::Unreachable {
            message: error.to_string(),
            proves: "connection/loopback",
            address: address.to_string(),
        },
    }
}

/// The reference client.
pub static MOCK: MockKind = MockKind {
    role: "amp-client",
    flaws: || TABLE.flaws(),
    freedoms: || TABLE.freedoms(),
    described: crate::config::Described::default,
    commands: || &[],
    begin: Begin::Drive(|options, lines| Box::pin(drive(options, lines))),
    scripted: false,
};

async fn drive(options: MockOptions, lines: Lines) -> Result<Ended, MockError> {
    let edition = AmpEdition::of(options.edition);
    let deviations = Deviations::chosen(&options, &TABLE)?;
    let misread = MisreadVariables {
        amp: deviations.has(DiscoverySwitch::IgnoresAmpDataHome),
        xdg: deviations.has(DiscoverySwitch::IgnoresXdg),
        home: deviations.has(DiscoverySwitch::IgnoresHome),
        empty: deviations.has(DiscoverySwitch::TakesEmptyXdg),
        relative: deviations.has(DiscoverySwitch::TakesRelativeXdg),
    };
    let named = options.data_home.or_else(|| data_home(misread, |name| std::env::var_os(name)));
    let data_home =
        named.ok_or_else(|| MockError::Option("there is no data home: say --data-home, or set HOME".to_owned()))?;
    let scope = SearchScope { data_home, workspace: options.workspace };
    Ok(run::run(AgentSettings { edition, scope, deviations, recorder: options.recorder }, lines).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_encoded_as_javascript_does() {
        assert_eq!(target(Some("aZ9-_.!~*'()"), Encoding::Component), "/?auth=aZ9-_.!~*'()");
        assert_eq!(target(Some("a b&c=%+/é"), Encoding::Component), "/?auth=a%20b%26c%3D%25%2B%2F%C3%A9");
        assert_eq!(target(Some("ab"), Encoding::All), "/?auth=%61%62");
        assert_eq!(target(Some("a+b"), Encoding::None), "/?auth=a+b");
        assert_eq!(target(Some(""), Encoding::Component), "/?auth=");
        assert_eq!(target(None, Encoding::Component), "/");
    }
}
