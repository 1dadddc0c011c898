//! The reference client: plays `amp-client`, driven by lines on stdin and stdout.
//!
//! [`run::run`](super::run::run) is the main loop: it looks for an editor, keeps a connection to it, makes the calls that the driver
//! sends, and reports their outcomes. Flaws and freedoms change its behaviour in small ways. [`MOCK`] is the descriptor of
//! the mock.

use crate::peer::amp::server::mock::lockfile::{IgnoredVariables, data_home};
use crate::peer::{Begin, Ended, Lines, MockError, MockKind, MockOptions};
use crate::protocol::amp::editions::AmpEdition;

use super::deviations::{Deviations, TABLE};
use super::discovery::{DiscoverySwitch, SearchScope};
use super::run::{self, AgentSettings};

/// The reference client.
pub static MOCK: MockKind = MockKind {
    role: "amp-client",
    flaws: || TABLE.flaws(),
    freedoms: || TABLE.freedoms(),
    described: crate::config::Described::default,
    begin: Begin::Drive(|options, lines| Box::pin(drive(options, lines))),
    scripted: false,
};

async fn drive(options: MockOptions, lines: Lines) -> Result<Ended, MockError> {
    let edition = AmpEdition::of(options.edition);
    let deviations = Deviations::chosen(&options, &TABLE)?;
    let ignored = IgnoredVariables {
        amp: deviations.has(DiscoverySwitch::IgnoresAmpDataHome),
        xdg: deviations.has(DiscoverySwitch::IgnoresXdg),
        home: deviations.has(DiscoverySwitch::IgnoresHome),
    };
    let named = options.data_home.or_else(|| data_home(ignored, |name| std::env::var_os(name)));
    let data_home =
        named.ok_or_else(|| MockError::Option("there is no data home: say --data-home, or set HOME".to_owned()))?;
    let scope = SearchScope { data_home, workspace: options.workspace };
    Ok(run::run(AgentSettings { edition, scope, deviations, recorder: options.recorder }, lines).await)
}
