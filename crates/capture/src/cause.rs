//! What a connection can wait for.

/// How many causes there are.
pub const CAUSES: usize = 13;

/// What a connection can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitCause {
    /// The handshake, and what follows the last that was sent.
    Opening,
    /// An end, to answer what the other one sent.
    TurnAround,
    /// The sending application, which had nothing to send, or little.
    SenderApplication,
    /// A delayed acknowledgement, for which Nagle's algorithm held back a short segment.
    DelayedAck,
    /// The sender's host, interface or pacing, or a queue before the capture point.
    SenderPace,
    /// The receiving application, which has not read what fills the receiver's buffer.
    ReceiverApplication,
    /// The receiver's window at its full size.
    ReceiverWindow,
    /// The send buffer: the flight stays as it is over many round trips.
    SendBuffer,
    /// The congestion window: the flight grows, or has fallen at a loss.
    CongestionWindow,
    /// The congestion window or the send buffer.
    Window,
    /// What was lost to be sent again.
    Loss,
    /// Acknowledgements that took more than twice the least round trip: a queue on the path, or a
    /// receiver that is slow to acknowledge.
    Queue,
    /// A question and its answer to travel.
    RoundTrip,
}

impl WaitCause {
    /// All of them, in the order of their places.
    pub const ALL: [Self; CAUSES] = [
        Self::Opening,
        Self::TurnAround,
        Self::SenderApplication,
        Self::DelayedAck,
        Self::SenderPace,
        Self::ReceiverApplication,
        Self::ReceiverWindow,
        Self::SendBuffer,
        Self::CongestionWindow,
        Self::Window,
        Self::Loss,
        Self::Queue,
        Self::RoundTrip,
    ];

    /// Name of the cause.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::TurnAround => "turn_around",
            Self::SenderApplication => "sender_application",
            Self::DelayedAck => "delayed_ack",
            Self::SenderPace => "sender_pace",
            Self::ReceiverApplication => "receiver_application",
            Self::ReceiverWindow => "receiver_window",
            Self::SendBuffer => "send_buffer",
            Self::CongestionWindow => "congestion_window",
            Self::Window => "window",
            Self::Loss => "loss",
            Self::Queue => "queue",
            Self::RoundTrip => "round_trip",
        }
    }
}
