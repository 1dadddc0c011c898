//! Flaws of a client in how it finds an editor, again too, in its handshake, and in its frames.

use tokio_tungstenite::tungstenite::handshake::client::generate_key;

use crate::peer::amp::client::deviations::AgentEffect;
use crate::peer::amp::client::discovery::{DiscoverySwitch, WorkspaceSwitch};
use crate::peer::amp::client::handshake::{HandshakeSwitch, Unchecked};
use crate::peer::amp::client::search::SearchSwitch;
use crate::peer::amp::client::session::SessionSwitch;
use crate::peer::amp::{CLI, GUIDE};
use crate::peer::deviation::websocket::{FrameKind, SocketEffect};
use crate::peer::deviation::{FlawRow, flaw};
use crate::trace::End;
use crate::wire::websocket::{ClientRequest, FrameSpec, Mask};

pub const DISCOVERY_FLAWS: &[FlawRow<AgentEffect>] = &[
    flaw!("looks-elsewhere" "discovery/client-finds" "Lockfiles are looked for in `amp`, not in `amp/ide`."
        DiscoverySwitch::LooksElsewhere.on()),
    flaw!("ignores-old-lockfiles" "discovery/client-finds" "Lockfiles that are more than a day old are taken for leftovers."
        DiscoverySwitch::IgnoresOld.on()),
    flaw!("ignores-home" "discovery/client-default-home" "Without a variable, lockfiles are looked for in `~/.config`."
        DiscoverySwitch::IgnoresHome.on()),
    flaw!("ignores-xdg" CLI "discovery/client-xdg-home" "`XDG_DATA_HOME` is not heeded." DiscoverySwitch::IgnoresXdg.on()),
    flaw!("takes-empty-data-home" CLI "discovery/client-unusable-data-home"
        "An empty `XDG_DATA_HOME` is taken for the working directory." DiscoverySwitch::TakesEmptyXdg.on()),
    flaw!("takes-relative-data-home" CLI "discovery/client-unusable-data-home"
        "A relative `XDG_DATA_HOME` is resolved against the working directory." DiscoverySwitch::TakesRelativeXdg.on()),
    flaw!("ignores-amp-data-home" CLI "discovery/client-amp-data-home" "`AMP_DATA_HOME` is not heeded."
        DiscoverySwitch::IgnoresAmpDataHome.on()),
    flaw!("port-from-name" "discovery/client-content-port" "The port is taken from the name of the lockfile."
        DiscoverySwitch::PortFromName.on()),
    flaw!("ignores-pid" CLI "discovery/client-dead-pid" "Lockfiles count whose process has ended."
        DiscoverySwitch::IgnoresPid.on()),
    flaw!("blocked-by-torn" "discovery/client-torn" "A lockfile that does not parse keeps it from all others."
        DiscoverySwitch::BlockedByTorn.on()),
    flaw!("blocked-by-incomplete" "discovery/client-incomplete"
        "A lockfile with a key missing or of the wrong type keeps it from all others."
        DiscoverySwitch::BlockedByIncomplete.on()),
    flaw!("takes-incomplete" CLI "discovery/client-incomplete-unused"
        "A lockfile needs no more than a port and a token." DiscoverySwitch::TakesIncomplete.on()),
    flaw!("refuses-extra-lock-keys" "discovery/client-extra-keys" "A lockfile with a key that it does not know is passed over."
        DiscoverySwitch::RefusesExtraKeys.on()),
    flaw!("blocked-by-foreign-files" "discovery/client-foreign-files"
        "A file or folder that is no lockfile keeps it from all of them." DiscoverySwitch::BlockedByForeignFiles.on()),
    flaw!("removes-lockfile" "discovery/client-leaves-lockfiles" "It removes the lockfile of the editor that it has connected to."
        SearchSwitch::RemovesLockfile.on()),
    flaw!("waits-forever" "discovery/client-no-server" "Where there is no editor, calls wait for one without end."
        SearchSwitch::WaitsForever.on()),
    flaw!("first-lockfile-only" GUIDE "discovery/client-dead-port" "Only the first lockfile counts."
        DiscoverySwitch::FirstOnly.on()),
    flaw!("range-only" GUIDE "discovery/client-any-port" "Only ports from 8000 to 8100 count."
        DiscoverySwitch::RangeOnly.on()),
    flaw!("any-workspace" CLI "discovery/client-workspace"
        "It connects to any editor, whatever that has open." WorkspaceSwitch::AnyWorkspace.on()),
    flaw!("not-around" CLI "discovery/client-workspace-parent" "An editor with a folder around its own does not count."
        WorkspaceSwitch::NotAround.on()),
    flaw!("not-inside" CLI "discovery/client-workspace-child" "An editor with a folder inside its own does not count."
        WorkspaceSwitch::NotInside.on()),
    flaw!("compares-texts" CLI "discovery/client-workspace-sibling" "Folders are compared letter by letter."
        WorkspaceSwitch::ComparesTexts.on()),
    flaw!("first-folder-only" CLI "discovery/client-several-folders" "Of an editor's folders the first one counts."
        WorkspaceSwitch::FirstFolderOnly.on()),
    flaw!("exact-not-preferred" CLI "discovery/client-exact-workspace"
        "The editor with the very folder counts no more than those around or inside it."
        WorkspaceSwitch::ExactNotPreferred.on()),
    flaw!("links-not-followed" CLI "discovery/client-links" "Links in the paths of folders are not followed."
        WorkspaceSwitch::LinksNotFollowed.on()),
    flaw!("hammers" "lifecycle/client-retries-calmly" "It tries to connect again and again without a pause."
        SearchSwitch::Hammers.on()),
    flaw!("never-quits" "lifecycle/client-quits" "It does not end before the editor has closed the connection."
        SessionSwitch::NeverQuits.on()),
    flaw!("connects-once" CLI "lifecycle/client-connects-again"
        "After its connection has ended it looks for no other." SearchSwitch::ConnectsOnce.on()),
    flaw!("remembers-editor" CLI "lifecycle/client-reconnects" "It connects to the port that it found first, and to no other."
        SearchSwitch::RemembersEditor.on()),
];

pub const CONNECTION_FLAWS: &[FlawRow<AgentEffect>] = &[
    flaw!("handshake-by-post" "connection/client-method" "The handshake is a POST request."
        AgentEffect::Socket(SocketEffect::Asks(|r| r.method = "POST".into()))),
    flaw!("http-1-0" "connection/client-http-version" "The handshake is made in HTTP/1.0."
        AgentEffect::Socket(SocketEffect::Asks(|r| r.version = "HTTP/1.0".into()))),
    flaw!("target-with-path" "connection/client-target" "The target of the handshake has a path."
        AgentEffect::Socket(SocketEffect::Asks(|r| r.target = r.target.replacen('/', "/ws", 1)))),
    flaw!("no-host" "connection/client-host" "The handshake has no `Host`."
        AgentEffect::Socket(SocketEffect::Asks(|r| header(r, "Host", None)))),
    flaw!("no-upgrade" "connection/client-upgrade" "The handshake has no `Upgrade`."
        AgentEffect::Socket(SocketEffect::Asks(|r| header(r, "Upgrade", None)))),
    flaw!("no-connection" "connection/client-connection" "The handshake's `Connection` is `keep-alive` only."
        AgentEffect::Socket(SocketEffect::Asks(|r| header(r, "Connection", Some("keep-alive"))))),
    flaw!("short-key" "connection/client-key" "The handshake's key has 15 bytes."
        AgentEffect::Socket(SocketEffect::Asks(|r| header(r, "Sec-WebSocket-Key", Some("MDEyMzQ1Njc4OTAxMjM0"))))),
    flaw!("does-not-wait" "connection/client-waits" "A frame goes right behind the handshake."
        AgentEffect::Socket(SocketEffect::Asks(frame_behind))),
    flaw!("no-token" "connection/client-token" "The handshake shows no token."
        AgentEffect::Socket(SocketEffect::Asks(|r| r.target = "/".into()))),
    flaw!("token-in-header" "connection/client-token"
    "The token is in a header, not in the target." AgentEffect::Socket(SocketEffect::Asks(|r| {
        let token = r.target.split_once('=').map_or_else(String::new, |(_, token)| token.to_owned());
        r.target = "/".into();
        r.headers.push(("Authorization".into(), Some(format!("Bearer {token}"))));
    }))),
    flaw!("token-not-encoded" "connection/client-token-encoded"
        "The token is not percent-encoded." HandshakeSwitch::TokenNotEncoded.on()),
    flaw!("answer-by-case" "connection/client-response-case"
        "The response must have its headers in the usual case." HandshakeSwitch::HeadersByCase.on()),
    flaw!("answer-by-list" "connection/client-response-list"
        "The `Connection` of the response must be `Upgrade` and nothing else." HandshakeSwitch::ConnectionExact.on()),
    flaw!("answer-bare" "connection/client-response-headers" "The response must have no further headers."
        HandshakeSwitch::RefusesHeaders.on()),
    flaw!("answer-by-reason" "connection/client-reason-phrase"
        "The response must begin with `HTTP/1.1 101 Switching Protocols`." HandshakeSwitch::ReasonExact.on()),
    flaw!("answer-in-one-segment" "connection/client-split-response" "The response must come in one TCP segment."
        HandshakeSwitch::OneSegmentHead.on()),
    flaw!("loses-frames-at-once" "connection/client-frames-at-once"
        "What comes in one TCP segment with the response is lost." HandshakeSwitch::LosesFramesAtOnce.on()),
    flaw!("hangs-at-refusal" "connection/client-refusal" "A refused handshake makes it hang."
        HandshakeSwitch::HangsAtRefusal.on()),
    flaw!("handshake-unbounded" "connection/client-handshake-bounded"
        "The response to the handshake is waited for without end." HandshakeSwitch::Unbounded.on()),
    flaw!("accept-unchecked" "connection/client-accept-checked" "`Sec-WebSocket-Accept` is not looked at."
        HandshakeSwitch::Unchecked(Unchecked::Accept).on()),
    flaw!("upgrade-unchecked" "connection/client-upgrade-checked" "The `Upgrade` of the response is not looked at."
        HandshakeSwitch::Unchecked(Unchecked::Upgrade).on()),
    flaw!("connection-unchecked" "connection/client-connection-checked"
        "The `Connection` of the response is not looked at." HandshakeSwitch::Unchecked(Unchecked::Connection).on()),
    flaw!("extension-unchecked" "connection/client-extension-checked"
        "An extension that it did not offer is overlooked." HandshakeSwitch::Unchecked(Unchecked::Extension).on()),
    flaw!("subprotocol-unchecked" "connection/client-subprotocol-checked"
        "A subprotocol that it did not offer is overlooked." HandshakeSwitch::Unchecked(Unchecked::Subprotocol).on()),
];

fn header(request: &mut ClientRequest, name: &str, value: Option<&str>) {
    request.headers.push((name.to_owned(), value.map(str::to_owned)));
}

fn frame_behind(request: &mut ClientRequest) {
    let host = request.headers.iter().find(|(name, _)| name == "Host").and_then(|(_, host)| host.clone());
    let head = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {}\r\n\
         Sec-WebSocket-Version: 13\r\n\r\n",
        request.target,
        host.unwrap_or_default(),
        generate_key()
    );
    request.raw = Some([head.into_bytes(), FrameSpec::ping("early").encode(End::Client)].concat());
}

pub const FRAMING_FLAWS: &[FlawRow<AgentEffect>] = &[
    flaw!("no-pong-while-open" "framing/client-pong-while-open"
        "Pings are not answered while a request waits for its response." SessionSwitch::NoPongWhileOpen.on()),
    flaw!("leaves-silently" "framing/client-closes" "It ends its connection without a close frame."
        SessionSwitch::LeavesSilently.on()),
];

pub const FRAME_FLAWS: &[FlawRow<SocketEffect>] = &[
    flaw!("unmasked-pongs" "framing/client-masked" "Pongs are not masked."
        SocketEffect::Frame(FrameKind::Pong, |f| vec![f.masked(Mask::Off)])),
    flaw!("talks-after-close" "framing/client-close-last" "After its close frame it says one more thing."
        SocketEffect::Frame(FrameKind::Close, |f| vec![f, FrameSpec::text("{}")])),
];
