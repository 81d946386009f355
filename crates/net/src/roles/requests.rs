//! When an requester's requests come, and how long they are.

use super::sender::check_lengths;
use crate::Error;
use crate::port::NetworkPort;
use crate::time::PS_PER_NS;
use crate::wire::MARK_OCTETS;
use ethermeter_traffic::arrivals::Arrivals;
use ethermeter_traffic::{Offer, Source, SourceSpec, Window};

/// What an requester asks, and when.
#[derive(Clone, Copy, Debug)]
pub enum RequestTraffic<'a> {
    /// Requests of one length with a least time from one to the next; one that is late puts off
    /// those after it.
    Spaced {
        /// Octets of a request's payload.
        payload_octets: usize,
        /// Least time; without answers outstanding they follow each other at once with 0.
        interval_ns: u64,
    },
    /// Requests of a source, which are those of a simulated station with the same seed and number:
    /// of those that come while one is without its answers, the first is next when all have come,
    /// or have been given up.
    Offered {
        /// What the source offers; lengths are those of frames, destination address to FCS.
        source: &'a SourceSpec,
        /// Seed of the experiment.
        seed: u64,
        /// Number of the station, which with the seed determines every draw.
        station: u32,
    },
}

/// The next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DueRequest {
    /// When it is to be sent, in the host's time.
    pub due_ns: u64,
    /// How long it has waited by then for those before it.
    pub waited_ps: u64,
    /// Octets of its payload.
    pub payload_octets: usize,
}

/// Requests one after the other.
pub(super) struct RequestSupply {
    requests: RequestSource,
    begin_ns: u64,
}

enum RequestSource {
    Spaced { payload_octets: usize, interval_ns: u64 },
    Offered { source: Box<Source>, overhead_octets: u64, is_scheduled: bool },
}

impl RequestTraffic<'_> {
    /// The requests between two times of the host, for a port.
    ///
    /// # Errors
    /// If a length has no room for a mark or is longer than the port's.
    pub(super) fn over<P: NetworkPort>(
        &self,
        port: &P,
        begin_ns: u64,
        until_ns: u64,
    ) -> Result<RequestSupply, Error> {
        let requests = match *self {
            Self::Spaced { payload_octets, interval_ns } => {
                if !(MARK_OCTETS..=port.longest_payload()).contains(&payload_octets) {
                    let allowed = format!("{MARK_OCTETS} to {} octets", port.longest_payload());
                    return Err(Error::refused("payload", payload_octets, allowed));
                }
                RequestSource::Spaced { payload_octets, interval_ns }
            }
            Self::Offered { source, seed, station } => {
                check_lengths(port, &source.frames)?;
                let stop_ps = until_ns.saturating_sub(begin_ns).saturating_mul(PS_PER_NS);
                let window =
                    Window { begin_ps: 0, stop_ps, measure_from_ps: 0, measure_to_ps: stop_ps };
                RequestSource::Offered {
                    source: Box::new(Source::new(source, seed, station, window)),
                    overhead_octets: port.carrier().overhead().0,
                    is_scheduled: !matches!(source.arrivals, Arrivals::Saturated {}),
                }
            }
        };
        Ok(RequestSupply { requests, begin_ns })
    }
}

impl RequestSupply {
    /// The first request.
    pub fn first(&mut self) -> Option<DueRequest> {
        let begin_ns = self.begin_ns;
        match &mut self.requests {
            RequestSource::Spaced { payload_octets, .. } => {
                Some(DueRequest { due_ns: begin_ns, waited_ps: 0, payload_octets: *payload_octets })
            }
            RequestSource::Offered { source, overhead_octets, .. } => {
                let offer = source.first()?;
                Some(request(&offer, begin_ns, *overhead_octets))
            }
        }
    }

    /// The one after `last`, which was sent at `sent_ns` and was answered, or given up, at
    /// `ended_ns`.
    #[inline]
    pub fn next(&mut self, last: &DueRequest, sent_ns: u64, ended_ns: u64) -> Option<DueRequest> {
        match &mut self.requests {
            RequestSource::Spaced { interval_ns, .. } => Some(DueRequest {
                due_ns: sent_ns.max(last.due_ns).saturating_add(*interval_ns),
                ..*last
            }),
            RequestSource::Offered { source, overhead_octets, .. } => {
                let offer = source
                    .next(ended_ns.saturating_sub(self.begin_ns).saturating_mul(PS_PER_NS))?;
                Some(request(&offer, self.begin_ns, *overhead_octets))
            }
        }
    }

    /// Whether requests have times of their own.
    pub fn is_scheduled(&self) -> bool {
        matches!(self.requests, RequestSource::Offered { is_scheduled: true, .. })
    }

    /// Requests that have come by the end although only so many of them were asked.
    pub fn queued(&mut self, requests: u64) -> u64 {
        match &mut self.requests {
            RequestSource::Offered { source, is_scheduled: true, .. } => {
                source.finish().0.saturating_sub(requests)
            }
            RequestSource::Offered { .. } | RequestSource::Spaced { .. } => 0,
        }
    }
}

#[inline]
fn request(offer: &Offer, begin_ns: u64, overhead_octets: u64) -> DueRequest {
    #[allow(clippy::cast_possible_truncation)] // lengths were checked against the port's
    let payload_octets = (offer.bits / 8 - overhead_octets) as usize;
    DueRequest {
        due_ns: begin_ns.saturating_add(offer.ready_ps.div_ceil(PS_PER_NS)),
        waited_ps: offer.ready_ps - offer.arrived_ps,
        payload_octets,
    }
}
