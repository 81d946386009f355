//! What a card makes of its host's frame when it sends the packet of a coder.
//!
//! ```text
//!   from the host   | header | mark |          room for the longest packet          |
//!   on the medium   | header | mark, with samples |         ◄── cut off here
//! ```
//!
//! A packet shorter than its mark, as some of the experimental Ethernet are, reaches hosts with the
//! whole mark; on the medium it is as short as its samples make it.

use ethermeter_net::time::PS_PER_NS;
use ethermeter_net::wire::{
    FrameWindow, HEADER_OCTETS, MARK_OCTETS, Mark, MarkKind, SPEECH_OCTETS, VoiceMark,
};
use ethermeter_simulator::segment::compiled::CompiledSegment;
use ethermeter_traffic::coder::{VoiceFrame, VoiceSpec};
use std::ops::Range;

/// Octets that a frame of voice has at least at a host, without its check sequence.
const LEAST_OCTETS: usize = HEADER_OCTETS + MARK_OCTETS + SPEECH_OCTETS;
const FCS_OCTETS: usize = 4;

/// How frames of voice are marked.
#[derive(Clone, Debug)]
pub(crate) struct VoiceMarking {
    /// When the medium began, in the hosts' time.
    pub began_ns: u64,
    /// The measured window, in the time of the medium.
    measured_ps: Range<u64>,
}

impl VoiceMarking {
    pub fn new(segment: &CompiledSegment) -> Self {
        let measured_ps = segment.phases.measure_from_ps..segment.phases.measure_to_ps;
        Self { began_ns: 0, measured_ps }
    }

    /// What the mark of a packet says.
    fn speech(&self, packet: &VoiceFrame) -> VoiceMark {
        let count = |samples: u64| u16::try_from(samples).expect("lengths were checked");
        VoiceMark {
            made_ns: self.began_ns + packet.oldest_ps / PS_PER_NS,
            samples: count(packet.samples),
            measured: count(packet.counted),
            is_oldest_measured: self.measured_ps.contains(&packet.oldest_ps),
        }
    }

    /// Make a packet of a host's frame, without check sequence: cut it, and write into its mark
    /// what the packet holds. A frame that is no message of a stream is only cut.
    pub fn fill(&self, frame: &mut Vec<u8>, packet: &VoiceFrame) {
        let octets = usize::try_from(packet.bits / 8).expect("at most 2^24 bits");
        frame.truncate(octets.saturating_sub(FCS_OCTETS).max(LEAST_OCTETS));
        let Ok(header) = FrameWindow::checked(&frame[..]).map(|window| window.header().octets())
        else {
            return;
        };
        let payload = &mut frame[header..];
        let Ok(mark) = Mark::read(payload) else { return };
        if mark.kind == MarkKind::Stream && payload.len() >= MARK_OCTETS + SPEECH_OCTETS {
            Mark { kind: MarkKind::Voice, ..mark }.emit(payload);
            self.speech(packet).emit(payload);
        }
    }
}

/// What is wrong with the packets of a coder for real frames, if anything.
pub(crate) fn fault(voice: &VoiceSpec) -> Option<String> {
    let VoiceSpec { sample_bits, overhead_bits, min_bits, max_bits, .. } = *voice;
    if [sample_bits, overhead_bits, min_bits].iter().any(|bits| !bits.is_multiple_of(8)) {
        return Some("must be whole octets on an emulated segment: real frames are".into());
    }
    let least = 8 * (LEAST_OCTETS + FCS_OCTETS) as u64;
    if max_bits < least {
        return Some(format!("must have max_bits of {least} at least: each packet carries a mark"));
    }
    let most = (max_bits - overhead_bits) / sample_bits;
    let allowed = u64::from(u16::MAX);
    (most > allowed).then(|| format!("must hold at most {allowed} samples, got {most}"))
}
