//! Shared media: attachment points, medium access, and the stations on them.

pub use crate::csma_cd::CsmaCd;
use crate::csma_cd::LONGEST_BITS;
use crate::fault::{Checked, Faults};
use crate::idealised::{Adaptive, Polling, Slotted, Unslotted};
use crate::limits::{LONGEST_DELAY_PS, LONGEST_END_PS};
use crate::plca::{Interval, Plca, PlcaNodes, check_intervals};
use ethermeter_traffic::custom::PythonFunction;
use ethermeter_trial_macros::table;
use serde::{Deserialize, Serialize};

/// A medium that several stations share.
#[table(together)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Medium {
    /// Name, unique among the media.
    pub name: String,
    /// Duration of a bit in picoseconds, 1 to 10⁹.
    #[file(key = "rate", unit = "bit time", least = 1, most = 1_000_000_000)]
    pub bit_ps: u64,
    /// Medium access control.
    pub mac: Mac,
    /// One-way propagation in picoseconds between attachment points, a square and symmetric matrix
    /// of at most 1024 rows; its diagonal is the propagation between two stations at one point.
    /// Each value is at most 10¹² (1 s) and no longer than any detour.
    #[file(skip)]
    pub delay_ps: Vec<Vec<u64>>,
    /// Stations on the medium, numbered through these groups in order; 1 to 1024 in all.
    pub stations: Vec<Stations>,
    /// Open or shorted cable, on a medium of CSMA/CD; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[file(skip)]
    pub cable_fault: Option<CableFault>,
}

/// An open or shorted cable: signals that stations send meanwhile come back to them.
#[table(together)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CableFault {
    /// When it begins, in picoseconds.
    pub from_ps: u64,
    /// When it ends, in picoseconds.
    #[file(unit = "time", least = 1, most = LONGEST_END_PS)]
    pub to_ps: u64,
    /// One-way propagation to its location from each attachment point, in picoseconds, at most 10¹²
    /// each.
    #[file(skip)]
    pub delay_ps: Vec<u64>,
}

impl Medium {
    fn check_together(&self, faults: &mut Faults) {
        let Some(fault) = &self.cable_fault else { return };
        if !matches!(self.mac, Mac::CsmaCd(_)) {
            faults.add("cable_fault", "must be absent without CSMA/CD alone");
        }
        if fault.delay_ps.len() != self.delay_ps.len() {
            let allowed = format!("must have {} entries, one a point", self.delay_ps.len());
            faults.add_value("cable_fault.delay_ps", fault.delay_ps.len(), allowed);
        }
    }
}

impl CableFault {
    fn check_together(&self, faults: &mut Faults) {
        if self.to_ps <= self.from_ps {
            faults.add_value("to_ps", self.to_ps, "must be after from_ps");
        }
        for (point, &delay_ps) in self.delay_ps.iter().enumerate() {
            faults.range(&format!("delay_ps[{point}]"), delay_ps, 0, LONGEST_DELAY_PS);
        }
    }
}

/// Medium access control: how stations share the medium.
#[table]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mac {
    /// CSMA/CD of 802.3-2022 § 4.2, and of its predecessors.
    CsmaCd(CsmaCd),
    /// PLCA of 802.3-2022 clause 148 above CSMA/CD, at the stations that have it.
    Plca(Plca),
    /// Idealised: carrier sense in slots of one propagation time (Tobagi and Hunt 1980; Tasaka
    /// 1986).
    Slotted(Slotted),
    /// Idealised: contention in slots that begin with the silence (Metcalfe and Boggs 1976; Almes
    /// and Lazowska 1979; Lam 1980).
    Adaptive(Adaptive),
    /// Idealised: carrier sense without slots, all stations at one distance (Coyle and Liu 1983;
    /// Takagi and Kleinrock 1985).
    Unslotted(Unslotted),
    /// Idealised: cyclic service of queues (the token rings of Bux 1981).
    Polling(Polling),
}

/// Hosts that are alike but for their attachment points.
#[table(together)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stations {
    /// Name of the node: a host, whose `count` is the number of points.
    #[file(key = "")]
    pub node: String,
    /// Attachment point of each host: an index into `delay_ps`.
    #[file(key = "", skip)]
    pub points: Vec<u32>,
    /// Largest frequency error of a host's clock, at most 1%; the error of each host is drawn
    /// uniformly. Only with a coder or a load register, which follow that clock.
    #[serde(default)]
    #[file(key = "clock_error", unit = "clock error", least = 0, most = 10_000_000)]
    pub clock_error_ppb: u64,
    /// Silence beyond the gap before a station starts, at most 0.1 s; stations with a shorter wait
    /// send first.
    #[serde(default)]
    #[file(key = "priority_wait", unit = "time", least = 0, most = LONGEST_DELAY_PS)]
    pub priority_wait_ps: u64,
    /// Backoff rule: the wait after a collision; "exponential" with the limit of the standard if
    /// absent.
    #[serde(default)]
    pub backoff: Backoff,
    /// Attempts before a frame is given up, the first included; that of the standard if absent.
    #[serde(default = "attempt_limit")]
    #[file(least = 1, most = 1_000)]
    pub attempt_limit: u32,
    /// What follows the last attempt: "discard" loses the frame, "resume" hands it to the
    /// transmitter again. If absent "resume" with a coder, else "discard".
    #[serde(default)]
    pub after_attempt_limit: AfterAttemptLimit,
    /// What follows a late collision: "backoff" and another attempt, or "discard" of the frame.
    #[serde(default)]
    pub after_late_collision: AfterLateCollision,
    /// Jam of these stations; that of the segment if absent. Not on 10BASE-T1S.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[file(key = "jam", unit = "bits", least = 1, most = LONGEST_BITS)]
    pub jam_bits: Option<u64>,
    /// PLCA settings that differ from those of the segment; 10BASE-T1S only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plca: Option<PlcaNodes>,
    /// Intervals in which the stations are silent: they neither send nor take part in PLCA.
    /// 10BASE-T1S only; never if absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub down: Vec<Interval>,
}

impl Mac {
    /// Its constants of CSMA/CD; none of an idealised one.
    #[must_use]
    pub fn csma_cd(&self) -> Option<&CsmaCd> {
        match self {
            Self::CsmaCd(constants) => Some(constants),
            Self::Plca(plca) => Some(&plca.csma_cd),
            _ => None,
        }
    }
}

impl Stations {
    fn check_together(&self, faults: &mut Faults) {
        faults.within("down", |faults| check_intervals(&self.down, faults));
        if let Some(nodes) = self.plca.as_ref().filter(|nodes| nodes.ids.len() != self.points.len())
        {
            let allowed = format!("must have {} entries, one a station", self.points.len());
            faults.add_value("plca.ids", nodes.ids.len(), allowed);
        }
    }
}

impl Checked for PythonFunction {
    fn check(&self, _: &mut Faults) {}
}

// 802.3-2022 § 4.4.2: attemptLimit 16.
fn attempt_limit() -> u32 {
    16
}

/// Rule for r, the number of slots to wait after the n-th collision of a frame.
#[table]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "rule", rename_all = "snake_case", deny_unknown_fields)]
pub enum Backoff {
    /// r uniform, 0 ≤ r < 2^min(n, limit) (802.3-2022 § 4.2.3.2.5).
    Exponential {
        /// Number of collisions after which the range stops growing.
        #[file(least = 0, most = 30)]
        limit: u32,
    },
    /// r uniform, 0 ≤ r ≤ min(n, limit).
    Linear {
        /// Number of collisions after which the range stops growing.
        #[file(least = 0, most = 30)]
        limit: u32,
    },
    /// r uniform, 0 ≤ r < slots.
    Constant {
        /// Number of slots in the range from which the wait is drawn.
        #[file(least = 1, most = 1_000_000)]
        slots: u32,
    },
    /// r = 0.
    None {},
    /// r is the host's clock masked by its load register. The register is empty at first and shifts
    /// in a one from the right at each collision: r < 2^min(n, bits), as uniform as the clock
    /// (Gonsalves 1982, section 2.2).
    #[serde(rename = "load-register")]
    LoadRegister {
        /// Number of low bits of the host's clock that the register masks.
        #[file(least = 1, most = 16)]
        bits: u32,
        /// Time in which the host's clock advances by one, at most 0.1 s.
        #[file(key = "clock", unit = "time", least = 1, most = LONGEST_DELAY_PS)]
        clock_ps: u64,
        /// Whether the wait ends with a tick of the clock, one in each slot; if false, it ends
        /// whole slots after the jam.
        ticks: bool,
    },
    /// r is what a function in Python returns, in the process that has registered it.
    Python {
        /// The function.
        function: Box<PythonFunction>, // boxed: other rules stay small
    },
}

impl Default for Backoff {
    // 802.3-2022 § 4.4.2: backoffLimit 10.
    fn default() -> Self {
        Self::Exponential { limit: 10 }
    }
}

impl Backoff {
    /// How many values r can take after the n-th collision; 1 of a function in Python, which is
    /// called instead.
    #[inline]
    #[must_use]
    pub fn range(&self, collisions: u32) -> u64 {
        match *self {
            Self::Exponential { limit } => 1 << collisions.min(limit),
            Self::Linear { limit } => u64::from(collisions.min(limit)) + 1,
            Self::Constant { slots } => u64::from(slots),
            Self::None {} | Self::Python { .. } => 1,
            Self::LoadRegister { bits, .. } => 1 << collisions.min(bits),
        }
    }
}

/// What follows the last failed attempt.
#[table]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AfterAttemptLimit {
    /// The frame is given up.
    #[default]
    Discard,
    /// The driver hands the same frame over again; its delay keeps counting.
    Resume,
}

/// What follows a late collision.
#[table]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AfterLateCollision {
    /// The same as any collision.
    #[default]
    Backoff,
    /// The frame is given up, as many controllers do.
    Discard,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exponential: IEEE 802.3 § 4.2.3.2.5, 0 <= r < 2^k with k = min(n, 10). Linear: 0 <= r <= n.
    #[test]
    fn a_backoff_grows_to_its_limit() {
        let after = |backoff: Backoff| [0, 1, 2, 3, 4].map(|collisions| backoff.range(collisions));
        assert_eq!(after(Backoff::Exponential { limit: 3 }), [1, 2, 4, 8, 8]);
        assert_eq!(after(Backoff::Linear { limit: 3 }), [1, 2, 3, 4, 4]);
        assert_eq!(after(Backoff::Constant { slots: 7 }), [7; 5]);
        assert_eq!(after(Backoff::None {}), [1; 5]);
    }
}
