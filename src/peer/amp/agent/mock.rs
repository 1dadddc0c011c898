//! The reference client as a mock.

use crate::peer::amp::editor::lockfile::{IgnoredVariables, data_home};
use crate::peer::quirks::QuirkRegistry;
use crate::peer::{Begin, Ended, Lines, MockError, MockKind, MockOptions};
use crate::protocol::amp::editions::AmpEdition;

use super::discovery::SearchScope;
use super::quirks::{AgentEffect, Quirks, Switch};
use super::run::{self, AgentSettings};
use super::{flaws, freedoms};

/// The reference client.
pub static MOCK: MockKind = MockKind {
    role: "amp-client",
    flaws: flaws::all,
    freedoms: freedoms::all,
    described: crate::config::Described::default,
    begin: Begin::Drive(|options, lines| Box::pin(drive(options, lines))),
    scripted: false,
};

async fn drive(options: MockOptions, lines: Lines) -> Result<Ended, MockError> {
    let edition = AmpEdition::of(options.edition);
    let quirks = with_registry(edition, |with_registry| Quirks::chosen(&options, with_registry))?;
    let ignored = IgnoredVariables {
        amp: quirks.has(Switch::IgnoresAmpDataHome),
        xdg: quirks.has(Switch::IgnoresXdg),
        home: quirks.has(Switch::IgnoresHome),
    };
    let named = options.data_home.or_else(|| data_home(ignored, |name| std::env::var_os(name)));
    let data_home =
        named.ok_or_else(|| MockError::Option("there is no data home: say --data-home, or set HOME".to_owned()))?;
    let scope = SearchScope { data_home, workspace: options.workspace };
    Ok(run::run(AgentSettings { edition, scope, quirks, recorder: options.recorder }, lines).await)
}

/// Does something with what can be different about it in an edition.
fn with_registry<T>(edition: &AmpEdition, use_registry: impl FnOnce(&QuirkRegistry<'_, AgentEffect>) -> T) -> T {
    let names = || flaws::all().iter().map(|f| f.name).chain(freedoms::all().iter().map(|f| f.name)).collect();
    use_registry(&QuirkRegistry {
        flaw: &|name| flaws::find(edition, name),
        freedom: &|name| freedoms::find(edition, name),
        names,
    })
}
