//! A shared segment at work: the medium between its interfaces, in real time.
//!
//! ```text
//!   on the medium      t                     t + lag              t + offset
//!        ──────────────┼────────────────────────┼────────────────────┼─────
//!                 what happens           when it is decided     when a host gets it
//! ```
//!
//! Stamps of the kernel are times of the medium. What happens at a time is decided `lag` later,
//! when the relay knows of every frame that came before it; so a late wake-up of the relay changes
//! nothing on the medium. A frame of which it learns later still is a violation. Hosts get frames a
//! constant `offset` after their times, a propagation delay that is declared.

use crate::account::TimeQuantiles;
use crate::capture::MediumCapture;
use crate::cards::StationTotals;
use crate::ends::{self, CaptureRing};
use crate::medium::{Address, EmulatedMedium, OpportunityCounts};
use crate::plan::{SegmentPlan as Plan, SegmentTrial};
use ethermeter_ethernet::frame::FCS;
use ethermeter_net::time::{PS_PER_NS, WallClock};
use ethermeter_net::wire::credit::CreditNote;
use ethermeter_net::{Error, Timeline};
use ethermeter_simulator::shared::SharedSegment;
use ethermeter_traffic::Histogram;
use ethermeter_trial::Counts;
use serde::Serialize;
use socket2::Socket;
use std::ops::ControlFlow;

/// Frames taken out of a ring at a time, and frames sent at a time.
const BATCH: usize = 16;
/// Events that are decided at a time: some 20 µs, so that frames which are due do not wait for
/// long.
const EVENTS: usize = 256;
/// A host is told when so many of the frames that it may have ahead have left: its card is never
/// near empty, and a note is sent for many frames.
const NOTES_PER_CREDIT: u64 = 8;

/// The interfaces of a segment.
pub(crate) struct SegmentPorts {
    pub names: Vec<String>,
    pub sockets: Vec<Socket>,
    addresses: Vec<Option<Address>>,
    rings: Vec<CaptureRing>,
    offset_ns: u64,
    pub lag_ns: u64,
    longest_octets: u32,
    /// What is captured of the segment, whatever trial runs on it.
    pub capture: Option<MediumCapture>,
}

/// Frames that did not reach the medium or a host, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SegmentDrops {
    /// Frames that came before the medium of the trial began.
    pub early: u64,
    /// Frames from an interface that is no station of the trial.
    pub unattached: u64,
    /// Longer than the longest frame: several frames in one, by segmentation offload.
    pub too_long: u64,
    /// Frames whose checksums were left to an interface that computes them.
    pub unfinished: u64,
    /// Frames that arrived when the ring between kernel and relay was full.
    pub ring: u64,
    /// The interface of their receiver did not take them.
    pub refused: u64,
}

/// What happened at a station of a segment.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StationReport {
    /// Interface of the station.
    pub interface: String,
    /// Frames of the station.
    #[serde(flatten)]
    pub totals: StationTotals,
    /// Its transmit opportunities; absent without PLCA.
    pub plca: Option<OpportunityCounts>,
}

/// What happened on a segment since its medium began.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SegmentCounts {
    /// Stations of the trial.
    pub stations: Vec<StationReport>,
    /// Time of a bit.
    pub bit_ps: u64,
    /// Cycles of PLCA: from a beacon to the next one; absent without PLCA.
    pub cycles: Option<u64>,
    /// How long the medium ran.
    pub over_ns: u64,
    /// Processor time of the relay meanwhile.
    pub worked_ns: u64,
    /// How long after its time on the medium a frame reaches a host.
    pub offset_ns: u64,
    /// How long after its time it is decided what happens on the medium.
    pub lag_ns: u64,
    /// Frames that did not reach the medium or a host, by cause.
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, u64>"))]
    pub dropped: SegmentDrops,
    /// Frames of which the relay learnt after it had decided what happened at their time.
    pub violations: u64,
    /// How much too late it learnt of them.
    pub too_late_ns: TimeQuantiles,
    /// How long after its due time a frame reached a host.
    pub late_ns: TimeQuantiles,
    /// How long after the kernel's stamp a frame was noticed.
    pub noticed_after_ns: TimeQuantiles,
    /// How long after the latest time for it a decision on the medium was made, and 0 if before.
    pub behind_ns: TimeQuantiles,
    /// Counts of the trial, as text; only at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<String>,
}

/// A segment at work.
pub(crate) struct RunningSegment<'b> {
    medium: EmulatedMedium<'b>,
    credit: Vec<Option<u32>>,
    /// Frames of each station that had left its card when its host was told last.
    credited: Vec<u64>,
    bit_ps: u64,
    began_ns: u64,
    worked_ns: u64,
    offset_ns: u64,
    lag_ns: u64,
    dropped: SegmentDrops,
    lateness: Histogram,
    noticed: Histogram,
    behind: Histogram,
}

impl SegmentPorts {
    pub fn open(plan: &Plan, longest_octets: u32) -> Result<Self, Error> {
        let (mut sockets, mut rings) = (Vec::new(), Vec::new());
        for name in &plan.ends {
            let (socket, index) = ends::open_socket(name)?;
            ends::bypass_queue(&socket)?;
            rings.push(CaptureRing::open(&socket, index, longest_octets + 4)?);
            sockets.push(socket);
        }
        let names = plan.ends.clone();
        let (offset_ns, lag_ns) = (plan.offset_ns, plan.lag_ns);
        let addresses = plan.addresses.clone();
        let capture = None;
        Ok(Self { names, sockets, addresses, rings, offset_ns, lag_ns, longest_octets, capture })
    }
}

impl<'b> RunningSegment<'b> {
    /// A segment whose medium begins at `began_ns`.
    pub fn new(
        ports: &SegmentPorts,
        shared: &'b SharedSegment,
        trial: &SegmentTrial,
        began_ns: u64,
        time: &impl Timeline,
    ) -> Self {
        let mut medium = EmulatedMedium::new(shared, false).expect("refused when it was compiled");
        medium.begin_at(began_ns);
        let stations = medium.stations();
        for &station in trial.hear_all.iter().filter(|&&station| station < stations) {
            medium.hear_all(station);
        }
        for (station, octets) in (0..stations).zip(&trial.queue_octets) {
            medium.limit(station, octets.unwrap_or(u64::MAX));
        }
        for (station, address) in (0..stations).zip(&ports.addresses) {
            if let Some(address) = address {
                medium.attach(*address, station);
            }
        }
        if let Some(listener) = trial.listener {
            medium.listen(listener);
        }
        Self {
            medium,
            credit: trial.credit.clone(),
            credited: vec![0; stations as usize],
            bit_ps: shared.segment().bit.ps(),
            began_ns,
            worked_ns: time.worked_ns(),
            offset_ns: ports.offset_ns,
            lag_ns: ports.lag_ns,
            dropped: SegmentDrops::default(),
            lateness: Histogram::default(),
            noticed: Histogram::default(),
            behind: Histogram::default(),
        }
    }

    /// Take what has come before `next_trial_ns`, and decide what happens on the medium as far as
    /// every frame is known. Whether that was all.
    pub fn advance(
        &mut self,
        ports: &mut SegmentPorts,
        wall: WallClock,
        next_trial_ns: u64,
        time: &impl Timeline,
    ) -> bool {
        // The time before the rings: what comes between the two is decided on the next time.
        let mut is_all_taken = true;
        let mut complete_until_ns = time.now_ns();
        for (station, ring) in (0..).zip(&mut ports.rings) {
            let mut last_ns = 0;
            let mut now_ns = None;
            let frames_read = ring.take(BATCH, |arrived| {
                let now_ns = *now_ns.get_or_insert_with(|| time.now_ns());
                // A wall clock that has just been set may give stamps of the future.
                let stamped_ns = wall.monotonic_ns(arrived.stamped_wall_ns).min(now_ns);
                if stamped_ns >= next_trial_ns {
                    return ControlFlow::Break(());
                }
                last_ns = stamped_ns;
                self.noticed.record((now_ns - last_ns) * PS_PER_NS);
                let frame = arrived.octets as u64 + FCS.0;
                let tag = arrived.tag.as_ref().map_or(&[][..], |tag| &tag[..]);
                let cause = if last_ns < self.began_ns {
                    &mut self.dropped.early
                } else if station >= self.medium.stations() {
                    &mut self.dropped.unattached
                } else if frame > u64::from(ports.longest_octets) + tag.len() as u64 {
                    &mut self.dropped.too_long
                } else if !arrived.is_finished {
                    &mut self.dropped.unfinished
                } else {
                    let stamp_ps = (last_ns - self.began_ns) * PS_PER_NS;
                    let chunks = [arrived.head, tag, arrived.rest, arrived.padding];
                    self.medium.offer(stamp_ps, station, &chunks);
                    return ControlFlow::Continue(());
                };
                *cause += 1;
                ControlFlow::Continue(())
            });
            if frames_read == BATCH {
                complete_until_ns = complete_until_ns.min(last_ns); // there may be more from then on
                is_all_taken = false;
            }
        }
        let until_ps =
            complete_until_ns.saturating_sub(self.lag_ns).saturating_sub(self.began_ns) * PS_PER_NS;
        if let Some(next_ps) = self.medium.next_ps().filter(|&next_ps| next_ps < until_ps) {
            let latest_ns = self.began_ns + self.offset_ns + next_ps.div_ceil(PS_PER_NS);
            self.behind.record(time.now_ns().saturating_sub(latest_ns) * PS_PER_NS);
        }
        let is_all_decided = self.medium.advance_some(until_ps, EVENTS);
        if ports.capture.is_some() {
            self.capture(ports, time.now_ns());
        }
        is_all_decided && is_all_taken
    }

    /// Begin, go on with or end the capture of the segment.
    fn capture(&mut self, ports: &mut SegmentPorts, now_ns: u64) {
        let Some(capture) = &mut ports.capture else { return };
        match self.medium.recorder() {
            Some(recorder) => capture.exchange(&mut recorder.buffer, now_ns),
            None => drop(self.medium.record(capture.recorder(self.began_ns))),
        }
        if capture.is_over() {
            if let Some(recorder) = self.medium.record(None) {
                capture.take_back(recorder);
            }
            let ended = ports.capture.take();
            drop(ended.map(MediumCapture::end));
        }
    }

    /// Tell hosts how many of their frames have left their cards.
    pub fn give_credit(&mut self, ports: &SegmentPorts) {
        while let Some(station) = self.medium.next_finished() {
            let few = self.credit.get(station as usize).copied().flatten().unwrap_or(0);
            let (totals, _) = self.medium.station(station);
            let since_note = totals.finished() - self.credited[station as usize];
            if since_note >= u64::from(few) / NOTES_PER_CREDIT {
                self.note(ports, station);
            }
        }
    }

    /// Tell all hosts whose cards are empty, in case a note was lost.
    pub fn give_credit_again(&mut self, ports: &SegmentPorts) {
        for station in 0..self.medium.stations() {
            let (totals, _) = self.medium.station(station);
            if totals.arrived > 0 && totals.arrived == totals.finished() {
                self.note(ports, station);
            }
        }
    }

    /// Tell a host how many of its frames have left its card, if few enough wait there.
    fn note(&mut self, ports: &SegmentPorts, station: u32) {
        let Some(&Some(few)) = self.credit.get(station as usize) else { return };
        let (totals, Some(address)) = self.medium.station(station) else { return };
        let (arrived, finished) = (totals.arrived, totals.finished());
        if arrived - finished <= u64::from(few) {
            self.credited[station as usize] = finished;
            let note = CreditNote { began_ns: self.began_ns, arrived, finished };
            // One that the interface does not take is made good by the next.
            ends::send(&ports.sockets[station as usize], (&note.frame(address), &[]));
        }
    }

    /// Give hosts the frames that are due, some at a time.
    pub fn deliver(&mut self, ports: &SegmentPorts, time: &impl Timeline) {
        for _ in 0..BATCH {
            let Some((delivery, octets)) = self.medium.next_delivery() else { return };
            let due_ns = self.began_ns + self.offset_ns + delivery.at_ps.div_ceil(PS_PER_NS);
            let now_ns = time.now_ns();
            if due_ns > now_ns {
                return;
            }
            if ends::send(&ports.sockets[delivery.station as usize], (octets, &[])) {
                self.lateness.record((now_ns - due_ns) * PS_PER_NS);
            } else {
                self.dropped.refused += 1;
            }
            self.medium.forget();
        }
    }

    /// When something is to be done next: a decision half-way between the earliest and the latest
    /// time for it, so that several are made at a time; or a delivery.
    pub fn next_ns(&self) -> Option<u64> {
        let host_ns = |ps: u64, later_ns| self.began_ns + ps.div_ceil(PS_PER_NS) + later_ns;
        let decided_ns = self.lag_ns + (self.offset_ns - self.lag_ns) / 2;
        let decision_ns = self.medium.next_ps().map(|at_ps| host_ns(at_ps, decided_ns));
        let delivery = self.medium.next_delivery();
        let delivery_ns = delivery.map(|(it, _)| host_ns(it.at_ps, self.offset_ns));
        [decision_ns, delivery_ns].into_iter().flatten().min()
    }

    /// What happened so far.
    pub fn counted(
        &mut self,
        ports: &SegmentPorts,
        time: &impl Timeline,
    ) -> Result<SegmentCounts, Error> {
        for socket in &ports.sockets {
            self.dropped.ring += ends::dropped_since(socket)?;
        }
        let stations = (0..self.medium.stations()).map(|station| StationReport {
            interface: ports.names[station as usize].clone(),
            totals: *self.medium.station(station).0,
            plca: self.medium.turns(station),
        });
        Ok(SegmentCounts {
            stations: stations.collect(),
            bit_ps: self.bit_ps,
            cycles: self.medium.cycles(),
            over_ns: time.now_ns().saturating_sub(self.began_ns),
            worked_ns: time.worked_ns() - self.worked_ns,
            offset_ns: self.offset_ns,
            lag_ns: self.lag_ns,
            dropped: self.dropped,
            violations: self.medium.violations,
            too_late_ns: (&self.medium.too_late).into(),
            late_ns: (&self.lateness).into(),
            noticed_after_ns: (&self.noticed).into(),
            behind_ns: (&self.behind).into(),
            counts: None,
        })
    }

    /// End its medium; returns what was counted of the trial.
    pub fn leave(self, ports: &mut SegmentPorts) -> Counts {
        let (counts, _, recorder) = self.medium.finish_recorded();
        if let (Some(recorder), Some(capture)) = (recorder, &mut ports.capture) {
            capture.take_back(recorder);
        }
        counts
    }

    /// What happened, with the counts of the trial as a simulation has them, as text.
    pub fn finish(
        mut self,
        ports: &mut SegmentPorts,
        time: &impl Timeline,
    ) -> Result<SegmentCounts, Error> {
        let mut counted = self.counted(ports, time)?;
        let counts = self.leave(ports);
        counted.counts = Some(serde_json::to_string(&counts).expect("counts are JSON"));
        Ok(counted)
    }
}
