//! A reflector at a socket.

use super::StampKey;
use super::port::PacketPort;
use super::reflector::{Reflector, ReflectorCounts, ReflectorRules, RequestArrival};
use crate::Error;
use ethermeter_net::time::{NS_PER_S, Timeline, wall_clock_error_ns};
use serde::Deserialize;
use std::net::SocketAddr;

/// How often a waiting reflector asks whether to stop.
const ASKED_EVERY_NS: u64 = 50_000_000;

/// A reflector's address and rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReflectorService {
    /// Where it listens.
    pub listen: SocketAddr,
    /// What it answers.
    pub rules: ReflectorRules,
}

impl ReflectorService {
    /// A reflector's task, from JSON.
    ///
    /// # Errors
    /// If it is not one.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Ok(serde_json::from_str(text)?)
    }

    /// Answer until `should_stop`; `ready` is called with the address. Returns what came.
    ///
    /// # Errors
    /// If a rule is out of range, or the system refuses.
    pub fn serve(
        self,
        key: Option<&[u8]>,
        time: &impl Timeline,
        ready: impl FnOnce(SocketAddr),
        should_stop: impl Fn() -> bool,
    ) -> Result<ReflectorCounts, Error> {
        let key = key.map(StampKey::new).transpose()?;
        let mut reflector = Reflector::new(self.rules, key, time.now_ns())?;
        let mut port = PacketPort::open(self.listen, None)?;
        ready(port.local()?);
        let mut packet = Vec::new();
        let mut clock_error_ns = wall_clock_error_ns();
        let mut asked_ns = time.now_ns();
        while !should_stop() {
            port.wait(ASKED_EVERY_NS);
            let until_ns = time.now_ns() + ASKED_EVERY_NS;
            while let Some(arrived) = port.receive(&mut packet, time)? {
                let now_ns = time.now_ns();
                if now_ns - asked_ns > NS_PER_S {
                    (clock_error_ns, asked_ns) = (wall_clock_error_ns(), now_ns);
                }
                let arrival = RequestArrival {
                    from: arrived.from,
                    wall_ns: arrived.wall_ns,
                    hops: arrived.hops,
                    now_ns,
                    clock_error_ns,
                };
                if reflector.answer(&mut packet, &arrival, || time.wall_ns())
                    && !port.send_to(&packet, arrived.from)?
                {
                    reflector.count_unsent();
                }
                if now_ns >= until_ns {
                    break;
                }
            }
        }
        Ok(reflector.counts().clone())
    }
}
