//! The reference client as a mock.

use crate::peer::http_url::HttpUrl;
use crate::peer::quirks::QuirkRegistry;
use crate::peer::{Begin, Ended, Lines, MockError, MockKind, MockOptions};

use super::quirks::{Effect, Quirks};
use super::{flaws, freedoms, run};

/// The reference client.
pub static MOCK: MockKind = MockKind {
    role: "amplifier-client",
    described: crate::config::Described::default,
    flaws: flaws::all,
    freedoms: freedoms::all,
    begin: Begin::Drive(|options, lines| Box::pin(drive(options, lines))),
    scripted: false,
};

const KNOWN: QuirkRegistry<'static, Effect> = QuirkRegistry { flaw: &flaws::find, freedom: &freedoms::find, names };

async fn drive(options: MockOptions, lines: Lines) -> Result<Ended, MockError> {
    if options.edition != "2025-12-09" {
        return Err(MockError::Option(format!("there is no edition `{}`; there is 2025-12-09", options.edition)));
    }
    let quirks = Quirks::chosen(&options, &KNOWN)?;
    let url = options.url.or_else(|| std::env::var("WIRECERT_URL").ok());
    let url = url.ok_or_else(|| MockError::Option("no server is known: say --url, or set WIRECERT_URL".to_owned()))?;
    let url = HttpUrl::parse(&url).map_err(MockError::Option)?;
    Ok(run::run(url, quirks, options.recorder, lines).await)
}

fn names() -> Vec<&'static str> {
    flaws::all().iter().map(|f| f.name).chain(freedoms::all().iter().map(|f| f.name)).collect()
}
