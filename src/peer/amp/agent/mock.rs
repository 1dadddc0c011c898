//! The reference client as a mock.

use crate::peer::{Begin, Ended, Lines, MockError, MockKind, MockOptions};

use super::super::data_home::{Overlooked, data_home};
use super::super::editor::edition::Edition;
use super::discovery::Place;
use super::quirks::{Quirk, Quirks, Switch};
use super::run::{self, Settings};
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
    let edition = Edition::parse(&options.edition).ok_or_else(|| {
        MockError::Option(format!("there is no edition `{}`; there are cli and guide", options.edition))
    })?;
    let quirks = quirks(edition, &options)?;
    let overlooked = Overlooked {
        amp: quirks.has(Switch::IgnoresAmpDataHome),
        xdg: quirks.has(Switch::IgnoresXdg),
        home: quirks.has(Switch::IgnoresHome),
    };
    let named = options.data_home.or_else(|| data_home(overlooked, |name| std::env::var_os(name)));
    let data_home =
        named.ok_or_else(|| MockError::Option("there is no data home: say --data-home, or set HOME".to_owned()))?;
    let place = Place { data_home, workspace: options.workspace };
    Ok(run::run(Settings { edition, place, quirks, recorder: options.recorder }, lines).await)
}

fn quirks(edition: Edition, options: &MockOptions) -> Result<Quirks, MockError> {
    let of = |kind, known: fn(Edition, &str) -> Option<Quirk>, names: &[String]| {
        let find = |name: &String| known(edition, name).ok_or_else(|| MockError::Option(unknown(kind, name)));
        names.iter().map(find).collect::<Result<Vec<_>, _>>()
    };
    let mut all = of("flaw", flaws::find, &options.flaws)?;
    all.extend(of("freedom", freedoms::find, &options.freedoms)?);
    Ok(Quirks::new(all))
}

fn unknown(kind: &str, name: &str) -> String {
    let names = flaws::all().iter().map(|f| f.name).chain(freedoms::all().iter().map(|f| f.name));
    match crate::diagnostic::nearest(name, names) {
        Some(near) => format!("there is no {kind} `{name}` in this edition; did you mean `{near}`?"),
        None => format!("there is no {kind} `{name}` in this edition; --list-flaws lists them all"),
    }
}
