//! Frame lengths, destination address to FCS, in bits.

use crate::random::Stream;
use crate::times::{pick, weights_fault};
use serde::{Deserialize, Serialize};

/// Lengths of a station's frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Lengths {
    /// All alike.
    Fixed {
        /// Bits of a frame.
        bits: u64,
    },
    /// Chosen at random, each as often as its weight says.
    Mix {
        /// Bits of each kind of frame.
        bits: Vec<u64>,
        /// Weight of each kind.
        weights: Vec<f64>,
    },
    /// As many of a coder's samples as there are when it is sent ([`crate::voice`]).
    Samples {
        /// Part of the length that is not samples: addresses, type, check sequence and headers of a
        /// voice protocol; in `data` only the latter.
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "overhead", "x-unit" = "bits", "minimum" = 0, "maximum" = 1_000_000_000)))]
        overhead_bits: u64,
        /// Length at which the frame is ready to be sent, overhead included.
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "least", "x-unit" = "bits", "minimum" = 1, "maximum" = 1_000_000_000)))]
        min_bits: u64,
        /// Largest length, overhead included; beyond it each new sample replaces the oldest.
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "most", "x-unit" = "bits", "minimum" = 1, "maximum" = 1_000_000_000)))]
        max_bits: u64,
        /// Packets of one length, `least` and `most`, in so many buffers: one fills while others wait.
        /// Samples that find all of them full are lost. Without it, one packet that grows.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "buffers", "minimum" = 2, "maximum" = MOST_PACKET_BUFFERS)))]
        buffers: Option<u32>,
        /// A packet whose oldest sample is older than this is discarded, instead of being sent, when
        /// its station could begin to send it.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(extend("x-key" = "discard_after", "x-unit" = "time", "minimum" = 1, "maximum" = 1_000_000_000_000_000_u64)))]
        discard_after_ps: Option<u64>,
    },
}

/// Most buffers for packets of one length.
pub const MOST_PACKET_BUFFERS: u32 = 1000;

impl Lengths {
    /// The next length, in bits. A fixed one uses no draw; of one that grows, the least.
    #[inline]
    pub fn draw(&self, chance: &mut Stream) -> u64 {
        match self {
            Self::Fixed { bits } | Self::Samples { min_bits: bits, .. } => *bits,
            Self::Mix { bits, weights } => bits[pick(weights, chance)],
        }
    }

    /// The next length, in bits: the one of index `kind` if that is given, else as [`Lengths::draw`].
    #[inline]
    pub fn next(&self, kind: Option<u16>, chance: &mut Stream) -> u64 {
        match kind {
            Some(kind) => self.given_bits()[usize::from(kind)],
            None => self.draw(chance),
        }
    }

    /// Mean length in bits, over frames; of those that grow, the least.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn mean_bits(&self) -> f64 {
        match self {
            Self::Fixed { bits } | Self::Samples { min_bits: bits, .. } => *bits as f64,
            Self::Mix { bits, weights } => {
                bits.iter().zip(weights).map(|(&b, w)| b as f64 * w).sum::<f64>()
                    / weights.iter().sum::<f64>()
            }
        }
    }

    /// Lengths that are given, in bits; none of those that grow.
    #[must_use]
    pub fn given_bits(&self) -> &[u64] {
        match self {
            Self::Fixed { bits } => std::slice::from_ref(bits),
            Self::Mix { bits, .. } => bits,
            Self::Samples { .. } => &[],
        }
    }

    /// Shortest and longest length that occur, in bits.
    #[must_use]
    pub fn range_bits(&self) -> (u64, u64) {
        match self {
            Self::Fixed { bits } => (*bits, *bits),
            Self::Samples { min_bits, max_bits, .. } => (*min_bits, *max_bits),
            Self::Mix { bits, weights } => {
                let occurring =
                    || bits.iter().zip(weights).filter(|(_, w)| **w > 0.0).map(|(b, _)| *b);
                (occurring().min().unwrap_or(0), occurring().max().unwrap_or(0))
            }
        }
    }

    /// Its fault, if any.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        const LONGEST_BITS: u64 = 8_000_000_000; // 1 GB: a jabbering station, and far from overflow
        let fine = |bits: &u64| (1..=LONGEST_BITS).contains(bits);
        match self {
            Self::Fixed { bits } if fine(bits) => None,
            Self::Mix { bits, weights } if bits.iter().all(fine) => {
                weights_fault(weights, bits.len())
            }
            Self::Samples { overhead_bits, min_bits, max_bits, .. } => {
                let ordered = overhead_bits < max_bits
                    && min_bits <= max_bits
                    && fine(min_bits)
                    && fine(max_bits);
                (!ordered).then(|| {
                    format!("must have overhead_bits below max_bits, and 1 ≤ min_bits ≤ max_bits ≤ {LONGEST_BITS}, got {self:?}")
                })
            }
            _ => Some(format!("must be from 1 to {LONGEST_BITS} bits, got {self:?}")),
        }
    }
}
