//! Headers of packets written out octet by octet after RFC 791, 8200, 768, 9293 and 7323.

use ethermeter_capture::file::{Errors, Link, Packet};
use ethermeter_capture::packet::{frame_octets, headers, Headers, Other, Transport};
use proptest::prelude::*;

const ETHERNET: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

/// Port 4660 to 80: SYN, largest segment 1460, window shifted by 7, timestamps 5 and 6.
const TCP_SYN: [u8; 40] = [
    0x12, 0x34, 0x00, 0x50, // ports
    0x01, 0x02, 0x03, 0x04, // sequence number
    0x00, 0x00, 0x00, 0x00, // acknowledgment number
    0xa0, 0x02, 0xfa, 0xf0, // ten words of header, SYN, window 64240
    0x00, 0x00, 0x00, 0x00, // checksum, urgent pointer
    0x02, 0x04, 0x05, 0xb4, // largest segment
    0x04, 0x02, // selective acknowledgements permitted
    0x08, 0x0a, 0, 0, 0, 5, 0, 0, 0, 6,    // timestamps
    0x01, // no operation
    0x03, 0x03, 0x07, // window scale
];

fn ipv4(length: u16, fragment: u16, protocol: u8) -> Vec<u8> {
    let mut header = vec![0x45, 0];
    header.extend(length.to_be_bytes());
    header.extend([0, 1]);
    header.extend(fragment.to_be_bytes());
    header.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    header
}

fn udp(length: u16) -> Vec<u8> {
    let mut header = vec![0x00, 0x07, 0x00, 0x09];
    header.extend(length.to_be_bytes());
    header.extend([0, 0]);
    header
}

fn packet(link: Link, data: &[u8]) -> Packet<'_> {
    let original = u32::try_from(data.len()).expect("short");
    Packet { time_ns: None, link, interface: 0, original, data, errors: Errors::default() }
}

fn of(link: Link, data: &[u8]) -> Result<Headers, Other> {
    headers(&packet(link, data))
}

fn ethernet(kind: u16, rest: &[&[u8]]) -> Vec<u8> {
    let mut frame = ETHERNET.to_vec();
    frame.extend(kind.to_be_bytes());
    frame.extend(rest.concat());
    frame
}

#[test]
fn a_syn_has_its_options() {
    let frame = ethernet(0x0800, &[&ipv4(60, 0x4000, 6), &TCP_SYN]);
    let found = of(Link::Ethernet, &frame).expect("TCP");
    assert_eq!(
        (found.source.to_string(), found.destination.to_string()),
        ("10.0.0.1:4660".into(), "10.0.0.2:80".into())
    );
    let Transport::Tcp(tcp) = found.transport else { panic!("not TCP") };
    assert_eq!((tcp.sequence, tcp.acknowledgment, tcp.window), (0x0102_0304, 0, 64_240));
    assert_eq!((tcp.syn, tcp.ack, tcp.fin, tcp.rst), (true, false, false, false));
    assert_eq!(
        (tcp.largest_segment, tcp.window_shift, tcp.timestamps),
        (Some(1460), Some(7), Some((5, 6)))
    );
    assert_eq!(found.payload, 0);
}

#[test]
fn payload_is_what_the_packet_had_and_not_what_was_kept_of_it_nor_what_pads_a_frame() {
    let whole = ethernet(0x0800, &[&ipv4(1500, 0, 6), &TCP_SYN, &[9; 1440]]);
    assert_eq!(of(Link::Ethernet, &whole).expect("TCP").payload, 1440);
    assert_eq!(of(Link::Ethernet, &whole[..96]).expect("TCP").payload, 1440);
    let padded = ethernet(0x0800, &[&ipv4(30, 0, 17), &udp(10), b"hi", &[0; 16]]);
    assert_eq!(of(Link::Ethernet, &padded).expect("UDP").payload, 2);
    // A length of zero is of a packet that the interface shall still cut.
    let uncut = ethernet(0x0800, &[&ipv4(0, 0, 6), &TCP_SYN, &vec![9; 70_000]]);
    assert_eq!(of(Link::Ethernet, &uncut).expect("TCP").payload, 70_000);
}

#[test]
fn the_same_headers_are_found_behind_every_link() {
    let ip = [ipv4(30, 0, 17), udp(10), b"hi".to_vec()].concat();
    let expected = of(Link::Ip, &ip).expect("UDP");
    assert_eq!((expected.source.port, expected.destination.port, expected.payload), (7, 9, 2));
    let mut cooked = vec![0; 14];
    cooked.extend([0x08, 0x00]);
    cooked.extend(&ip);
    let mut cooked2 = vec![0x08, 0x00];
    cooked2.extend([0; 18]);
    cooked2.extend(&ip);
    let tagged = ethernet(0x8100, &[&[0x00, 0x05, 0x08, 0x00], &ip]);
    let loopback = [vec![2, 0, 0, 0], ip.clone()].concat();
    let others = [
        (Link::Cooked, cooked),
        (Link::Cooked2, cooked2),
        (Link::Ethernet, tagged),
        (Link::Loopback, loopback),
    ];
    for (link, data) in others {
        assert_eq!(of(link, &data), Ok(expected), "{link:?}");
    }
    assert_eq!(of(Link::Other(147), &ip), Err(Other::Link(147)));
}

#[test]
fn a_frame_has_the_octets_of_its_packet_and_at_least_64() {
    for (link, captured, octets) in [
        (Link::Ethernet, 1514, Some(1518)),
        (Link::Ethernet, 42, Some(64)),
        (Link::Ip, 1500, Some(1518)),
        (Link::Ip, 40, Some(64)),
        (Link::Cooked, 16 + 46, Some(64)),
        (Link::Cooked2, 20 + 47, Some(65)),
        (Link::Loopback, 4 + 100, Some(118)),
        (Link::Ethernet, 13, None),
        (Link::Other(147), 100, None),
    ] {
        assert_eq!(frame_octets(&packet(link, &vec![0; captured])), octets, "{link:?}, {captured}");
    }
}

#[test]
fn ipv6_with_an_extension_counts_payload_without_it() {
    let mut ip = vec![0x60, 0, 0, 0, 0, 18 + 8, 0, 64];
    ip.extend([0xfd; 16].iter().chain(&[0xfe; 16]));
    ip.extend([17, 0, 1, 4, 0, 0, 0, 0]); // hop-by-hop: only padding
    ip.extend(udp(18));
    ip.extend([1; 10]);
    let found = of(Link::Ip, &ip).expect("UDP");
    assert_eq!(found.payload, 10);
    assert!(found.source.address.is_ipv6());
}

#[test]
fn other_packets_are_distinguished_from_tcp_and_udp() {
    let first = ethernet(0x0800, &[&ipv4(1500, 0x2000, 17), &udp(3000), &[0; 100]]);
    assert_eq!(of(Link::Ethernet, &first), Err(Other::Fragment));
    assert_eq!(of(Link::Ethernet, &ethernet(0x88b5, &[&[0; 46]])), Err(Other::Protocol));
    assert_eq!(
        of(Link::Ethernet, &ethernet(0x0800, &[&ipv4(28, 0, 1), &[8; 8]])),
        Err(Other::Protocol)
    );
    assert_eq!(of(Link::Ethernet, &ETHERNET[..9]), Err(Other::Broken));
    // Cut within the transport's header, and a header longer than its packet.
    assert_eq!(
        of(Link::Ethernet, &ethernet(0x0800, &[&ipv4(60, 0, 6), &TCP_SYN[..10]])),
        Err(Other::Broken)
    );
    assert_eq!(
        of(Link::Ethernet, &ethernet(0x0800, &[&ipv4(24, 0, 17), &udp(10)])),
        Err(Other::Broken)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_octets_are_read_with_a_panic(
        octets in prop::collection::vec(any::<u8>(), 0..120),
        kind in prop::sample::select(vec![0x0800u16, 0x86dd, 0x8100, 0x88a8, 0x0806, 0x1234]),
        link in prop::sample::select(vec![Link::Ethernet, Link::Ip, Link::Cooked, Link::Cooked2, Link::Loopback, Link::Other(9)]),
        version in prop::sample::select(vec![0x45u8, 0x4f, 0x60, 0x00]),
    ) {
        let mut data = if link == Link::Ethernet { ethernet(kind, &[]) } else { Vec::new() };
        data.push(version);
        data.extend(&octets);
        let _ = of(link, &data);
    }
}
