//! Explains mutated captures until the time is over: nothing may panic, and no mutant may take more
//! memory or time than its size allows.
//!
//! ```text
//! fuzz SECONDS SEED [FILE ...]       further seeds are captures; without any, small ones that are made here
//! ```
//!
//! It prints how many were explained, how they ended, and what the slowest took. A mutant that
//! panics is written to `fuzz-SEED-N.pcap`.

#![expect(clippy::disallowed_methods, reason = "it times what it does")]

use ethermeter_capture::explain::explain;
use ethermeter_capture::write::CaptureWriter;
use ethermeter_capture::{CaptureError, LinkType, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Octets of the largest seed.
const MOST_OCTETS: usize = 1 << 16;
/// What explaining a mutant may take.
const LIMIT: Duration = Duration::from_millis(500);
/// What takes longer is tried again.
const SUSPICIOUS: Duration = Duration::from_millis(5);

/// Draws of `SplitMix64` (Steele, Lea and Flood 2014).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).expect("below a length")
    }
}

#[derive(Debug, Default)]
struct Ends {
    complete: u64,
    foreign: u64,
    truncated: u64,
    corrupt: u64,
    packets: u64,
    slowest: Duration,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [seconds, seed, files @ ..] = &words[..] else {
        return Err("fuzz SECONDS SEED [FILE ...]".into());
    };
    let (seconds, seed): (u64, u64) = (seconds.parse()?, seed.parse()?);
    let mut seeds = seed_captures();
    for file in files {
        let mut octets = std::fs::read(file)?;
        octets.truncate(MOST_OCTETS);
        seeds.push(octets);
    }
    let mut draws = Draws(seed);
    let mut ends = Ends::default();
    let (begin, mut done, mut panics) = (Instant::now(), 0u64, 0u64);
    while begin.elapsed() < Duration::from_secs(seconds) {
        for _ in 0..256 {
            let mutant = mutated(&seeds, &mut draws);
            let started = Instant::now();
            if catch_unwind(AssertUnwindSafe(|| run(&mutant, &mut ends))).is_err() {
                panics += 1;
                std::fs::write(format!("fuzz-{seed}-{panics}.pcap"), &mutant)?;
            }
            let mut took = started.elapsed();
            if took > SUSPICIOUS {
                // Another process may have had the processor: what is slow is slow again.
                let again = Instant::now();
                let _ = catch_unwind(AssertUnwindSafe(|| run(&mutant, &mut ends)));
                took = took.min(again.elapsed());
            }
            ends.slowest = ends.slowest.max(took);
            if took > LIMIT {
                std::fs::write(format!("fuzz-{seed}-slow.pcap"), &mutant)?;
            }
            done += 1;
        }
    }
    println!(
        "{done} mutants of {} seeds in {:.0} s, {panics} panics; {ends:?}",
        seeds.len(),
        begin.elapsed().as_secs_f64()
    );
    if panics > 0 || ends.slowest > LIMIT {
        return Err("a mutant panicked or took too long".into());
    }
    Ok(())
}

fn run(mutant: &[u8], ends: &mut Ends) {
    match explain(mutant, |_| true) {
        Ok(explanation) => {
            ends.packets += explanation.packets;
            match explanation.ended_by {
                None => ends.complete += 1,
                Some(CaptureError::Truncated { .. }) => ends.truncated += 1,
                Some(_) => ends.corrupt += 1,
            }
            // JSON is made of one in so many: it takes longer than the rest.
            if ends.packets.is_multiple_of(64) {
                assert!(json::to_json(&explanation).is_object());
            }
        }
        Err(CaptureError::Foreign(_)) => ends.foreign += 1,
        Err(CaptureError::Truncated { .. }) => ends.truncated += 1,
        Err(_) => ends.corrupt += 1,
    }
}

/// A seed with a few octets changed, repeated, removed, or put together with another.
fn mutated(seeds: &[Vec<u8>], draws: &mut Draws) -> Vec<u8> {
    let mut octets = seeds[draws.below(seeds.len())].clone();
    for _ in 0..=draws.below(8) {
        if octets.is_empty() {
            break;
        }
        let at = draws.below(octets.len());
        match draws.below(8) {
            0 => octets[at] ^= 1 << draws.below(8),
            1 => octets[at] = draws.next().to_le_bytes()[0],
            2 => octets.truncate(at),
            3 => {
                let end = (at + 1 + draws.below(100)).min(octets.len());
                octets.drain(at..end);
            }
            4 => {
                let end = (at + 1 + draws.below(200)).min(octets.len());
                let again = octets[at..end].to_vec();
                octets.splice(at..at, again);
            }
            5 => {
                // A number of the kind that lengths and times are.
                let values = [
                    0,
                    1,
                    0x7F,
                    0x80,
                    0xFF,
                    0xFFFF,
                    0x1_0000,
                    0x4_0000,
                    0x4_0001,
                    0x7FFF_FFFF,
                    0x8000_0000,
                    u32::MAX,
                ];
                let value = values[draws.below(values.len())];
                let word =
                    if draws.below(2) == 0 { value.to_le_bytes() } else { value.to_be_bytes() };
                octets.iter_mut().skip(at).zip(word).for_each(|(octet, new)| *octet = new);
            }
            6 => {
                let other = &seeds[draws.below(seeds.len())];
                octets.truncate(at);
                octets.extend_from_slice(&other[draws.below(other.len())..]);
            }
            _ => {
                let other = (at + 4).min(octets.len() - 1);
                octets.swap(at, other);
            }
        }
    }
    octets.truncate(2 * MOST_OCTETS);
    octets
}

/// Small captures: TCP that loses and repeats, UDP and raw frames with marks, and a pcapng file of
/// two interfaces.
fn seed_captures() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    let mut writer = CaptureWriter::new(Vec::new(), LinkType::Ethernet, 96).expect("memory");
    let mut frames = Vec::new();
    for at in 0..12u8 {
        let (from, sequence) = (at % 3 / 2, if at == 7 { 300 } else { u32::from(at) * 100 });
        let flags = [2, 18, 16, 24, 24, 16, 24, 24, 16, 17, 17, 4][usize::from(at)];
        let mut tcp = if from == 0 { vec![0x13, 0x88, 0, 80] } else { vec![0, 80, 0x13, 0x88] };
        tcp.extend(sequence.to_be_bytes());
        tcp.extend(u32::from(at).to_be_bytes());
        tcp.extend([0x80, flags, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, at, 0, 0, 0, at]);
        tcp.resize(tcp.len() - 8 + 40, at);
        frames.push(ip(6, from, &tcp));
        let mark = [0xE3, 0x10, 0, 1, 0, 2, 0, 0, 0, 0, 0, at, 0, 0, 0, 0, 0, 0, at];
        let udp = [&[0, 7, 0, 9, 0, 27, 0, 0][..], &mark].concat();
        frames.push(ip(17, 0, &udp));
        frames.push(
            [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0, 5, 0x88, 0xB5][..], &mark].concat(),
        );
    }
    for (at, frame) in (0i64..).zip(&frames) {
        writer.packet(1_000_000_000 + at * 700_000, frame).expect("memory");
    }
    seeds.push(writer.finish().expect("memory"));
    let mut blocks = block(
        0x0A0D_0D0A,
        &[&0x1A2B_3C4Du32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xFF; 8]].concat(),
    );
    blocks.extend(block(1, &[1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0]));
    blocks.extend(block(1, &[101, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 0x8A, 0, 0, 0]));
    for (at, frame) in (0u32..).zip(&frames) {
        let interface = at % 2;
        let data = if interface == 0 { &frame[..] } else { &frame[14..] };
        let length = u32::try_from(data.len()).expect("short");
        let head: Vec<u8> = [interface, 0, at * 1_000_000, length, length]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        blocks.extend(block(6, &[&head, data].concat()));
    }
    // Of the second interface: it dropped 3, the system 9.
    let statistics =
        [&[5, 0, 8, 0, 3, 0, 0, 0, 0, 0, 0, 0][..], &[7, 0, 8, 0, 9, 0, 0, 0, 0, 0, 0, 0], &[0; 4]]
            .concat();
    blocks.extend(block(5, &[&[1, 0, 0, 0][..], &[0; 8], &statistics].concat()));
    seeds.push(blocks);
    seeds
}

fn ip(protocol: u8, from: u8, rest: &[u8]) -> Vec<u8> {
    let length = u16::try_from(20 + rest.len()).expect("short").to_be_bytes();
    let mut frame = vec![
        2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, length[0], length[1], 0, 1, 0x40, 0, 64,
        protocol, 0, 0,
    ];
    frame.extend([10, 0, 0, 1 + from, 10, 0, 0, 2 - from]);
    frame.extend(rest);
    frame
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let length = u32::try_from(body.len() + 12).expect("short").to_le_bytes();
    [&kind.to_le_bytes()[..], &length, &body, &length].concat()
}
