//! The reference client as a mock.

use crate::peer::http_url::HttpUrl;
use crate::peer::{Begin, Ended, Lines, MockError, MockKind, MockOptions};

use super::quirks::{Quirk, Quirks};
use super::{flaws, freedoms, run};

/// The reference client.
pub static MOCK: MockKind = MockKind {
    role: "openctx-client",
    flaws: flaws::all,
    freedoms: freedoms::all,
    described: crate::config::Described::default,
    begin: Begin::Drive(|options, lines| Box::pin(drive(options, lines))),
};

async fn drive(options: MockOptions, lines: Lines) -> Result<Ended, MockError> {
    if options.edition != "0.1" {
        return Err(MockError::Option(format!("there is no edition `{}`; there is 0.1", options.edition)));
    }
    let quirks = quirks(&options)?;
    let url = options.url.or_else(|| std::env::var("WIRECERT_URL").ok());
    let url =
        url.ok_or_else(|| MockError::Option("no provider is known: say --url, or set WIRECERT_URL".to_owned()))?;
    let url = HttpUrl::parse(&url).map_err(MockError::Option)?;
    Ok(run::run(url, quirks, options.recorder, lines).await)
}

fn quirks(options: &MockOptions) -> Result<Quirks, MockError> {
    let of = |kind, known: fn(&str) -> Option<Quirk>, names: &[String]| {
        let find = |name: &String| known(name).ok_or_else(|| MockError::Option(unknown(kind, name)));
        names.iter().map(find).collect::<Result<Vec<_>, _>>()
    };
    let mut all = of("flaw", flaws::find, &options.flaws)?;
    all.extend(of("freedom", freedoms::find, &options.freedoms)?);
    Ok(Quirks::new(all))
}

fn unknown(kind: &str, name: &str) -> String {
    let names = flaws::all().iter().map(|f| f.name).chain(freedoms::all().iter().map(|f| f.name));
    match crate::diagnostic::nearest(name, names) {
        Some(near) => format!("there is no {kind} `{name}`; did you mean `{near}`?"),
        None => format!("there is no {kind} `{name}`; --list-flaws lists them all"),
    }
}
