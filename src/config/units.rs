//! Sizes as people write them.

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
    fn sizes_are_whole_bytes() {
        assert_eq!((size("512"), size("64KiB"), size("1MiB")), (Some(512), Some(65_536), Some(1 << 20)));
        for wrong in ["", "1.5KiB", "KiB", "1GB", "-1", "1e9", "9999999999KiB", "inf"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }
}
