//! Finding an editor, and finding it again.

use super::super::quirks::{Effect, Switch};
use super::{BOTH, CLI, Entry, GUIDE, flaw};

pub const FLAWS: &[Entry] = &[
    flaw!("looks-elsewhere" BOTH "discovery/client-finds" "Lockfiles are looked for in `amp`, not in `amp/ide`."
        Effect::Switch(Switch::LooksElsewhere)),
    flaw!("ignores-home" BOTH "discovery/client-default-home" "Without a variable, lockfiles are looked for in `~/.config`."
        Effect::Switch(Switch::IgnoresHome)),
    flaw!("ignores-xdg" CLI "discovery/client-xdg-home" "`XDG_DATA_HOME` is not heeded." Effect::Switch(Switch::IgnoresXdg)),
    flaw!("ignores-amp-data-home" CLI "discovery/client-amp-data-home" "`AMP_DATA_HOME` is not heeded."
        Effect::Switch(Switch::IgnoresAmpDataHome)),
    flaw!("port-from-name" BOTH "discovery/client-content-port" "The port is taken from the name of the lockfile."
        Effect::Switch(Switch::PortFromName)),
    flaw!("ignores-pid" CLI "discovery/client-dead-pid" "Lockfiles count whose process has ended."
        Effect::Switch(Switch::IgnoresPid)),
    flaw!("blocked-by-torn" BOTH "discovery/client-torn" "A lockfile that does not parse keeps it from all others."
        Effect::Switch(Switch::BlockedByTorn)),
    flaw!("blocked-by-incomplete" BOTH "discovery/client-incomplete"
        "A lockfile with a key missing or of the wrong type keeps it from all others."
        Effect::Switch(Switch::BlockedByIncomplete)),
    flaw!("takes-incomplete" CLI "discovery/client-incomplete-unused"
        "A lockfile needs no more than a port and a token." Effect::Switch(Switch::TakesIncomplete)),
    flaw!("refuses-extra-lock-keys" BOTH "discovery/client-extra-keys" "A lockfile with a key that it does not know is passed over."
        Effect::Switch(Switch::RefusesExtraKeys)),
    flaw!("blocked-by-foreign-files" BOTH "discovery/client-foreign-files"
        "A file or folder that is no lockfile keeps it from all of them." Effect::Switch(Switch::BlockedByForeignFiles)),
    flaw!("removes-lockfile" BOTH "discovery/client-leaves-lockfiles" "It removes the lockfile of the editor that it has connected to."
        Effect::Switch(Switch::RemovesLockfile)),
    flaw!("waits-forever" BOTH "discovery/client-no-server" "Where there is no editor, calls wait for one without end."
        Effect::Switch(Switch::WaitsForever)),
    flaw!("first-lockfile-only" GUIDE "discovery/client-dead-port" "Only the first lockfile counts."
        Effect::Switch(Switch::FirstOnly)),
    flaw!("range-only" GUIDE "discovery/client-any-port" "Only ports from 8000 to 8100 count."
        Effect::Switch(Switch::RangeOnly)),
    flaw!("any-workspace" CLI "discovery/client-workspace"
        "It connects to any editor, whatever that has open." Effect::Switch(Switch::AnyWorkspace)),
    flaw!("not-around" CLI "discovery/client-workspace-parent" "An editor with a folder around its own does not count."
        Effect::Switch(Switch::NotAround)),
    flaw!("not-inside" CLI "discovery/client-workspace-child" "An editor with a folder inside its own does not count."
        Effect::Switch(Switch::NotInside)),
    flaw!("compares-texts" CLI "discovery/client-workspace-sibling" "Folders are compared letter by letter."
        Effect::Switch(Switch::ComparesTexts)),
    flaw!("first-folder-only" CLI "discovery/client-several-folders" "Of an editor's folders the first one counts."
        Effect::Switch(Switch::FirstFolderOnly)),
    flaw!("exact-not-preferred" CLI "discovery/client-exact-workspace"
        "The editor with the very folder counts no more than those around or inside it."
        Effect::Switch(Switch::ExactNotPreferred)),
    flaw!("links-not-followed" CLI "discovery/client-links" "Links in the paths of folders are not followed."
        Effect::Switch(Switch::LinksNotFollowed)),
    flaw!("hammers" BOTH "lifecycle/client-retries-calmly" "It tries to connect again and again without a pause."
        Effect::Switch(Switch::Hammers)),
    flaw!("never-quits" BOTH "lifecycle/client-quits" "It does not end before the editor has closed the connection."
        Effect::Switch(Switch::NeverQuits)),
    flaw!("connects-once" CLI "lifecycle/client-connects-again"
        "After its connection has ended it looks for no other." Effect::Switch(Switch::ConnectsOnce)),
    flaw!("remembers-editor" CLI "lifecycle/client-reconnects" "It connects to the port that it found first, and to no other."
        Effect::Switch(Switch::RemembersEditor)),
];
