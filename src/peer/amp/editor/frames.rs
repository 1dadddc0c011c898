//! Our own frames as quirks will have them, and how quirks have those of clients taken.

use crate::wire::websocket::FrameSpec;

use super::super::assembler::{FrameFault, FrameTolerance};
use super::quirks::{Effect, Kind, Quirks, Switch};

/// How the frames of clients are taken.
pub fn manners(quirks: &Quirks) -> FrameTolerance {
    use FrameFault::{Close, Control, Fragments, Mask, Opcode, ReservedBits, Utf8};
    let faults = [Mask, ReservedBits, Opcode, Utf8, Control, Fragments, Close];
    FrameTolerance {
        from_client: true,
        overlooks: faults.into_iter().filter(|fault| quirks.has(Switch::Tolerates(*fault))).collect(),
        forgets_at_control: quirks.has(Switch::ForgetsAtControl),
        deaf_beyond: quirks.choose(|s| if let Switch::DeafBeyond(n) = s { Some(n) } else { None }),
        refuses_fragments: quirks.has(Switch::RefusesFragments),
        checks_fragments_alone: quirks.has(Switch::ChecksFragmentsAlone),
    }
}

/// What is sent for a frame of ours, and the flaw that has a hand in it.
pub fn outgoing(kind: Kind, frame: FrameSpec, quirks: &Quirks) -> Vec<(FrameSpec, Option<&'static str>)> {
    let mut frames = vec![(frame, None)];
    for quirk in quirks.iter() {
        if let Effect::Frame(of, change) = quirk.effect
            && of == kind
        {
            let why = |old: Option<&'static str>| if quirk.flaw { Some(quirk.name) } else { old };
            frames = frames
                .into_iter()
                .flat_map(|(frame, old)| change(frame).into_iter().map(move |f| (f, why(old))))
                .collect();
        }
    }
    frames
}
