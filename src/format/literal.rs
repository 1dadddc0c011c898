//! Times and bytes as people write them: in scenarios, subject files and options alike.

use std::time::Duration;

/// The longest time that anybody may be told to wait.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A time such as `200ms`, `1.5s`, `2m` or `1h`; a unit is required.
///
/// # Errors
/// What is wrong with the text, as a fragment.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let number_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(number_end);
    let number: f64 = number.parse().map_err(|_| format!("`{text}` is no time: write it as `200ms`, `2s` or `1m`"))?;
    let seconds = match unit {
        "us" => number / 1e6,
        "ms" => number / 1e3,
        "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        "" => return Err(format!("`{text}` needs a unit: `{text}ms` or `{text}s`")),
        _ => return Err(format!("`{unit}` is no unit of time: use `us`, `ms`, `s`, `m` or `h`")),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("`{text}` is too long a time"))
}

/// A time to wait: more than none, and no more than a day.
///
/// # Errors
/// What is wrong with the text, as a fragment.
pub fn parse_bound(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("expected more than no time".to_owned()),
        time if time > DAY => Err("expected no more than a day".to_owned()),
        time => Ok(time),
    }
}

/// The longest that a mock may be told to take for something.
const LONGEST_DELAY: Duration = Duration::from_secs(3600);

/// A time that something takes: none, or up to an hour.
pub fn parse_delay(text: &str) -> Option<Duration> {
    parse_duration(text).ok().filter(|time| *time <= LONGEST_DELAY)
}

/// The bounds of the time that something takes, `20ms..1s`; one time is both.
pub fn parse_delay_range(text: &str) -> Option<(Duration, Duration)> {
    match text.split_once("..") {
        None => parse_delay(text).map(|time| (time, time)),
        Some((least, most)) => Some((parse_delay(least)?, parse_delay(most)?)).filter(|(least, most)| least <= most),
    }
}

/// A size in bytes: `512`, `64KiB`, `1MiB`.
pub fn parse_size(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().ok()?;
    let scale: u64 = match unit {
        "" | "B" => 1,
        "KiB" => 1024,
        "MiB" => 1024 * 1024,
        _ => return None,
    };
    let is_valid = number.fract() == 0.0 && (0.0..=1e9).contains(&number);
    // A whole number within these bounds is exact in both types.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    is_valid.then(|| number as u64 * scale)
}

/// Whether a text begins with a scheme (RFC 3986 section 3.1).
pub fn has_scheme(uri: &str) -> bool {
    uri.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    })
}

/// Bytes from hexadecimal digits, two a byte; white space between bytes is free.
///
/// # Errors
/// What is wrong with the text, as a fragment.
pub fn parse_hex(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = vec![];
    for group in text.split_ascii_whitespace() {
        if !group.len().is_multiple_of(2) || !group.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(format!("`{group}` is not made of pairs of hexadecimal digits"));
        }
        for at in (0..group.len()).step_by(2) {
            let pair = &group[at..at + 2];
            let byte =
                u8::from_str_radix(pair, 16).map_err(|_| format!("`{pair}` is no pair of hexadecimal digits"))?;
            bytes.push(byte);
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_a_time_that_somebody_could_wait_for() {
        assert_eq!(parse_bound("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_bound("24h"), Ok(DAY));
        for wrong in ["0s", "5", "", "-1s", "1 s", "1d", "25h", "99999m", "inf"] {
            assert!(parse_bound(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_need_a_unit() {
        assert_eq!(parse_duration("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "2", "s", "-1s", "2d", "1e400s", "1.2.3s"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn delays_are_one_time_or_the_bounds_of_one() {
        let ms = Duration::from_millis;
        assert_eq!(parse_delay_range("0s..1.5s"), Some((ms(0), ms(1500))));
        assert_eq!(parse_delay_range("20ms"), Some((ms(20), ms(20))));
        for wrong in ["2s..1s", "1s..", "..1s", "61m", "1", ""] {
            assert_eq!(parse_delay_range(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sizes_are_whole_bytes() {
        assert_eq!(
            (parse_size("512"), parse_size("64KiB"), parse_size("1MiB")),
            (Some(512), Some(65_536), Some(1 << 20))
        );
        for wrong in ["", "1.5KiB", "KiB", "1GB", "-1", "1e9", "9999999999KiB", "inf"] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn bytes_are_pairs_of_digits() {
        assert_eq!(parse_hex("00ff 0A"), Ok(vec![0, 255, 10]));
        assert_eq!(parse_hex(""), Ok(vec![]));
        for wrong in ["0", "0g", "é0", "+1"] {
            assert!(parse_hex(wrong).is_err(), "{wrong}");
        }
    }
}
