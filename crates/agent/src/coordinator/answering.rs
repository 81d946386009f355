//! Roles of flows whose receivers answer: exchanges, and files block by block.

use super::link::Link;
use super::{ask_for, Error, Wanted};
use crate::consent::{Cast, Way};
use crate::description::{Flow, Test, Traffic};
use crate::protocol::{self as wire, role::Role as WireRole};

/// A flow that is answered.
pub(super) struct Answered<'a> {
    pub test: &'a Test,
    pub links: &'a [Link],
    pub flow: &'a Flow,
    /// Its place in the test, which is its sender's number in draws.
    pub number: u16,
    /// Whose place in the test its sender and its receivers have.
    pub from: usize,
    pub receivers: &'a [usize],
    /// What the receivers were asked for.
    pub there: &'a Wanted<'a>,
}

impl Answered<'_> {
    /// Its roles and the agents that play them; the sender is asked to say yes to every answerer.
    pub async fn roles(
        &self,
        grants: Vec<wire::SignedGrant>,
    ) -> Result<Vec<(usize, WireRole)>, Error> {
        let mut roles = Vec::with_capacity(self.receivers.len() + 1);
        for (&to, station) in self.receivers.iter().zip(self.first_receiver()..) {
            roles.push((to, self.answering(to, station).await?));
        }
        roles.push((self.from, self.asking(grants)));
        Ok(roles)
    }

    /// Receivers draw with numbers after those of all flows, as in a simulation.
    fn first_receiver(&self) -> u32 {
        let flows = &self.test.flows;
        let before: usize =
            flows[..usize::from(self.number)].iter().map(|flow| flow.to.names().len()).sum();
        u32::try_from(flows.len() + before).expect("few receivers")
    }

    /// What goes back, for which the sender is asked.
    fn back(&self) -> Wanted<'_> {
        let (rate_bps, rate_frames_per_s) = self.flow.most_back();
        Wanted {
            flow: self.there.flow,
            way: Way { cast: Cast::Unicast, ..self.there.way },
            number: 0,
            rate_bps,
            rate_frames_per_s,
            longest_frame_octets: self.there.room_frame_octets,
            room_frame_octets: self.there.longest_frame_octets,
            duration_ns: self.there.duration_ns,
        }
    }

    fn asking(&self, grants: Vec<wire::SignedGrant>) -> WireRole {
        let Wanted { rate_bps, rate_frames_per_s, .. } = *self.there;
        let (seed, station) = (self.test.seed, self.number.into());
        match &self.flow.traffic {
            Traffic::File { file } => {
                let file_json = file.to_string();
                WireRole::Client(wire::Client {
                    grants,
                    rate_bps,
                    rate_frames_per_s,
                    file_json,
                    seed,
                    station,
                })
            }
            traffic => WireRole::Ask(wire::Ask {
                grants,
                patience_ns: traffic.patience_ns(),
                rate_bps,
                rate_frames_per_s,
                attention: self.flow.attention.word().to_owned(),
                source_json: self.flow.source_text().expect("exchanges have one"),
                seed,
                station,
            }),
        }
    }

    async fn answering(&self, to: usize, station: u32) -> Result<WireRole, Error> {
        let back = self.back();
        let grant =
            Some(ask_for(&self.links[self.from], &back, self.links[to].entry.address).await?);
        let Wanted { rate_bps, rate_frames_per_s, longest_frame_octets, .. } = back;
        let seed = self.test.seed;
        Ok(match &self.flow.traffic {
            Traffic::File { file } => {
                let file_json = file.to_string();
                WireRole::Server(wire::Server {
                    grant,
                    rate_bps,
                    rate_frames_per_s,
                    file_json,
                    seed,
                    station,
                })
            }
            traffic => WireRole::Echo(wire::Echo {
                grant,
                rate_bps,
                rate_frames_per_s,
                attention: self.flow.attention.word().to_owned(),
                answers_json: traffic.answers_text(),
                longest_frame_octets,
                seed,
                station,
            }),
        })
    }
}
