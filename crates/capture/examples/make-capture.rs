//! Writes a capture of any size, for measuring: transfers side by side, each segment of 1460 octets
//! of which 54 header octets and ten more are kept, two of them acknowledged at a time.
//!
//! ```text
//! make-capture FILE PACKETS CONNECTIONS
//! ```

use ethermeter_capture::LinkType;
use ethermeter_capture::write::CaptureWriter;
use std::fs::File;
use std::io::BufWriter;

const SEGMENT: u32 = 1460;
const HEADERS: usize = 54;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, packets, connections] = &words[..] else {
        return Err("make-capture FILE PACKETS CONNECTIONS".into());
    };
    let (packets, connections): (u32, u32) = (packets.parse()?, connections.parse()?);
    let mut writer =
        CaptureWriter::new(BufWriter::new(File::create(path)?), LinkType::Ethernet, 64)?;
    let mut frame = vec![0; HEADERS + SEGMENT as usize];
    for at in 0..packets {
        let (round, connection) = (at / connections, at % connections);
        // Data, data, acknowledgement, and so on.
        let (turn, pairs) = (round % 3, round / 3);
        let number = pairs * 2 * SEGMENT + 1;
        let (from, sequence, acknowledgment, payload) = if turn < 2 {
            (0, number + turn * SEGMENT, 1, SEGMENT)
        } else {
            (1, 1, number + 2 * SEGMENT, 0)
        };
        headers(&mut frame, connection, from, (sequence, acknowledgment), payload);
        let length = HEADERS + payload as usize;
        writer.packet(i64::from(at) * 1000, &frame[..length])?;
    }
    writer.finish()?;
    Ok(())
}

/// Ethernet, IPv4 and TCP.
fn headers(
    frame: &mut [u8],
    connection: u32,
    from: u8,
    (sequence, acknowledgment): (u32, u32),
    payload: u32,
) {
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1 - from, 2, 0, 0, 0, 0, from, 8, 0]);
    let length = u16::try_from(40 + payload).expect("a segment fits a packet").to_be_bytes();
    let (client, server) =
        ([10, 0, (connection >> 24) as u8, (connection >> 16 & 0xff) as u8], [10, 1, 0, 1]);
    let (source, destination) = if from == 0 { (client, server) } else { (server, client) };
    frame[14..24].copy_from_slice(&[0x45, 0, length[0], length[1], 0, 0, 0x40, 0, 64, 6]);
    frame[26..30].copy_from_slice(&source);
    frame[30..34].copy_from_slice(&destination);
    let ports = ((connection & 0xffff) as u16, 5001u16);
    let (own, other) = if from == 0 { ports } else { (ports.1, ports.0) };
    frame[34..36].copy_from_slice(&own.to_be_bytes());
    frame[36..38].copy_from_slice(&other.to_be_bytes());
    frame[38..42].copy_from_slice(&sequence.to_be_bytes());
    frame[42..46].copy_from_slice(&acknowledgment.to_be_bytes());
    frame[46..54].copy_from_slice(&[0x50, 0x10, 0x20, 0, 0, 0, 0, 0]);
}
