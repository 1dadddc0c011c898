//! The verdict as a badge: a picture (SVG) for a page, or what an [endpoint badge of
//! shields.io](https://shields.io/badges/endpoint-badge) is made from.

use std::collections::BTreeSet;

use serde_json::json;

use crate::judge::{Report, Verdict};

use super::write::word;

/// What a badge says.
struct Badge {
    /// On the left: `wirecert amp-server`; without the role where there are several.
    label: String,
    /// On the right: the verdict.
    message: String,
    verdict: Verdict,
}

impl Badge {
    fn of(report: &Report) -> Self {
        let judged = report.subjects.iter().map(|subject| subject.role.as_str());
        let roles: BTreeSet<&str> = judged.chain(report.unjudged.iter().map(|subject| subject.role.as_str())).collect();
        let label = match Vec::from_iter(roles)[..] {
            [role] => format!("wirecert {role}"),
            _ => "wirecert".to_owned(),
        };
        Self { label, message: word(&report.verdict).replace('_', " "), verdict: report.verdict }
    }

    /// The colour of the right side. White text on it has a contrast of at least 4.5 to 1.
    fn color(&self) -> &'static str {
        match self.verdict {
            Verdict::Conforms => "#2a7a2a",
            Verdict::ConformsExcept => "#5a7300",
            Verdict::Nonconforming => "#c5221f",
            Verdict::Incomplete => "#a34e00",
            Verdict::Partial => "#5f6368",
        }
    }
}

/// The badge as an SVG file, which needs nothing from elsewhere. Its title is what a screen reader reads.
pub fn badge(report: &Report) -> String {
    let badge = Badge::of(report);
    let (label, message) = (escaped(&badge.label), escaped(&badge.message));
    let (label_length, message_length) = (length(&badge.label), length(&badge.message));
    let (left, right) = (label_length + 10, message_length + 10);
    let width = left + right;
    let color = badge.color();
    let text = |x: u32, length: u32, text: &str| {
        format!(r#"<text x="{x}" y="14" textLength="{length}" lengthAdjust="spacingAndGlyphs">{text}</text>"#)
    };
    [
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" viewBox="0 0 {width} 20" role="img" aria-labelledby="title">"#
        ),
        format!(r#"<title id="title">{label}: {message}</title>"#),
        format!(r#"<clipPath id="round"><rect width="{width}" height="20" rx="3"/></clipPath>"#),
        r#"<g clip-path="url(#round)">"#.to_owned(),
        format!(r##"<rect width="{left}" height="20" fill="#444"/>"##),
        format!(r#"<rect x="{left}" width="{right}" height="20" fill="{color}"/>"#),
        "</g>".to_owned(),
        r##"<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" aria-hidden="true">"##.to_owned(),
        text(5, label_length, &label),
        text(left + 5, message_length, &message),
        "</g>".to_owned(),
        "</svg>\n".to_owned(),
    ]
    .join("\n")
}

/// The badge as the JSON that an endpoint badge of shields.io is made from, on one line.
pub fn badge_json(report: &Report) -> String {
    let badge = Badge::of(report);
    let failed = badge.verdict == Verdict::Nonconforming;
    // `isError` keeps a page from giving the badge another colour.
    let endpoint = json!({
        "schemaVersion": 1,
        "label": badge.label,
        "message": badge.message,
        "color": badge.color(),
        "isError": failed,
    });
    format!("{endpoint}\n")
}

/// How wide a text is in pixels, about: Verdana with 11 pixels. The file says so to whoever draws it with another font.
fn length(text: &str) -> u32 {
    let tenths = |c: char| match c {
        'i' | 'j' | 'l' | ' ' => 34,
        'f' | 'r' | 't' | '-' => 46,
        'm' | 'w' => 100,
        _ => 67,
    };
    text.chars().map(tenths).sum::<u32>().div_ceil(10)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::terminal::tests::example;
    use super::*;

    #[test]
    fn a_badge_says_whom_it_is_about_and_the_verdict() {
        insta::assert_snapshot!(badge(&example()));
        assert_eq!(
            badge_json(&example()),
            "{\"schemaVersion\":1,\"label\":\"wirecert amp-server\",\"message\":\"nonconforming\",\"color\":\"#c5221f\",\
             \"isError\":true}\n"
        );
    }

    #[test]
    fn a_badge_of_several_roles_names_none_of_them() {
        let mut report = example();
        report.unjudged[0].role = "amp-client".to_owned();
        report.verdict = Verdict::ConformsExcept;
        assert!(badge(&report).contains("<title id=\"title\">wirecert: conforms except</title>"), "{}", badge(&report));
        assert!(badge_json(&report).contains("\"isError\":false"), "{}", badge_json(&report));
    }

    /// The relative luminance of a colour, as WCAG 2 has it.
    fn luminance(color: &str) -> f64 {
        let channel = |at: usize| {
            let share = f64::from(u8::from_str_radix(&color[at..at + 2], 16).unwrap()) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    #[test]
    fn white_text_can_be_read_on_every_colour() {
        use Verdict::{Conforms, ConformsExcept, Incomplete, Nonconforming, Partial};
        for verdict in [Conforms, ConformsExcept, Incomplete, Nonconforming, Partial] {
            let color = Badge { label: String::new(), message: String::new(), verdict }.color();
            let contrast = 1.05 / (luminance(color) + 0.05);
            assert!(contrast >= 4.5, "{verdict:?}: {color} has a contrast of {contrast}");
        }
    }
}
