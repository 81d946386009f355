//! A port that sends only what its policer admits: the last check before the network.

use crate::consent::{Policer, RoleLease, longest_payload};
use ethermeter_ethernet::Carrier;
use ethermeter_net::port::{
    NetworkPort, PortCounters, ReceiveWait, ReceivedPayload, StationAddress,
};
use ethermeter_net::{Error, Timeline};
use std::sync::atomic::{AtomicU64, Ordering};

/// Progress of a role, visible while it runs.
#[derive(Debug, Default)]
pub struct SendProgress {
    pub sent: AtomicU64,
    pub received: AtomicU64,
}

/// What a policed port depends on.
pub struct SendConditions<'a, T> {
    /// The lease without which nothing is sent.
    pub lease: &'a RoleLease,
    pub time: &'a T,
    pub progress: &'a SendProgress,
}

/// Frames that had to wait for one cause, each counted once however often it is refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct PolicerWaits {
    frames: u64,
    /// Of the frames to be sent next, the first ones that have been counted.
    known: usize,
}

impl PolicerWaits {
    /// So many frames are refused.
    pub fn refuse(&mut self, frames: usize) {
        self.frames += frames.saturating_sub(self.known) as u64;
        self.known = frames;
    }

    /// So many frames have gone out.
    pub fn pass(&mut self, frames: usize) {
        self.known = self.known.saturating_sub(frames);
    }

    /// Frames that had to wait.
    pub fn frames(&self) -> u64 {
        self.frames
    }
}

/// A port that sends only what its permit allows.
pub struct PolicedPort<'a, P, T> {
    port: P,
    conditions: SendConditions<'a, T>,
    policer: Option<Policer>,
    longest_payload: usize,
    held_back: PolicerWaits,
    refused: PolicerWaits,
}

impl<'a, P: NetworkPort, T: Timeline> PolicedPort<'a, P, T> {
    /// Police `port` by `policer`; without one it sends nothing. The port is
    /// aimed at the permit's target.
    pub fn new(
        mut port: P,
        policer: Option<Policer>,
        conditions: SendConditions<'a, T>,
    ) -> Result<Self, Error> {
        // A port may have more room, for what arrives.
        let permitted =
            policer.as_ref().map_or(0, |policer| longest_payload(port.carrier(), policer.permit()));
        let longest_payload = port.longest_payload().min(permitted);
        if let Some(policer) = &policer {
            port.aim(policer.permit().target)?;
        }
        let (held_back, refused) = (PolicerWaits::default(), PolicerWaits::default());
        Ok(Self { port, conditions, policer, longest_payload, held_back, refused })
    }

    /// The only address that it sends to; `None` if it sends nothing.
    pub fn target(&self) -> Option<StationAddress> {
        self.policer.as_ref().map(|policer| policer.permit().target)
    }

    /// The frames of a payload of so many octets; one where none may be sent.
    pub fn frames_of(&self) -> impl Fn(usize) -> u64 + use<P, T> {
        let frames_of = self.policer.as_ref().map(Policer::frames_of);
        move |payload_octets| frames_of.as_ref().map_or(1, |of| of(payload_octets))
    }

    /// The port behind it.
    pub fn port(&self) -> &P {
        &self.port
    }

    /// Frames that had to wait because of the permit's rates.
    pub fn held_back(&self) -> u64 {
        self.held_back.frames()
    }

    /// Frames that had to wait for room in the port.
    pub fn refused(&self) -> u64 {
        self.refused.frames()
    }

    /// Frames of `count` that may go out now.
    fn room(&mut self, count: usize, now_ns: u64) -> Result<usize, Error> {
        let Some(policer) = &mut self.policer else { return Ok(0) };
        if self.longest_payload == 0
            || self.conditions.lease.is_silent_at(now_ns)
            || !policer.is_in_time(now_ns)
        {
            return Ok(0);
        }
        if policer.is_due(now_ns)
            && let Some(info) = self.port.tcp()?
        {
            policer.follow(&info, now_ns);
        }
        let room = policer.room(self.longest_payload, now_ns);
        if room == 0 {
            self.held_back.refuse(count);
        }
        Ok(usize::try_from(room).unwrap_or(usize::MAX).min(count))
    }
}

impl<P: NetworkPort, T: Timeline> NetworkPort for PolicedPort<'_, P, T> {
    fn carrier(&self) -> Carrier {
        self.port.carrier()
    }

    fn longest_payload(&self) -> usize {
        self.longest_payload
    }

    fn batch(&self) -> usize {
        self.port.batch()
    }

    fn aim(&mut self, at: StationAddress) -> Result<(), Error> {
        match self.target() {
            Some(target) if at == target => self.port.aim(at),
            target => Err(Error::Refused {
                what: "target",
                value: format!("{at:?}"),
                allowed: target.map_or("none".into(), |target| target.to_string()),
            }),
        }
    }

    fn send<F: FnMut(usize, &mut [u8]) -> usize>(
        &mut self,
        count: usize,
        mut fill: F,
    ) -> Result<usize, Error> {
        let room = self.room(count, self.conditions.time.now_ns())?.min(self.port.batch());
        let Some(policer) = self.policer.as_mut().filter(|_| room > 0) else { return Ok(0) };
        // The port may fill more than it takes: what was taken is known only afterwards, so lengths
        // are kept up to a batch.
        let mut lengths = [0u16; 64];
        let longest = self.longest_payload;
        let room = room.min(lengths.len());
        let sent = self.port.send(room, |index, octets| {
            // The caller has no more room to fill than was permitted.
            let longest = longest.min(octets.len());
            let length = fill(index, &mut octets[..longest]).min(longest);
            lengths[index] = u16::try_from(length).unwrap_or(u16::MAX);
            length
        })?;
        if sent == 0 {
            self.refused.refuse(room);
        }
        self.held_back.pass(sent);
        self.refused.pass(sent);
        // A message over TCP has its length before it.
        let before = if self.port.carrier().is_tcp() { 4 } else { 0 };
        for &length in &lengths[..sent] {
            policer.take(usize::from(length) + before);
        }
        self.conditions.progress.sent.fetch_add(sent as u64, Ordering::Relaxed);
        Ok(sent)
    }

    fn receive<F: FnMut(&ReceivedPayload<'_>)>(
        &mut self,
        wait: ReceiveWait,
        take: F,
    ) -> Result<usize, Error> {
        let received = self.port.receive(wait, take)?;
        self.conditions.progress.received.fetch_add(received as u64, Ordering::Relaxed);
        Ok(received)
    }

    #[inline]
    fn is_clear(&mut self) -> Result<bool, Error> {
        self.port.is_clear()
    }

    fn counters(&mut self) -> Result<PortCounters, Error> {
        self.port.counters()
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_time::MadeTime;
    use super::*;
    use crate::consent::{LEASE_NS, Lease, Permit, ReceiverLease};
    use ethermeter_net::port::memory::{FrameFate, MemoryPort, connected};
    use ethermeter_net::time::NS_PER_S;
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};
    use std::sync::Arc;

    fn permit() -> Permit {
        Permit {
            target: StationAddress::Socket(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5000)),
            rate_bps: 8_000_000,
            rate_frames_per_s: 1000,
            longest_frame_octets: 200,
            duration_ns: NS_PER_S / 2,
            begin_before_ns: u64::MAX,
        }
    }

    /// What ends the roles of a test.
    struct Ends {
        experiment: Arc<Lease>,
        receiver: Arc<ReceiverLease>,
    }

    fn with_policed_port(
        permit: Option<Permit>,
        test: impl FnOnce(&mut PolicedPort<'_, MemoryPort, MadeTime>, &MadeTime, &Ends),
    ) {
        let (port, _other) = connected(|_| FrameFate::Pass, usize::MAX);
        let (time, progress) = (MadeTime::default(), SendProgress::default());
        let ends = Ends { experiment: Arc::new(Lease::unbegun()), receiver: Arc::default() };
        ends.experiment.begin(0);
        ends.receiver.renew_until(u64::MAX);
        let lease = RoleLease::new(Arc::clone(&ends.experiment), vec![Arc::clone(&ends.receiver)]);
        let conditions = SendConditions { lease: &lease, time: &time, progress: &progress };
        let policer = permit.map(|permit| {
            let longest = longest_payload(port.carrier(), &permit).min(port.longest_payload());
            Policer::new(permit, port.carrier(), longest, None, BEGIN_NS)
        });
        test(
            &mut PolicedPort::new(port, policer, conditions).expect("a policed port"),
            &time,
            &ends,
        );
    }

    const BEGIN_NS: u64 = 100;
    /// After this, a frame of 200 octets is within 8 Mb/s and 1000 frames/s.
    const FRAME_NS: u64 = 1_000_000;

    fn sends(limited: &mut PolicedPort<'_, MemoryPort, MadeTime>) -> usize {
        limited.send(1, |_, _| 46).expect("a port")
    }

    #[test]
    fn without_a_permit_nothing_goes_out() {
        with_policed_port(None, |limited, time, _| {
            time.sleep_until(BEGIN_NS + FRAME_NS);
            assert_eq!(sends(limited), 0);
            assert!(limited.aim(permit().target).is_err());
        });
    }

    #[test]
    fn nothing_goes_out_before_the_beginning_or_after_the_duration() {
        with_policed_port(Some(permit()), |limited, time, _| {
            let end_ns = BEGIN_NS + NS_PER_S / 2;
            let sent =
                [BEGIN_NS - 1, BEGIN_NS, BEGIN_NS + FRAME_NS, end_ns - 1, end_ns].map(|at_ns| {
                    time.sleep_until(at_ns);
                    sends(limited)
                });
            // The bucket is empty in the beginning.
            assert_eq!(sent, [0, 0, 1, 1, 0]);
        });
    }

    #[test]
    fn all_that_goes_out_is_within_the_rates_times_the_duration() {
        // 8 Mb/s allow 7812 frames of 64 octets in half a second, 1000 frames/s 500 of them.
        for (rate_frames_per_s, expected) in [(1000, 500), (1_000_000, 4_000_000 / 512)] {
            with_policed_port(
                Some(Permit { rate_frames_per_s, ..permit() }),
                |limited, time, _| {
                    let mut sent = 0;
                    for step in 0..60_000 {
                        time.sleep_until(BEGIN_NS + step * 10_000);
                        sent += limited.send(64, |_, _| 46).expect("a port");
                    }
                    assert!(sent <= expected && sent + 5 >= expected, "{sent} of {expected}");
                },
            );
        }
    }

    #[test]
    fn a_frame_that_waits_is_counted_once_for_what_it_waits_for() {
        let (port, _other) = connected(|_| FrameFate::Pass, 1);
        let (time, progress, receiver) =
            (MadeTime::default(), SendProgress::default(), Arc::new(ReceiverLease::default()));
        receiver.renew_until(u64::MAX);
        let lease = RoleLease::new(Arc::new(Lease::unbegun()), vec![receiver]);
        let policer = Policer::new(permit(), Carrier::Raw, 182, None, BEGIN_NS);
        let conditions = SendConditions { lease: &lease, time: &time, progress: &progress };
        let mut limited = PolicedPort::new(port, Some(policer), conditions).expect("a port");
        let mut send = |at_ns: u64| {
            time.sleep_until(BEGIN_NS + at_ns);
            let sent = limited.send(3, |_, _| 46).expect("a port");
            (sent, limited.held_back(), limited.refused())
        };
        // Three frames wait for the first frame that the permit lets pass, and are refused again.
        assert_eq!(send(0), (0, 3, 0));
        assert_eq!(send(FRAME_NS / 2), (0, 3, 0));
        assert_eq!(send(FRAME_NS), (1, 3, 0));
        // Of the next three, two have been counted.
        assert_eq!(send(FRAME_NS), (0, 4, 0));
        // The permit lets one pass now, for which the port has no room.
        assert_eq!(send(2 * FRAME_NS), (0, 4, 1));
        assert_eq!(send(2 * FRAME_NS), (0, 4, 1));
    }

    #[test]
    fn nothing_goes_out_that_is_longer_than_permitted() {
        with_policed_port(Some(permit()), |limited, time, _| {
            time.sleep_until(BEGIN_NS + FRAME_NS);
            // A raw frame of 200 octets has 182 of payload, though the port has room for more.
            assert_eq!((limited.longest_payload(), limited.port().longest_payload()), (182, 1500));
            let mut room = 0;
            let greedy = |_: usize, octets: &mut [u8]| {
                room = octets.len();
                1400
            };
            assert_eq!(limited.send(1, greedy).expect("a port"), 1);
            assert_eq!(room, 182);
        });
        with_policed_port(
            Some(Permit { longest_frame_octets: 0, ..permit() }),
            |limited, time, _| {
                time.sleep_until(BEGIN_NS + FRAME_NS);
                assert_eq!(sends(limited), 0, "octets in bulk are no frames");
            },
        );
    }

    #[test]
    fn nothing_goes_to_another_address() {
        with_policed_port(Some(permit()), |limited, _, _| {
            assert!(limited.aim(permit().target).is_ok());
            let other = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5001);
            assert!(limited.aim(StationAddress::Socket(other)).is_err());
        });
    }

    #[test]
    fn nothing_goes_out_after_a_stop_or_when_a_lease_has_lapsed() {
        let long = || Permit { duration_ns: 10 * NS_PER_S, ..permit() };
        with_policed_port(Some(long()), |limited, time, ends| {
            time.sleep_until(BEGIN_NS + FRAME_NS);
            assert_eq!(sends(limited), 1);
            ends.experiment.stop();
            time.sleep_until(BEGIN_NS + 2 * FRAME_NS);
            assert_eq!(sends(limited), 0);
        });
        with_policed_port(Some(long()), |limited, time, ends| {
            time.sleep_until(LEASE_NS);
            assert_eq!(sends(limited), 0);
            assert!(ends.experiment.has_lapsed());
        });
    }

    #[test]
    fn nothing_goes_out_when_the_receiver_does_not_renew() {
        let (port, _other) = connected(|_| FrameFate::Pass, usize::MAX);
        let (time, progress, receiver) =
            (MadeTime::default(), SendProgress::default(), Arc::new(ReceiverLease::default()));
        let lease = RoleLease::new(Arc::new(Lease::unbegun()), vec![Arc::clone(&receiver)]);
        receiver.renew_until(BEGIN_NS + 2 * FRAME_NS);
        let policer = Policer::new(permit(), Carrier::Raw, 182, None, BEGIN_NS);
        let mut limited = PolicedPort::new(
            port,
            Some(policer),
            SendConditions { lease: &lease, time: &time, progress: &progress },
        )
        .expect("a policed port");
        let sent = [1, 2, 3].map(|frames| {
            time.sleep_until(BEGIN_NS + frames * FRAME_NS);
            sends(&mut limited)
        });
        assert_eq!(sent, [1, 0, 0]);
    }
}
