//! A talker before a wire whose rate is known, with time by hand: how its packets grow, what is
//! lost, and that every sample is accounted for.

use ethermeter_ethernet::Carrier;
use ethermeter_net::pacing::Pacer;
use ethermeter_net::port::tcp::TcpPort;
use ethermeter_net::port::udp::{UdpOptions, UdpPort};
use ethermeter_net::port::{StationAddress, ReceivedPayload, NetworkPort, PortCounters, ReceiveWait};
use ethermeter_net::roles::{
    sink, talk, ReceiveMode, SenderCounts, SenderClockRelation, SinkCounts, SinkPlan, VoiceSenderCounts, VoicePlan,
};
use ethermeter_net::skewed_clock::between_ns;
use ethermeter_net::wire::{MarkKind, MacAddress, Mark, VoiceMark};
#[expect(clippy::disallowed_types, reason = "tests of what real time brings")]
use ethermeter_net::{Error, HostTime, SkewedClock, Timeline};
use ethermeter_traffic::packets::{HostSamples, Packets};
use ethermeter_traffic::coder::{Spurts, VoiceSpec};
use ethermeter_traffic::{Purpose, Stream, Window};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::thread;

const US: u64 = 1_000_000; // ps
const MS_NS: u64 = 1_000_000;
const TRUE: SkewedClock = SkewedClock::of_epoch(0);
/// Between one look at the clock and the next.
const TICK_NS: u64 = 20;
/// Raw frames: 18 octets of them are no payload.
const AROUND_BITS: u64 = 18 * 8;

/// 64 kb/s in samples of 8 bits; packets of 80 to 400 samples beside 30 octets of overhead.
const SPEC: VoiceSpec = VoiceSpec {
    sample_bits: 8,
    sample_ps: 125 * US,
    spurts: None,
    overhead_bits: 30 * 8,
    min_bits: 110 * 8,
    max_bits: 430 * 8,
    fixed: None,
};

struct Hand(Cell<u64>);

impl Timeline for Hand {
    fn now_ns(&self) -> u64 {
        self.0.set(self.0.get() + TICK_NS);
        self.0.get()
    }

    fn sleep_until(&self, at_ns: u64) {
        self.0.set(self.0.get().max(at_ns));
    }
}

/// A wire that takes a frame when the last has left, and keeps it for the time of its bits; what it
/// carried can be received from it.
struct Wire<'a> {
    time: &'a Hand,
    rate_bps: u64,
    free_ns: u64,
    carried: Vec<(u64, Vec<u8>)>,
    is_lost: fn(usize) -> bool,
}

impl<'a> Wire<'a> {
    fn of(time: &'a Hand, rate_bps: u64) -> Self {
        Self { time, rate_bps, free_ns: 0, carried: Vec::new(), is_lost: |_| false }
    }
}

impl NetworkPort for Wire<'_> {
    fn carrier(&self) -> Carrier {
        Carrier::Raw
    }

    fn longest_payload(&self) -> usize {
        1500
    }

    fn batch(&self) -> usize {
        1
    }

    fn aim(&mut self, _at: StationAddress) -> Result<(), Error> {
        Ok(())
    }

    fn send<F: FnMut(usize, &mut [u8]) -> usize>(
        &mut self,
        _count: usize,
        mut fill: F,
    ) -> Result<usize, Error> {
        let mut room = vec![0; 1500];
        let octets = fill(0, &mut room);
        room.truncate(octets);
        let bits = AROUND_BITS + 8 * octets as u64;
        self.free_ns = self.time.now_ns() + bits * 1_000_000_000 / self.rate_bps;
        self.carried.push((self.free_ns, room));
        Ok(1)
    }

    fn receive<F: FnMut(&ReceivedPayload<'_>)>(
        &mut self,
        _wait: ReceiveWait,
        mut take: F,
    ) -> Result<usize, Error> {
        if self.carried.is_empty() {
            return Err(Error::Closed);
        }
        for (index, (at_ns, payload)) in std::mem::take(&mut self.carried).iter().enumerate() {
            if !(self.is_lost)(index) {
                take(&ReceivedPayload {
                    payload,
                    from: StationAddress::Mac(MacAddress([2; 6])),
                    stamped_ns: Some(*at_ns), hop_limit: None
                });
            }
        }
        Ok(1)
    }

    fn is_clear(&mut self) -> Result<bool, Error> {
        Ok(self.time.now_ns() >= self.free_ns)
    }

    fn counters(&mut self) -> Result<PortCounters, Error> {
        Ok(PortCounters::default())
    }
}

fn plan(voice: &VoiceSpec, seed: u64, duration_ns: u64, measured_ns: Range<u64>) -> VoicePlan<'_> {
    VoicePlan {
        experiment: 7,
        stream: 0,
        voice,
        seed,
        station: 3,
        begin_ns: 0,
        duration_ns,
        measured_ns,
        pacer: Pacer::default(),
    }
}

fn listened<P: NetworkPort, T: Timeline>(port: &mut P, time: &T, until_ns: u64) -> SinkCounts {
    let plan = SinkPlan {
        experiment: 7,
        begin_ns: 0,
        first_stream: 0,
        streams: 1,
        measured_ns: 0..u64::MAX,
        batches: 1,
        until_ns,
        most_frames: u64::MAX,
        memory: 1024,
        senders_clock: SenderClockRelation::Equal,
        attention: ReceiveMode::Sleeping,
    };
    sink(port, time, TRUE, &plan, &AtomicBool::new(false)).expect("a sink")
}

/// Talk over a wire of `rate_bps`: what the talker counted, and the packets: sent, made, samples,
/// measured, octets.
fn talked_over(rate_bps: u64, plan: &VoicePlan<'_>) -> (SenderCounts, Vec<(u64, VoiceMark, usize)>) {
    let time = Hand(Cell::new(0));
    let mut wire = Wire::of(&time, rate_bps);
    let talked = talk(&mut wire, &time, TRUE, plan, &AtomicBool::new(false)).expect("a talker");
    let read = |(_, payload): &(u64, Vec<u8>)| {
        let mark = Mark::read(payload).expect("a mark");
        assert_eq!((mark.kind, mark.experiment, mark.stream), (MarkKind::Voice, 7, 0));
        (mark.sent_ns, VoiceMark::read(payload).expect("voice"), payload.len())
    };
    (talked, wire.carried.iter().map(read).collect())
}

fn voice_of(talked: &SenderCounts) -> &VoiceSenderCounts {
    talked.voice.as_ref().expect("samples of a coder")
}

fn window(plan: &VoicePlan<'_>) -> Window {
    Window {
        begin_ps: 0,
        stop_ps: plan.duration_ns * 1000,
        measure_from_ps: plan.measured_ns.start * 1000,
        measure_to_ps: plan.measured_ns.end * 1000,
    }
}

#[test]
fn packets_of_an_idle_wire_are_those_of_a_simulated_station_with_the_same_seed_and_number() {
    let spurts = Spurts { talk_mean_ps: 3e11, silence_mean_ps: 1e11 };
    for (seed, spurts) in [(1, None), (2, Some(spurts)), (3, Some(spurts))] {
        let spec = VoiceSpec { spurts, ..SPEC };
        let plan = plan(&spec, seed, 2000 * MS_NS, 0..2000 * MS_NS);
        let (talked, packets) = talked_over(100_000_000, &plan);
        let chance = Stream::new(plan.seed, plan.station, Purpose::Arrival);
        let mut simulated = Packets::new(spec, chance, window(&plan));
        for (sent_ns, speech, octets) in &packets {
            let wanted_ps = simulated.wanted_ps().expect("as many packets");
            let packet = simulated.call(wanted_ps);
            assert_eq!(
                (speech.made_ns, u64::from(speech.samples)),
                (packet.oldest_ps / 1000, packet.samples)
            );
            assert_eq!((*octets as u64 + 18) * 8, packet.bits);
            let late_ns = sent_ns - wanted_ps.div_ceil(1000);
            assert!(late_ns <= 3 * TICK_NS, "{late_ns}");
        }
        assert_eq!(simulated.wanted_ps(), None);
        assert!(spurts.is_some() || packets.iter().all(|(_, speech, _)| speech.samples == 80));
        let voice = voice_of(&talked);
        assert_eq!((voice.waited, talked.unsent, voice.measured.samples.lost), (0, 0, 0));
        assert_eq!(talked.frames, packets.len() as u64);
    }
}

#[test]
fn before_a_wire_slower_than_the_coder_packets_grow_to_the_most_and_the_source_loses_what_the_wire_does_not_carry(
) {
    // A packet of 430 octets takes 3440 bits; at 32 kb/s that is 107.5 ms, in which 860 samples are
    // made and 400 go.
    let plan = plan(&SPEC, 5, 20_000 * MS_NS, 5_000 * MS_NS..19_000 * MS_NS);
    let (talked, packets) = talked_over(32_000, &plan);
    // The last goes when the coder has stopped.
    let grown: Vec<u16> = packets.iter().map(|(_, speech, _)| speech.samples).collect();
    assert!(grown[2..grown.len() - 1].iter().all(|&samples| samples == 400), "{grown:?}");
    let voice = voice_of(&talked);
    assert_eq!((voice.most_samples, voice.waited), (400, talked.frames - 1));
    let HostSamples { made, sent, lost, .. } = voice.measured.samples;
    let expected = 1.0 - 400.0 / 860.0;
    // Looks at the wire are a sixty-fourth of a packet's time apart at most, a millisecond here;
    // and a packet more or less in the window of 14 s.
    #[allow(clippy::cast_precision_loss)] // thousands
    let (loss, tolerance) =
        (lost as f64 / (lost + sent) as f64, 400.0 / 860.0 * 1.0 / 107.5 + 400.0 / made as f64);
    assert!((loss - expected).abs() < tolerance, "{loss} {expected} {tolerance}");
    // The oldest of a packet is as old as its samples' time, and has waited for no more than a
    // look.
    for (sent_ns, speech, _) in &packets[2..packets.len() - 1] {
        let age_ns = between_ns(speech.made_ns, *sent_ns);
        assert!((399 * 125_000..=400 * 125_000 + 1).contains(&age_ns), "{age_ns}");
    }
}

#[test]
fn before_a_wire_that_carries_the_coder_but_no_packet_of_the_least_length_packets_grow_until_they_fit(
) {
    // n samples take (30 + n) · 8 bits, which at 80 kb/s is (30 + n) · 100 us, and are made in n ·
    // 125 us: 120 and more can be carried.
    let plan = plan(&SPEC, 5, 10_000 * MS_NS, 5_000 * MS_NS..9_000 * MS_NS);
    let (talked, packets) = talked_over(80_000, &plan);
    assert_eq!(voice_of(&talked).measured.samples.lost, 0);
    let late: Vec<u16> = packets
        .iter()
        .filter(|(at_ns, ..)| *at_ns > 5_000 * MS_NS)
        .map(|(_, speech, _)| speech.samples)
        .collect();
    // Each look may find up to a sixty-fourth more, which lets the next be so much longer: it
    // settles at n · 125 = (30 + n) · 100 · (1 + 1/64) at most.
    assert!(late.iter().all(|n| (118..=131).contains(n)), "{late:?}");
}

/// Times of all samples: those of a packet that is wanted with one and has room for one.
fn all_samples(spec: &VoiceSpec, plan: &VoicePlan<'_>) -> Vec<u64> {
    let single = VoiceSpec {
        overhead_bits: 8,
        min_bits: 8 + spec.sample_bits,
        max_bits: 8 + spec.sample_bits,
        ..*spec
    };
    let mut voice =
        Packets::new(single, Stream::new(plan.seed, plan.station, Purpose::Arrival), window(plan));
    let mut samples = Vec::new();
    while let Some(at_ps) = voice.wanted_ps() {
        voice.call(at_ps);
        samples.push(at_ps);
    }
    samples
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_sample_made_is_handed_over_lost_or_left_and_every_one_handed_over_arrives_or_is_lost_on_the_way(
        seed in 0..1000u64,
        rate_bps in 20_000..200_000u64,
        sample_octets in 1..4u64,
        every_us in 50..2000u64,
        least in 10..60u64,
        more in 0..200u64,
        has_spurts: bool,
        from_ms in 0..500u64,
        to_ms in 500..1200u64,
        lossy: bool,
    ) {
        let spurts = has_spurts.then_some(Spurts { talk_mean_ps: 6e10, silence_mean_ps: 4e10 });
        let spec = VoiceSpec {
            sample_bits: 8 * sample_octets,
            sample_ps: every_us * US,
            spurts,
            overhead_bits: 48 * 8,
            min_bits: (48 + least * sample_octets) * 8,
            max_bits: (48 + (least + more) * sample_octets) * 8,
            fixed: None,
        };
        let spec = VoiceSpec { min_bits: spec.min_bits.max(64 * 8), max_bits: spec.max_bits.max(72 * 8), ..spec };
        let plan = plan(&spec, seed, 1100 * MS_NS, from_ms * MS_NS..to_ms * MS_NS);
        let time = Hand(Cell::new(0));
        let mut wire = Wire::of(&time, rate_bps);
        wire.is_lost = if lossy { |index| index % 3 == 1 } else { |_| false };
        let talked = talk(&mut wire, &time, TRUE, &plan, &AtomicBool::new(false)).expect("a talker");
        let HostSamples { made, sent, lost, left } = voice_of(&talked).measured.samples;
        prop_assert_eq!(made, sent + lost + left);

        // An own queue that drops its oldest, emptied when packets went.
        let room = (spec.max_bits - spec.overhead_bits) / spec.sample_bits;
        let is_measured = |at_ps| (from_ms * 1000 * US..to_ms * 1000 * US).contains(&at_ps);
        let (mut coming, mut queue, mut dropped) = (VecDeque::from(all_samples(&spec, &plan)), VecDeque::new(), 0);
        prop_assert_eq!(made, coming.iter().filter(|&&at_ps| is_measured(at_ps)).count() as u64);
        let (mut measured, mut missing) = (0, 0);
        for (index, (_, payload)) in wire.carried.iter().enumerate() {
            let (mark, speech) = (Mark::read(payload).expect("a mark"), VoiceMark::read(payload).expect("voice"));
            prop_assert_eq!(mark.sequence, index as u64);
            while let Some(at_ps) = coming.front().copied().filter(|at_ps| *at_ps <= mark.sent_ns * 1000) {
                coming.pop_front();
                queue.push_back(at_ps);
                if queue.len() as u64 > room {
                    dropped += u64::from(queue.pop_front().is_some_and(is_measured));
                }
            }
            prop_assert_eq!((u64::from(speech.samples), speech.made_ns), (queue.len() as u64, queue[0] / 1000));
            let counts = queue.iter().filter(|&&at_ps| is_measured(at_ps)).count();
            prop_assert_eq!((usize::from(speech.measured), speech.is_oldest_measured), (counts, is_measured(queue[0])));
            let octets = (spec.overhead_bits / 8 + u64::from(speech.samples) * sample_octets).max(spec.min_bits / 8) - 18;
            prop_assert_eq!(payload.len() as u64, octets);
            measured += u64::from(speech.measured);
            missing += if (wire.is_lost)(index) { u64::from(speech.measured) } else { 0 };
            queue.clear();
        }
        // What nobody has called for by the end stays, with the newest that have room.
        queue.extend(coming);
        while queue.len() as u64 > room {
            dropped += u64::from(queue.pop_front().is_some_and(is_measured));
        }
        let remaining = queue.iter().filter(|&&at_ps| is_measured(at_ps)).count() as u64;
        prop_assert_eq!((measured, dropped, remaining), (sent, lost, left));

        let sunk = listened(&mut wire, &time, u64::MAX);
        let speech = sunk.streams[0].voice.clone().unwrap_or_default();
        let window = &speech.measured;
        prop_assert_eq!(window.samples + missing, sent);
        prop_assert_eq!(window.sample_delay.total, window.samples);
        prop_assert_eq!(window.voice_delay.total, window.packets);
        prop_assert_eq!((sunk.unexpected, sunk.unmarked), (0, 0));
        if !lossy {
            prop_assert_eq!((speech.packets, speech.samples), (talked.frames, voice_of(&talked).samples));
        }
    }
}

#[test]
fn delays_run_from_the_making_of_the_oldest_sample_to_the_arrival_and_weigh_by_samples() {
    let plan = plan(&SPEC, 1, 1000 * MS_NS, 0..1000 * MS_NS);
    let time = Hand(Cell::new(0));
    let mut wire = Wire::of(&time, 1_000_000);
    let talked = talk(&mut wire, &time, TRUE, &plan, &AtomicBool::new(false)).expect("a talker");
    let sunk = listened(&mut wire, &time, u64::MAX);
    let speech = &sunk.streams[0].voice.as_ref().expect("packets came").measured;
    assert_eq!(speech.packets, talked.frames);
    // 79 samples of 125 us until the packet is wanted, then 880 bits at 1 Mb/s; buckets are
    // narrower than 0.8%, and clocks tick.
    let exact_ps = 79 * 125 * US + 880 * US;
    for histogram in [&speech.voice_delay, &speech.sample_delay] {
        for share in ["0.01", "1"] {
            let ps = histogram.quantiles_ps[share].expect("packets came");
            assert!((exact_ps..exact_ps + exact_ps / 100).contains(&ps), "{ps}");
        }
    }
    assert_eq!(speech.sample_delay.total, 80 * speech.voice_delay.total);
    // The one-way delay is from handing over.
    let one_way_ps = sunk.streams[0].measured.delay.quantiles_ps["0.5"].expect("packets came");
    assert!((880 * US..890 * US).contains(&one_way_ps), "{one_way_ps}");
}

#[test]
fn what_cannot_be_sent_as_voice_is_refused_before_anything_is() {
    let time = Hand(Cell::new(0));
    let refused = |spec: VoiceSpec| {
        let mut wire = Wire::of(&time, 1_000_000);
        let plan = plan(&spec, 1, 100 * MS_NS, 0..100 * MS_NS);
        let error = talk(&mut wire, &time, TRUE, &plan, &AtomicBool::new(false))
            .expect_err("refused")
            .to_string();
        assert!(wire.carried.is_empty());
        error
    };
    assert!(refused(VoiceSpec { sample_bits: 4, ..SPEC }).contains("whole octets"));
    assert!(refused(VoiceSpec { min_bits: 63 * 8, ..SPEC }).contains("from 64 to 1518"));
    assert!(refused(VoiceSpec { max_bits: 1519 * 8, ..SPEC }).contains("from 64 to 1518"));
    assert!(refused(VoiceSpec { max_bits: 109 * 8, ..SPEC }).contains("max_bits must hold"));
    let (mut sender, _receiver) = TcpPort::pair_on_loopback().expect("a connection");
    let spec = VoiceSpec { overhead_bits: 80 * 8, min_bits: 160 * 8, max_bits: 400 * 8, ..SPEC };
    let of_tcp =
        talk(&mut sender, &HostTime, TRUE, &plan(&spec, 1, 1, 0..1), &AtomicBool::new(false));
    assert!(of_tcp.expect_err("refused").to_string().contains("cannot tell when a frame has left"));
}

#[test]
fn a_talker_that_is_stopped_says_what_it_had_not_handed_over() {
    let time = Hand(Cell::new(0));
    let mut wire = Wire::of(&time, 1_000_000);
    let plan = plan(&SPEC, 1, 3_600_000 * MS_NS, 0..MS_NS);
    let talked = talk(&mut wire, &time, TRUE, &plan, &AtomicBool::new(true)).expect("a talker");
    assert_eq!((talked.frames, talked.unsent), (0, 1));
}

#[test]
fn over_udp_on_the_loopback_interface_every_sample_arrives() {
    let options = UdpOptions::at("127.0.0.1:0".parse().expect("an address"));
    let mut rx = UdpPort::open(&options).expect("a port");
    let peer = Some(rx.local().expect("an address"));
    let mut tx = UdpPort::open(&UdpOptions { peer, ..options }).expect("a port");
    let spec = VoiceSpec { overhead_bits: 60 * 8, min_bits: 140 * 8, max_bits: 1400 * 8, ..SPEC };
    let begin_ns = HostTime.now_ns() + 10 * MS_NS;
    let plan = VoicePlan { begin_ns, ..plan(&spec, 1, 300 * MS_NS, 0..300 * MS_NS) };
    let (talked, sunk) = thread::scope(|scope| {
        let sunk = scope.spawn(|| listened(&mut rx, &HostTime, begin_ns + 400 * MS_NS));
        let talked =
            talk(&mut tx, &HostTime, TRUE, &plan, &AtomicBool::new(false)).expect("a talker");
        (talked, sunk.join().expect("a sink"))
    });
    let speech = sunk.streams[0].voice.as_ref().expect("packets came");
    let voice = voice_of(&talked);
    assert_eq!(
        (speech.packets, speech.samples, speech.measured.samples),
        (talked.frames, voice.samples, voice.measured.samples.sent)
    );
    // 0.3 s of samples of 125 us from a random phase on.
    assert_eq!(voice.measured.samples.made, 2400);
    assert_eq!((voice.measured.samples.lost, talked.unsent), (0, 0));
}
