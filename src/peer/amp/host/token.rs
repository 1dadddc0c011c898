//! The secrets of editors.

use base64::Engine as _;

use crate::peer::amp::editor::edition::Edition;

/// A secret that nobody can guess. In the edition `cli`, clients have to percent-encode it in a URL: it has characters
/// that end a query parameter or a query, one that stands for a space there, a space, and what looks like an encoded
/// character. The guide says nothing of that, so there it is plain.
///
/// # Errors
/// What the system said when it was asked for chance.
pub fn make(edition: Edition) -> std::io::Result<String> {
    let mut bytes = [0; 24];
    let mut random = std::fs::File::open("/dev/urandom")?;
    std::io::Read::read_exact(&mut random, &mut bytes)?;
    let chance = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
    if edition == Edition::Guide {
        return Ok(chance);
    }
    let (a, b) = chance.split_at(chance.len() / 2);
    Ok(format!("{a}/+=&#% %2B?{b}"))
}
