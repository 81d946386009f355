//! What wires there are to be.

use crate::direction::{Loss, Properties};
use ethermeter_live::Error;
use ethermeter_traffic::classes::{check_classes, Class};
use serde::Deserialize;
use std::collections::BTreeSet;

/// A wire between two interfaces.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wire {
    /// The names of the interfaces.
    pub ends: [String; 2],
    /// From the first to the second, and back.
    pub directions: [Properties; 2],
    /// The traffic classes of their queues, highest first; one queue without.
    #[serde(default)]
    pub classes: [Vec<Class>; 2],
}

/// All wires of a relay.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// At least one.
    pub wires: Vec<Wire>,
    /// Octets of the longest frame, destination address to FCS, without a VLAN tag.
    pub longest_octets: u32,
    /// The process with which the relay ends, if there is one.
    pub maker: Option<i32>,
}

const MOST_WIRES: usize = 64;
/// What a direction may hold: frames that wait and frames on their way.
const MOST_OCTETS: u64 = 1 << 30;
const LONGEST_DELAY_NS: u64 = 10_000_000_000;

impl Plan {
    /// A plan from JSON.
    ///
    /// # Errors
    /// If it is not a plan, or a value is out of range.
    pub fn read(text: &str) -> Result<Self, Error> {
        let plan: Self = serde_json::from_str(text).map_err(|error| Error::Refused {
            what: "plan",
            value: error.to_string(),
            allowed: "a plan of wires".into(),
        })?;
        plan.check()?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), Error> {
        expect("wires", self.wires.len(), (1..=MOST_WIRES).contains(&self.wires.len()), "1 to 64")?;
        expect(
            "longest_octets",
            self.longest_octets,
            (64..=9018).contains(&self.longest_octets),
            "64 to 9018 octets",
        )?;
        let ends: Vec<&String> = self.wires.iter().flat_map(|wire| &wire.ends).collect();
        let different = ends.iter().collect::<BTreeSet<_>>().len();
        expect(
            "ends",
            different,
            different == ends.len(),
            "an interface of its own at each end of a wire",
        )?;
        self.wires.iter().flat_map(|wire| &wire.directions).try_for_each(check_direction)?;
        let directions =
            self.wires.iter().flat_map(|wire| wire.directions.iter().zip(&wire.classes));
        directions.into_iter().try_for_each(|(of, classes)| check_wire_classes(of, classes))
    }
}

fn check_direction(of: &Properties) -> Result<(), Error> {
    expect(
        "rate_bps",
        of.rate_bps,
        (64_000..=10_000_000_000).contains(&of.rate_bps),
        "64 kb/s to 10 Gb/s",
    )?;
    expect("delay_ns", of.delay_ns, of.delay_ns <= LONGEST_DELAY_NS, "at most 10 s")?;
    let on_the_way = u128::from(of.rate_bps) * u128::from(of.delay_ns) / 8_000_000_000;
    let held = u128::from(of.queue_octets) + on_the_way;
    expect(
        "queue_octets with rate times delay",
        held,
        held <= u128::from(MOST_OCTETS),
        "at most 2^30 octets",
    )?;
    match of.loss {
        Loss::None => Ok(()),
        Loss::Chance { probability } => expect(
            "probability",
            probability,
            probability > 0.0 && probability <= 1.0,
            "above 0 and at most 1",
        ),
        Loss::Every { frames } => expect("frames", frames, frames >= 1, "at least 1"),
    }
}

/// Classes are sound, their rates below that of the wire, and their rooms not too large.
fn check_wire_classes(of: &Properties, classes: &[Class]) -> Result<(), Error> {
    check_classes(classes).map_err(|fault| Error::Refused {
        what: fault.key,
        value: fault.value.unwrap_or_else(|| format!("{} classes", classes.len())),
        allowed: fault.allowed,
    })?;
    let slopes: u64 = classes.iter().filter_map(|class| class.idle_slope_bps).sum();
    expect("idle_slope_bps", slopes, slopes < of.rate_bps, "below the rate of the wire in all")?;
    for class in classes {
        let room = class.queue_octets.unwrap_or(of.queue_octets);
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
    Err(Error::Refused { what, value: value.to_string(), allowed: allowed.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECTION: &str = r#"{"rate_bps": 10000000, "delay_ns": 0, "queue_octets": 1600, "loss": {"kind": "chance", "probability": 0.5}, "seed": 1}"#;

    fn plan(direction: &str, ends: &str) -> Result<Plan, Error> {
        Plan::read(&format!(
            r#"{{"wires": [{{"ends": {ends}, "directions": [{DIRECTION}, {direction}]}}], "longest_octets": 1518, "maker": null}}"#
        ))
    }

    #[test]
    fn a_plan_that_makes_sense_is_taken() {
        let plan = plan(DIRECTION, r#"["a", "b"]"#).expect("a plan");
        assert_eq!(plan.wires[0].directions[1].loss, Loss::Chance { probability: 0.5 });
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
            let error = Plan::read(&text).expect_err(what).to_string();
            assert!(error.contains(what), "{error}");
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
