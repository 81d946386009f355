//! Comparisons of clocks that a test needs.

use super::error::Error;
use super::grants::{request_grant, Wanted};
use super::link::Link;
use crate::description::{Clocks, Test, Traffic, CLOCK_FLOW};
use crate::protocol::{self as wire, role::Role as WireRole};
use ethermeter_station::consent::Transport;
use ethermeter_station::experiment::clocks;

/// Senders of streams and receivers that synchronise clocks: each pair once.
pub(super) struct ClockPairs(Vec<(usize, usize)>);

impl ClockPairs {
    pub fn of(test: &Test, links: &[Link]) -> Self {
        let mut pairs = Vec::new();
        for flow in test.flows.iter().filter(|flow| matches!(flow.traffic, Traffic::Stream { .. }))
        {
            let Some(from) = test.index_of(&flow.from) else { continue };
            for to in flow.to.names().iter().filter_map(|name| test.index_of(name)) {
                let is_wanted = match test.clocks {
                    Clocks::Compared => !links[from].shares_clock_with(&links[to]),
                    Clocks::AlwaysCompared => true,
                    Clocks::NotCompared => false,
                };
                if is_wanted && !pairs.contains(&(from, to)) {
                    pairs.push((from, to));
                }
            }
        }
        Self(pairs)
    }

    fn name(number: usize) -> String {
        format!("{CLOCK_FLOW}{number}")
    }

    /// The flow that compares the clocks of a sender and a receiver; empty if none does.
    pub fn name_of(&self, from: usize, to: usize) -> String {
        self.0.iter().position(|pair| *pair == (from, to)).map(Self::name).unwrap_or_default()
    }

    /// Grants and roles: the receiver requests, the sender responds.
    pub async fn arrange(
        &self,
        test: &Test,
        links: &[Link],
        roles: &mut [Vec<wire::Role>],
    ) -> Result<(), Error> {
        for (number, &(from, to)) in self.0.iter().enumerate() {
            let flow = Self::name(number);
            let (rate_bps, rate_frames_per_s) = (clocks::MOST_BPS, clocks::MOST_FRAMES_PER_S);
            let wanted = Wanted {
                flow: &flow,
                transport: Transport::default(),
                number: 0,
                rate_bps,
                rate_frames_per_s,
                longest_frame_octets: clocks::FRAME_OCTETS,
                room_frame_octets: clocks::FRAME_OCTETS,
                duration_ns: test.phases.duration_ns(),
            };
            let question = request_grant(&links[from], &wanted, links[to].entry.address).await?;
            let answer = request_grant(&links[to], &wanted, links[from].entry.address).await?;
            let role = |agent: usize, role: WireRole| wire::Role {
                flow: flow.clone(),
                kind: wanted.transport.kind.word().into(),
                cast: wanted.transport.cast.word().into(),
                interface: links[agent].entry.interface.clone().unwrap_or_default(),
                stream: 0,
                congestion: String::new(),
                role: Some(role),
            };
            let clock = wire::Clock { grants: vec![question], rate_bps, rate_frames_per_s };
            roles[to].push(role(to, WireRole::Clock(clock)));
            let attention = "sleeping".to_owned();
            let responder = wire::Responder {
                grant: Some(answer),
                rate_bps,
                rate_frames_per_s,
                attention,
                responses_json: String::new(),
                longest_frame_octets: clocks::FRAME_OCTETS,
                seed: test.seed,
                station: 0,
            };
            roles[from].push(role(from, WireRole::Responder(responder)));
        }
        Ok(())
    }
}
