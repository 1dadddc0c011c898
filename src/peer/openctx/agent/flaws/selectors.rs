//! For which resources a provider is asked.

use super::super::quirks::{Effect, Switch};
use super::{Entry, flaw};

pub const FLAWS: &[Entry] = &[
    flaw!("needs-selectors" "selectors/client-none" "A provider without selectors is never asked."
        Effect::Switch(Switch::NeedsSelectors)),
    flaw!("needs-condition" "selectors/client-no-condition" "A selector without conditions matches nothing."
        Effect::Switch(Switch::NeedsCondition)),
    flaw!("never-by-path" "selectors/client-path" "A selector with a path matches nothing."
        Effect::Switch(Switch::NeverByPath)),
    flaw!("ignores-path" "selectors/client-path-other"
        "The path of selectors is not looked at." Effect::Switch(Switch::IgnoresPath)),
    flaw!("needs-parent" "selectors/client-any-parent" "A glob that begins with `**/` matches nothing at the top."
        Effect::Switch(Switch::ParentNeeded)),
    flaw!("one-below" "selectors/client-any-below" "A glob that ends with `/**` matches one level."
        Effect::Switch(Switch::OneBelow)),
    flaw!("star-matches-slash" "selectors/client-one-level" "A star matches slashes, too."
        Effect::Switch(Switch::StarMatchesSlash)),
    flaw!("matches-parts" "selectors/client-whole-path"
        "A glob matches a part of a path." Effect::Switch(Switch::MatchesParts)),
    flaw!("keeps-slash" "selectors/client-leading-slash"
        "The slash at the beginning of a path takes part in the match." Effect::Switch(Switch::KeepsSlash)),
    flaw!("never-by-content" "selectors/client-content" "A selector with a text matches nothing."
        Effect::Switch(Switch::NeverByContent)),
    flaw!("ignores-content" "selectors/client-content-other" "The text of selectors is not looked at."
        Effect::Switch(Switch::IgnoresContent)),
    flaw!("content-by-any-case" "selectors/client-content-literal"
        "The text of selectors matches in any case." Effect::Switch(Switch::ContentByCase)),
    flaw!("any-condition" "selectors/client-all-conditions" "One condition of a selector is enough."
        Effect::Switch(Switch::AnyCondition)),
    flaw!("first-selector" "selectors/client-any-selector" "Only the first selector counts."
        Effect::Switch(Switch::OnlyFirst)),
    flaw!("asks-without-feature" "selectors/client-feature"
        "A provider without the annotations feature is asked for annotations."
        Effect::Switch(Switch::AsksWithoutFeature)),
    flaw!("remembers-meta" "selectors/client-current"
        "Metadata is asked for once, whatever the settings become." Effect::Switch(Switch::RemembersMeta)),
];
