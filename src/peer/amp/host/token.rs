//! The secrets of editors.

use base64::Engine as _;

/// A secret that nobody can guess, of characters that stand for themselves in a URL. Scenarios about what has to be encoded say
/// their own ones, so that a client that does not encode fails there and nowhere else.
///
/// # Errors
/// What the system said when it was asked for chance.
pub fn make() -> std::io::Result<String> {
    let mut bytes = [0; 24];
    let mut random = std::fs::File::open("/dev/urandom")?;
    std::io::Read::read_exact(&mut random, &mut bytes)?;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
}
