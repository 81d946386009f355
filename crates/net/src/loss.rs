//! Where frames were lost: the counters along their path, compared with what is missing.
//!
//! ```text
//! sender ─► its socket ─► its queue ─► its interface ─► network ─► interface ─► socket ─► sink
//! ```
//!
//! A frame that a socket refuses is sent again and not lost. A frame that a socket drops was lost
//! because the application did not read in time; the sink's longest absence bounds for how long it
//! was away.

use serde::Serialize;

/// What was counted along the path of one test's frames, as differences between its end and its
/// begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounters {
    /// Frames that the sender's kernel took.
    pub sent: u64,
    /// Dropped by the sender's queue.
    pub dropped_in_queue: u64,
    /// Dropped by the sender's interface.
    pub dropped_at_sender: u64,
    /// Dropped by interfaces and queues in between.
    pub dropped_in_network: u64,
    /// Dropped by the receiver's interface, or by a processor's backlog, which is counted there,
    /// too.
    pub dropped_at_receiver: u64,
    /// Dropped by the receiver's socket.
    pub dropped_at_socket: u64,
    /// Different frames that the sink counted.
    pub received: u64,
}

/// Where a frame was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropPoint {
    /// The sender's queue.
    SenderQueue,
    /// The sender's interface.
    SenderInterface,
    /// In between.
    Network,
    /// The receiver's interface.
    ReceiverInterface,
    /// The receiver's socket: the application did not read in time.
    Socket,
}

/// What is missing and where it went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathLosses {
    /// Frames sent and not received.
    pub missing: u64,
    /// What counters saw, in the order of the path; points without a loss are left out.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<(String, u64)>"))]
    pub seen: Vec<(DropPoint, u64)>,
    /// Missing frames that no counter saw.
    pub unexplained: u64,
    /// Drops beyond what is missing: frames of other flows, or a frame counted at two places.
    pub excess: u64,
}

impl PathCounters {
    /// Attribute what is missing.
    #[must_use]
    pub fn losses(&self) -> PathLosses {
        let drop_points = [
            (DropPoint::SenderQueue, self.dropped_in_queue),
            (DropPoint::SenderInterface, self.dropped_at_sender),
            (DropPoint::Network, self.dropped_in_network),
            (DropPoint::ReceiverInterface, self.dropped_at_receiver),
            (DropPoint::Socket, self.dropped_at_socket),
        ];
        let dropped = drop_points.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count));
        let missing = self.sent.saturating_sub(self.received);
        PathLosses {
            missing,
            seen: drop_points.into_iter().filter(|(_, count)| *count > 0).collect(),
            unexplained: missing.saturating_sub(dropped),
            excess: dropped.saturating_sub(missing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_missing_is_seen_or_unexplained_but_for_the_excess(
            sent in 0..1u64 << 40, lost in 0..1u64 << 40, counts in any::<[u32; 5]>(),
        ) {
            let [queue, sender, network, receiver, socket] = counts.map(u64::from);
            let losses = PathCounters {
                sent,
                dropped_in_queue: queue,
                dropped_at_sender: sender,
                dropped_in_network: network,
                dropped_at_receiver: receiver,
                dropped_at_socket: socket,
                received: sent.saturating_sub(lost),
            }
            .losses();
            let counted: u64 = losses.seen.iter().map(|(_, count)| count).sum();
            prop_assert_eq!(losses.missing + losses.excess, counted + losses.unexplained);
            prop_assert!(losses.excess == 0 || losses.unexplained == 0);
        }
    }

    #[test]
    fn a_socket_that_drops_explains_what_is_missing() {
        let losses = PathCounters {
            sent: 100,
            dropped_at_socket: 7,
            received: 90,
            ..PathCounters::default()
        }
        .losses();
        assert_eq!((losses.missing, losses.unexplained, losses.excess), (10, 3, 0));
        assert_eq!(losses.seen, [(DropPoint::Socket, 7)]);
    }
}
