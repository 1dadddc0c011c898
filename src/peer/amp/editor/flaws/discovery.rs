//! The lockfile and the editor's life.

use serde_json::{Value, json};

use crate::wire::websocket::FrameSpec;

use super::super::quirks::{Effect, Kind, Switch};
use super::super::session::QUITS;
use super::{BOTH, CLI, Entry, flaw, remove, set};

/// A number that is no running process's: beyond what systems give out.
const NOBODY: u32 = 0x7fff_fff0;
/// A port on which nobody listens.
const NO_PORT: u16 = 1;

pub const FLAWS: &[Entry] = &[
    flaw!("lockfile-elsewhere" BOTH "discovery/lockfile-place"
        "The lockfile is in `amp`, not in `amp/ide`." Effect::Switch(Switch::LockfileElsewhere)),
    flaw!("lockfile-fixed-name" BOTH "discovery/lockfile-name" "The lockfile is called `editor.json`."
        Effect::Switch(Switch::LockfileName)),
    flaw!("ignores-home" BOTH "discovery/default-data-home" "Without variables the data home is `~/.config`."
        Effect::Switch(Switch::IgnoresHome)),
    flaw!("ignores-xdg-data-home" CLI "discovery/xdg-data-home" "`XDG_DATA_HOME` is not looked at."
        Effect::Switch(Switch::IgnoresXdg)),
    flaw!("ignores-amp-data-home" CLI "discovery/amp-data-home" "`AMP_DATA_HOME` is not looked at."
        Effect::Switch(Switch::IgnoresAmpDataHome)),
    flaw!("lockfile-torn" BOTH "discovery/lockfile-json"
        "Only half of the lockfile is written." Effect::Switch(Switch::LockfileTorn)),
    flaw!("lockfile-empty" BOTH "discovery/lockfile-json" "The lockfile is empty."
        Effect::Switch(Switch::LockfileEmpty)),
    flaw!("lockfile-as-array" BOTH "discovery/lockfile-json" "The lockfile is an array, with the object in it."
        Effect::Lockfile(|l| *l = json!([l.take()]))),
    flaw!("lockfile-port-as-text" BOTH "discovery/lockfile-port"
        "The lockfile's `port` is a string." Effect::Lockfile(|l| set(l, "port", l["port"].to_string()))),
    flaw!("lockfile-port-missing" BOTH "discovery/lockfile-port"
        "The lockfile has no `port`: the file name says it." Effect::Lockfile(|l| { remove(l, "port"); })),
    flaw!("lockfile-token-missing" BOTH "discovery/lockfile-token" "The lockfile has no `authToken`."
        Effect::Lockfile(|l| { remove(l, "authToken"); })),
    flaw!("lockfile-token-as-number" BOTH "discovery/lockfile-token" "The lockfile's `authToken` is a number."
        Effect::Lockfile(|l| set(l, "authToken", 12_345_678_901_u64))),
    flaw!("lockfile-token-renamed" BOTH "discovery/lockfile-token" "The lockfile calls the token `auth_token`."
        Effect::Lockfile(|l| { let token = remove(l, "authToken"); set(l, "auth_token", token); })),
    flaw!("lockfile-folders-as-text" CLI "discovery/lockfile-folders"
        "The lockfile's `workspaceFolders` is a string."
        Effect::Lockfile(|l| { let folder = l["workspaceFolders"][0].take(); set(l, "workspaceFolders", folder); })),
    flaw!("lockfile-folders-missing" CLI "discovery/lockfile-folders"
        "The lockfile has no `workspaceFolders`." Effect::Lockfile(|l| { remove(l, "workspaceFolders"); })),
    flaw!("lockfile-ide-name-missing" CLI "discovery/lockfile-ide-name" "The lockfile has no `ideName`."
        Effect::Lockfile(|l| { remove(l, "ideName"); })),
    flaw!("lockfile-ide-name-as-number" CLI "discovery/lockfile-ide-name" "The lockfile's `ideName` is a number."
        Effect::Lockfile(|l| set(l, "ideName", 7))),
    flaw!("lockfile-pid-as-text" CLI "discovery/lockfile-pid"
        "The lockfile's `pid` is a string." Effect::Lockfile(|l| set(l, "pid", l["pid"].to_string()))),
    flaw!("lockfile-pid-dead" CLI "discovery/pid-alive" "The lockfile's `pid` is that of a process that has gone."
        Effect::Lockfile(|l| set(l, "pid", NOBODY))),
    flaw!("lockfile-port-wrong" BOTH "discovery/port-accepting" "The lockfile names a port on which nobody listens."
        Effect::Lockfile(|l| set(l, "port", NO_PORT))),
    flaw!("lockfile-folder-wrong" CLI "discovery/workspace-folder" "The lockfile's folder is not the one that is open."
        Effect::Lockfile(|l| set(l, "workspaceFolders", json!(["/somewhere/else"])))),
    flaw!("lockfile-folders-empty" CLI "discovery/workspace-folder" "The lockfile lists no folder."
        Effect::Lockfile(|l| set(l, "workspaceFolders", Value::Array(vec![])))),
    flaw!("lockfile-folder-relative" CLI "discovery/folders-absolute"
        "The lockfile's folder is `.`." Effect::Lockfile(|l| set(l, "workspaceFolders", json!(["."])))),
    flaw!("token-short" CLI "discovery/token-length" "The token has seven characters."
        Effect::Switch(Switch::ShortToken)),
    flaw!("token-fixed" BOTH "discovery/token-fresh" "The token is the same at each start."
        Effect::Switch(Switch::SameToken)),
    flaw!("lockfile-left-behind" BOTH "lifecycle/lockfile-removed" "The lockfile stays when the editor exits."
        Effect::Switch(Switch::LockfileLeft)),
    flaw!("no-going-away" BOTH "lifecycle/going-away" "At its exit the editor ends connections without a close frame."
        Effect::Switch(Switch::NoGoingAway)),
    flaw!("goes-away-with-1011" BOTH "lifecycle/going-away" "At its exit the editor closes connections with the code 1011."
        Effect::Frame(Kind::Close, |f| goes_away(f, &[3, 243]))),
    flaw!("goes-away-with-4000" BOTH "lifecycle/going-away"
        "At its exit the editor closes connections with the private code 4000."
        Effect::Frame(Kind::Close, |f| goes_away(f, &[15, 160]))),
    flaw!("goes-away-without-code" BOTH "lifecycle/going-away" "At its exit the editor closes connections without a code."
        Effect::Frame(Kind::Close, |f| goes_away(f, &[]))),
    flaw!("restart-blocked" BOTH "lifecycle/restart"
        "The editor leaves a mark that it runs, and has no lockfile when it finds one." Effect::Switch(Switch::BlockedByOwnTrace)),
    flaw!("stale-lockfile-blocks" BOTH "lifecycle/stale-lockfile"
        "The editor has no lockfile when there is another one." Effect::Switch(Switch::BlockedByLockfiles)),
    flaw!("removes-other-lockfiles" BOTH "lifecycle/other-lockfiles" "The editor removes all lockfiles when it starts."
        Effect::Switch(Switch::RemovesOtherLockfiles)),
];

/// The close frame of an editor that quits gets this payload.
fn goes_away(frame: FrameSpec, payload: &[u8]) -> Vec<FrameSpec> {
    let going = frame.payload.ends_with(QUITS.as_bytes());
    vec![if going { FrameSpec { payload: payload.to_vec(), ..frame } } else { frame }]
}
