//! Roles of flows whose receivers respond: exchanges, and files block by block.

use super::error::Error;
use super::grants::{request_grant, Wanted};
use super::link::Link;
use crate::description::{Flow, Test, Traffic};
use crate::protocol::{self as wire, role::Role as WireRole};
use ethermeter_station::consent::{Cast, Transport};

/// A flow with responses.
pub(super) struct RequestResponse<'a> {
    pub test: &'a Test,
    pub links: &'a [Link],
    pub flow: &'a Flow,
    /// Its index in the test, which numbers its sender's random streams.
    pub number: u16,
    /// Index of the sending agent; those of the receiving agents follow.
    pub from: usize,
    pub receivers: &'a [usize],
    /// The grant requested of the receivers.
    pub there: &'a Wanted<'a>,
}

impl RequestResponse<'_> {
    /// Its roles by agent; the sender grants each responder its responses.
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

    /// Number of the first receiver's random streams: after those of all flows, as in a simulation.
    fn first_receiver(&self) -> u32 {
        let flows = &self.test.flows;
        let before: usize =
            flows[..usize::from(self.number)].iter().map(|flow| flow.to.names().len()).sum();
        u32::try_from(flows.len() + before).expect("few receivers")
    }

    /// The grant for the responses, requested of the sender.
    fn back(&self) -> Wanted<'_> {
        let (rate_bps, rate_frames_per_s) = self.flow.most_back();
        Wanted {
            flow: self.there.flow,
            transport: Transport { cast: Cast::Unicast, ..self.there.transport },
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
            traffic => WireRole::Requester(wire::Requester {
                grants,
                timeout_ns: traffic.timeout_ns(),
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
            Some(request_grant(&self.links[self.from], &back, self.links[to].entry.address).await?);
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
            traffic => WireRole::Responder(wire::Responder {
                grant,
                rate_bps,
                rate_frames_per_s,
                attention: self.flow.attention.word().to_owned(),
                responses_json: traffic.responses_text(),
                longest_frame_octets,
                seed,
                station,
            }),
        })
    }
}
