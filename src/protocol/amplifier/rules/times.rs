//! Moments, as the document writes them: `2025-12-09T10:30:00Z`.

/// A moment as microseconds since 1970; none where the text is no date and time of day with an offset from UTC
/// (RFC 3339 section 5.6).
pub fn moment(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = bytes.get(from..to)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        std::str::from_utf8(digits).ok()?.parse().ok()
    };
    let sign = |at: usize, allowed: &[u8]| bytes.get(at).is_some_and(|b| allowed.contains(b)).then_some(());
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    sign(4, b"-")?;
    sign(7, b"-")?;
    sign(10, b"Tt ")?;
    sign(13, b":")?;
    sign(16, b":")?;
    let lengths = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let longest = *lengths.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if !(1..=longest).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut at = 19;
    let mut micros = 0;
    if bytes.get(at) == Some(&b'.') {
        let end = bytes[at + 1..].iter().position(|b| !b.is_ascii_digit()).map_or(bytes.len(), |n| at + 1 + n);
        let shown = end.min(at + 7);
        micros = number(at + 1, shown)? * 10_i64.pow(6 - u32::try_from(shown - at - 1).ok()?);
        if shown == at + 1 {
            return None;
        }
        at = end;
    }
    let offset = match &bytes[at..] {
        [b'Z' | b'z'] => 0,
        [b'+' | b'-', _, _, b':', _, _] => number(at + 1, at + 3)? * 60 + number(at + 4, at + 6)?,
        [b'+' | b'-', _, _, _, _] => number(at + 1, at + 3)? * 60 + number(at + 3, at + 5)?,
        _ => return None,
    };
    let offset = if bytes.get(at) == Some(&b'-') { -offset } else { offset };
    let minutes = (days(year, month, day) * 24 + hour) * 60 + minute - offset;
    Some((minutes * 60 + second) * 1_000_000 + micros)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// The days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March have the day that is sometimes there at their end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leaps + (month * 153 + 2) / 5 + day - 719_469
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn a_moment_has_an_offset() {
        assert_eq!(moment("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(moment("2025-12-09T10:30:00Z"), Some(1_765_276_200_000_000));
        assert_eq!(moment("2025-12-09T11:30:00.25+01:00"), Some(1_765_276_200_250_000));
        assert_eq!(moment("2024-02-29T00:00:00.123456789-0030"), Some(1_709_166_600_123_456));
        for wrong in [
            "",
            "2025-12-09",
            "2025-12-09T10:30:00",
            "2025-12-09T10:30:00.Z",
            "2025-13-09T10:30:00Z",
            "2025-02-29T10:30:00Z",
            "2025-12-09T24:30:00Z",
            "1765276200",
            "2025-12-09T10:30:00Zulu",
            "2025-12-09T10:30:00é",
        ] {
            assert_eq!(moment(wrong), None, "{wrong}");
        }
    }
}
