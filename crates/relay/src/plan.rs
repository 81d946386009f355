//! What wires and segments there are to be.

use crate::cards::Address;
use crate::direction::{DirectionProperties, LossRule};
use crate::medium::refuse;
use ethermeter_net::Error;
use ethermeter_simulator::shared::SharedSegment;
use ethermeter_traffic::classes::{Class, faults_of_classes};
use ethermeter_trial::{Fault, Trial};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A wire between two interfaces.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WirePlan {
    /// The names of the interfaces.
    pub ends: [String; 2],
    /// From the first to the second, and back.
    pub directions: [DirectionProperties; 2],
    /// The traffic classes of their queues, highest first; one queue without. A direction with
    /// classes has a rate, and neither a device nor a limit of frames under way.
    #[serde(default)]
    pub classes: [Vec<Class>; 2],
}

/// A shared segment between interfaces.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SegmentPlan {
    /// The names of the interfaces: one for each station of any trial, in their order.
    pub ends: Vec<String>,
    /// Of the first of them, the address of the host behind, where one is known; others are learnt
    /// from the frames that come from there.
    #[serde(default)]
    pub addresses: Vec<Option<Address>>,
    /// How long after its time on the medium a frame is given to a host: the same for all.
    pub offset_ns: u64,
    /// How long after its time it is decided what happens on the medium, at most the offset: a
    /// frame of which the relay learns later comes too late.
    pub lag_ns: u64,
    /// What the medium is while no other trial runs.
    pub medium: SegmentTrial,
}

/// The medium of a trial.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SegmentTrial {
    /// The trial of a segment: its stations are the first of the interfaces.
    pub trial: Trial,
    /// Of each station: when no more than so many frames wait in its card, its host is told how
    /// many have left. Never without.
    #[serde(default)]
    pub credit: Vec<Option<u32>>,
    /// Of each station: octets of frames that its card has room for, the one being sent included;
    /// no limit without.
    #[serde(default)]
    pub queue_octets: Vec<Option<u64>>,
    /// Stations that hear every frame.
    #[serde(default)]
    pub hear_all: Vec<u32>,
    /// The interface that hears every frame without being a station, by its number; behind the
    /// stations.
    #[serde(default)]
    pub listener: Option<u32>,
}

/// All wires and segments of a relay.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RelayPlan {
    /// Wires.
    #[serde(default)]
    pub wires: Vec<WirePlan>,
    /// Segments; at least one of both.
    #[serde(default)]
    pub segments: Vec<SegmentPlan>,
    /// Octets of the longest frame, destination address to FCS, without a VLAN tag.
    pub longest_octets: u32,
    /// The process with which the relay ends, if there is one.
    pub maker: Option<i32>,
    /// Where it listens for requests, if anywhere: a socket of the file system.
    #[serde(default)]
    pub control: Option<PathBuf>,
}

const MOST_WIRES: usize = 64;
const MOST_SEGMENTS: usize = 16;
const MOST_STATIONS: usize = 64;
const LONGEST_OFFSET_NS: u64 = 1_000_000_000;
/// A medium whose trial has no end: about 100 days.
const ENDLESS_PS: u64 = 1 << 63;
/// What a direction may hold: frames that wait and frames on their way.
const MOST_OCTETS: u64 = 1 << 30;
const MOST_FRAMES: u64 = 1 << 20;
const LONGEST_DELAY_NS: u64 = 10_000_000_000;

impl RelayPlan {
    /// A plan from JSON.
    ///
    /// # Errors
    /// If it is not a plan, or a value is out of range.
    pub fn read(text: &str) -> Result<Self, Error> {
        let plan: Self = serde_json::from_str(text)
            .map_err(|error| Error::refused("plan", error, "a plan of wires"))?;
        plan.check()?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), Error> {
        let (wires, segments) = (self.wires.len(), self.segments.len());
        expect("wires", wires, wires <= MOST_WIRES && wires + segments > 0, "1 to 64")?;
        expect("segments", segments, segments <= MOST_SEGMENTS, "at most 16")?;
        expect(
            "longest_octets",
            self.longest_octets,
            (64..=9018).contains(&self.longest_octets),
            "64 to 9018 octets",
        )?;
        let of_segments = self.segments.iter().flat_map(|segment| &segment.ends);
        let ends: Vec<&String> =
            self.wires.iter().flat_map(|wire| &wire.ends).chain(of_segments).collect();
        let different = ends.iter().collect::<BTreeSet<_>>().len();
        expect(
            "ends",
            different,
            different == ends.len(),
            "an interface of its own at each end of a wire or station",
        )?;
        self.segments.iter().try_for_each(check_segment)?;
        self.wires
            .iter()
            .flat_map(|wire| &wire.directions)
            .try_for_each(|direction| check_direction(direction, self.longest_octets))?;
        let directions =
            self.wires.iter().flat_map(|wire| wire.directions.iter().zip(&wire.classes));
        directions.into_iter().try_for_each(|(of, classes)| check_wire_classes(of, classes))
    }
}

impl SegmentTrial {
    /// The segment, whose medium never ends.
    ///
    /// # Errors
    /// With the path of the key and what is allowed.
    pub fn compiled(&self, ends: usize) -> Result<SharedSegment, Fault> {
        if self.trial.scenario.media.len() != 1 {
            return Err(Fault::new("media", "must be one medium"));
        }
        let mut shared = SharedSegment::new(&self.trial)?;
        let segment = shared.segment_mut();
        if segment.stations() > ends {
            let allowed = format!("must be at most {ends} stations: one for each interface");
            return Err(Fault::new("media[0].stations", allowed).got(segment.stations()));
        }
        refuse(segment)?;
        let behind = segment.stations()..ends;
        if let Some(listener) = self.listener.filter(|&at| !behind.contains(&(at as usize))) {
            let allowed = "must be an interface behind those of the stations";
            return Err(Fault::new("listener", allowed).got(listener));
        }
        segment.phases.end_ps = ENDLESS_PS - 1;
        Ok(shared)
    }
}

fn check_segment(segment: &SegmentPlan) -> Result<(), Error> {
    let ends = segment.ends.len();
    expect("ends", ends, (1..=MOST_STATIONS).contains(&ends), "1 to 64 interfaces")?;
    expect("offset_ns", segment.offset_ns, segment.offset_ns <= LONGEST_OFFSET_NS, "at most 1 s")?;
    expect("lag_ns", segment.lag_ns, segment.lag_ns <= segment.offset_ns, "at most the offset")
}

fn check_direction(direction: &DirectionProperties, longest_octets: u32) -> Result<(), Error> {
    let &DirectionProperties { rate_bps, delay_ns, queue_octets, frame_ns, room_frames, .. } =
        direction;
    if let Some(rate_bps) = rate_bps {
        let is_fine = (64_000..=10_000_000_000).contains(&rate_bps);
        expect("rate_bps", rate_bps, is_fine, "64 kb/s to 10 Gb/s")?;
    }
    for (what, value_ns) in [("delay_ns", delay_ns), ("frame_ns", frame_ns)] {
        expect(what, value_ns, value_ns <= LONGEST_DELAY_NS, "at most 10 s")?;
    }
    if let Some(frames) = room_frames {
        expect("room_frames", frames, (1..=MOST_FRAMES).contains(&frames), "1 to 2^20")?;
    }
    let (what, octets) = match (room_frames, rate_bps) {
        (Some(frames), _) => ("room_frames", u128::from(frames) * u128::from(longest_octets)),
        (None, Some(rate_bps)) if frame_ns == 0 => (
            "queue_octets with rate times delay",
            u128::from(queue_octets) + u128::from(rate_bps) * u128::from(delay_ns) / 8_000_000_000,
        ),
        _ => {
            return expect("room_frames", "none", false, "given without rate_bps or with frame_ns");
        }
    };
    expect(what, octets, octets <= u128::from(MOST_OCTETS), "at most 2^30 octets in all")?;
    match direction.loss {
        LossRule::None => Ok(()),
        LossRule::Chance { probability } => expect(
            "probability",
            probability,
            probability > 0.0 && probability <= 1.0,
            "above 0 and at most 1",
        ),
        LossRule::Every { frames } => expect("frames", frames, frames >= 1, "at least 1"),
    }
}

/// Classes are sound and at a wire that can have them, their rates below that of the wire, and
/// their rooms not too large.
fn check_wire_classes(direction: &DirectionProperties, classes: &[Class]) -> Result<(), Error> {
    if classes.is_empty() {
        return Ok(());
    }
    let rate_bps = direction
        .rate_bps
        .filter(|_| direction.frame_ns == 0 && direction.room_frames.is_none())
        .ok_or_else(|| {
            let allowed = "with rate_bps, and without frame_ns and room_frames";
            Error::refused("classes", classes.len(), allowed)
        })?;
    if let Some(fault) = faults_of_classes(classes).into_iter().next() {
        return Err(Error::Refused {
            what: fault.key,
            value: fault.value.unwrap_or_else(|| format!("{} classes", classes.len())),
            allowed: fault.allowed,
        });
    }
    let slopes: u64 = classes.iter().filter_map(|class| class.idle_slope_bps).sum();
    expect("idle_slope_bps", slopes, slopes < rate_bps, "below the rate of the wire in all")?;
    for class in classes {
        let room = class.queue_octets.unwrap_or(direction.queue_octets);
        let most = MOST_OCTETS / classes.len() as u64;
        expect("queue_octets", room, room <= most, &format!("at most {most} octets a class"))?;
    }
    Ok(())
}

fn expect(
    what: &'static str,
    value: impl std::fmt::Display + Copy,
    is_fine: bool,
    allowed: &str,
) -> Result<(), Error> {
    if is_fine {
        return Ok(());
    }
    Err(Error::refused(what, value, allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECTION: &str = r#"{"rate_bps": 10000000, "delay_ns": 0, "queue_octets": 1600, "loss": {"kind": "chance", "probability": 0.5}, "seed": 1}"#;

    fn plan(direction: &str, ends: &str) -> Result<RelayPlan, Error> {
        RelayPlan::read(&format!(
            r#"{{"wires": [{{"ends": {ends}, "directions": [{DIRECTION}, {direction}]}}], "longest_octets": 1518, "maker": null}}"#
        ))
    }

    #[test]
    fn a_plan_that_makes_sense_is_taken() {
        let plan = plan(DIRECTION, r#"["a", "b"]"#).expect("a plan");
        assert_eq!(plan.wires[0].directions[1].loss, LossRule::Chance { probability: 0.5 });
    }

    #[test]
    fn classes_that_cannot_be_are_refused_by_their_key() {
        let rest = r#"{"priorities": [0, 1, 2, 3, 4, 5]}"#;
        for (classes, what) in [
            (r#"[{"priorities": [6, 7]}]"#.to_owned(), "priorities"),
            (format!(r#"[{{"priorities": [5, 6, 7]}}, {rest}]"#), "priorities"),
            (format!(r#"[{{"priorities": [6, 7], "idle_slope_bps": 10000000}}, {rest}]"#), "idle_slope_bps"),
            (format!(r#"[{{"priorities": [6, 7], "quantum_octets": 0}}, {rest}]"#), "quantum_octets"),
            (format!(r#"[{{"priorities": [6, 7], "quantum_octets": 1, "idle_slope_bps": 1}}, {rest}]"#), "quantum_octets"),
            (
                r#"[{"priorities": [7], "quantum_octets": 1}, {"priorities": [6]}, {"priorities": [0, 1, 2, 3, 4, 5], "quantum_octets": 1}]"#
                    .to_owned(),
                "quantum_octets",
            ),
        ] {
            let text = format!(
                r#"{{"wires": [{{"ends": ["a", "b"], "directions": [{DIRECTION}, {DIRECTION}], "classes": [{classes}, []]}}], "longest_octets": 1518, "maker": null}}"#
            );
            let error = RelayPlan::read(&text).expect_err(what).to_string();
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn a_wire_without_a_rate_or_with_a_device_needs_a_room_that_memory_has() {
        let unpaced = DIRECTION.replace("10000000", "null");
        let with = |direction: &str, more: &str| {
            plan(&direction.replace("\"seed\"", &format!("{more}, \"seed\"")), r#"["a", "b"]"#)
        };
        for (direction, more, what) in [
            (unpaced.as_str(), r#""frame_ns": 0"#, "room_frames = none"),
            (DIRECTION, r#""frame_ns": 1"#, "room_frames = none"),
            (&unpaced, r#""room_frames": 0"#, "room_frames = 0"),
            (&unpaced, r#""room_frames": 1048577"#, "room_frames = 1048577"),
            // 10^6 frames of 1518 octets
            (&unpaced, r#""room_frames": 1000000"#, "room_frames = 1518000000"),
            (DIRECTION, r#""room_frames": 1, "frame_ns": 10000000001"#, "frame_ns"),
        ] {
            let error = with(direction, more).expect_err(what).to_string();
            assert!(error.contains(what), "{error}");
        }
        let direction = with(&unpaced, r#""frame_ns": 1, "room_frames": 1"#).expect("a plan").wires
            [0]
        .directions[1];
        assert_eq!(
            (direction.rate_bps, direction.frame_ns, direction.room_frames),
            (None, 1, Some(1))
        );
    }

    #[test]
    fn classes_need_a_rate_and_no_device() {
        let classes = r#"[{"priorities": [0, 1, 2, 3, 4, 5, 6, 7]}]"#;
        for (from, to) in [("10000000", "null"), ("\"seed\"", "\"frame_ns\": 1, \"seed\"")] {
            let direction =
                DIRECTION.replace(from, to).replace("\"seed\"", "\"room_frames\": 1, \"seed\"");
            let text = format!(
                r#"{{"wires": [{{"ends": ["a", "b"], "directions": [{direction}, {DIRECTION}], "classes": [{classes}, []]}}], "longest_octets": 1518, "maker": null}}"#
            );
            let error = RelayPlan::read(&text).expect_err(to).to_string();
            assert!(error.contains("classes = 1"), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_name() {
        for (from, to, what) in [
            ("10000000", "1", "rate_bps"),
            ("\"delay_ns\": 0", "\"delay_ns\": 10000000001", "delay_ns"),
            ("1600", "2000000000", "queue_octets"),
            ("0.5", "0.0", "probability"),
            ("0.5", "1.5", "probability"),
            ("\"seed\"", "\"seeds\"", "plan"),
        ] {
            let error =
                plan(&DIRECTION.replace(from, to), r#"["a", "b"]"#).expect_err(what).to_string();
            assert!(error.contains(what), "{error}");
        }
        assert!(plan(DIRECTION, r#"["a", "a"]"#).is_err());
    }
}
