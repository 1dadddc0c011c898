//! Times and sizes as people write them.

use std::time::Duration;

/// A time that is not zero: `200ms`, `1.5s`, `1m`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return None,
    };
    (seconds > 0.0 && seconds <= 86_400.0).then(|| Duration::from_secs_f64(seconds))
}

/// A size in bytes: `512`, `64KiB`, `1MiB`.
pub(super) fn size(text: &str) -> Option<u64> {
    let (number, unit) = split(text).or_else(|| Some((text.parse().ok()?, "")))?;
    let scale: u64 = match unit {
        "" | "B" => 1,
        "KiB" => 1024,
        "MiB" => 1024 * 1024,
        _ => return None,
    };
    let whole = number.fract() == 0.0 && (0.0..=1e9).contains(&number);
    // A whole number within these bounds is exact in both types.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    whole.then(|| number as u64 * scale)
}

fn split(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_and_are_more_than_nothing() {
        assert_eq!(duration("200ms"), Some(Duration::from_millis(200)));
        assert_eq!(duration("1.5s"), Some(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Some(Duration::from_secs(120)));
        for wrong in ["", "5", "s", "0s", "-1s", "1 s", "1d", "1.2.3s", "25h", "inf"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sizes_are_whole_bytes() {
        assert_eq!((size("512"), size("64KiB"), size("1MiB")), (Some(512), Some(65_536), Some(1 << 20)));
        for wrong in ["", "1.5KiB", "KiB", "1GB", "-1", "1e9", "9999999999KiB", "inf"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }
}
