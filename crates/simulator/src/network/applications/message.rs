//! Messages, and the frames that they are cut into.

use crate::network::frame::Frame;
use crate::time::Instant;
use ethermeter_trial::flows::MessageFraming;

/// A message that is sent.
pub(in crate::network) struct Message {
    /// The frame that it is; if it is not one only by its framing, one of them without octets.
    pub frame: Frame,
    pub is_frame: bool,
    pub(super) octets: u64,
    pub(super) framing: MessageFraming,
    /// When the next message comes, of a flow that does not wait for what it has sent.
    pub next: Option<Instant>,
    /// Until when its sender waits for answers, if there is an end.
    pub until: Option<Instant>,
}

impl Message {
    /// Its frames.
    pub fn cut(&self, mut each: impl FnMut(Frame)) {
        cut(self.framing, self.octets, self.frame, &mut each);
    }
}

/// Octets of the frame that is a message.
#[inline]
pub(super) fn frame_octets(framing: MessageFraming, octets: u64) -> u32 {
    u32::try_from(octets).expect("below 65536") + framing.tag_octets
}

#[inline]
pub(super) fn cut(
    framing: MessageFraming,
    octets: u64,
    mut frame: Frame,
    each: &mut impl FnMut(Frame),
) {
    if framing.is_of_frames() {
        frame.octets = frame_octets(framing, octets);
        return each(frame);
    }
    let mut fragments = 0u16;
    framing.frames_of(octets, |_, _, _| fragments += 1);
    frame.fragments = fragments;
    framing.frames_of(octets, |length, padding, _| {
        frame.octets = length;
        frame.padding = padding;
        each(frame);
        frame.fragment += 1;
    });
}
