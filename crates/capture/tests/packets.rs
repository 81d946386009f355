//! Headers of packets written out octet by octet after RFC 791, 8200, 768, 9293 and 7323.

use ethermeter_capture::file::{LinkErrors, LinkType, Packet};
use ethermeter_capture::packet::{
    frame_octets, headers, read_packet, Encapsulation, TransportPacket, UnreadPacket, TransportHeader,
};
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

fn packet(link: LinkType, data: &[u8]) -> Packet<'_> {
    let original = u32::try_from(data.len()).expect("short");
    Packet { time_ns: None, link, interface: 0, original, data, errors: LinkErrors::default(), comment: "" }
}

fn of(link: LinkType, data: &[u8]) -> Result<TransportPacket, UnreadPacket> {
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
    let packet_headers = of(LinkType::Ethernet, &frame).expect("TCP");
    assert_eq!(
        (packet_headers.source.to_string(), packet_headers.destination.to_string()),
        ("10.0.0.1:4660".into(), "10.0.0.2:80".into())
    );
    let TransportHeader::Tcp(tcp) = packet_headers.transport else { panic!("not TCP") };
    assert_eq!((tcp.sequence, tcp.acknowledgment, tcp.window), (0x0102_0304, 0, 64_240));
    assert_eq!((tcp.syn, tcp.ack, tcp.fin, tcp.rst), (true, false, false, false));
    assert_eq!(
        (tcp.largest_segment, tcp.window_shift, tcp.timestamps),
        (Some(1460), Some(7), Some((5, 6)))
    );
    assert_eq!(packet_headers.payload, 0);
}

/// The options of a segment, behind twenty octets of header.
fn with_options(options: &[u8]) -> Vec<u8> {
    let mut header = TCP_SYN[..20].to_vec();
    header[12] = u8::try_from((20 + options.len()) / 4).expect("at most 60 octets") << 4;
    header.extend(options);
    header
}

#[test]
fn options_that_are_not_known_are_passed_over_by_their_length() {
    // MD5 (kind 19, RFC 2385), multipath (kind 30), accurate ECN (kinds 172 and 254), before the
    // scale of windows; and a selective acknowledgement whose length is none of its kind.
    let unknown: [&[u8]; 4] =
        [&[19, 18, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], &[30, 2], &[172, 5, 0, 0, 0], &[5, 4, 9, 9]];
    for before in unknown {
        let mut options = [&[2, 4, 5, 180], before, &[3, 3, 7]].concat();
        options.resize(options.len().next_multiple_of(4), 1);
        let header = with_options(&options);
        let length = u16::try_from(20 + header.len()).expect("short");
        let frame = ethernet(0x0800, &[&ipv4(length, 0, 6), &header]);
        let TransportHeader::Tcp(tcp) = of(LinkType::Ethernet, &frame).expect("TCP").transport else {
            panic!("not TCP")
        };
        assert_eq!((tcp.largest_segment, tcp.window_shift), (Some(1460), Some(7)), "{before:?}");
    }
}

#[test]
fn an_option_whose_length_cannot_be_ends_them_and_what_preceded_stands() {
    for (bad, is_read) in [(&[77u8, 0][..], false), (&[77, 1], false), (&[77, 40], false), (&[77, 2], true)] {
        let header = with_options(&[&[2, 4, 5, 180], bad, &[1, 1, 3, 3, 7, 0]].concat());
        let length = u16::try_from(20 + header.len()).expect("short");
        let frame = ethernet(0x0800, &[&ipv4(length, 0, 6), &header]);
        let TransportHeader::Tcp(tcp) = of(LinkType::Ethernet, &frame).expect("TCP").transport else {
            panic!("not TCP")
        };
        let shift = is_read.then_some(7);
        assert_eq!((tcp.largest_segment, tcp.window_shift), (Some(1460), shift), "{bad:?}");
    }
}

#[test]
fn options_that_were_cut_are_known_to_be_missing() {
    let frame = ethernet(0x0800, &[&ipv4(60, 0x4000, 6), &TCP_SYN]);
    let TransportHeader::Tcp(tcp) = of(LinkType::Ethernet, &frame[..60]).expect("TCP").transport else {
        panic!("not TCP")
    };
    assert_eq!((tcp.has_cut_options, tcp.window_shift), (true, None));
}

#[test]
fn a_length_of_zero_is_that_of_the_packet_however_little_was_kept() {
    // 14 + 20 + 40 octets of headers, and 70 000 of payload.
    let segment = ethernet(0x0800, &[&ipv4(0, 0, 6), &TCP_SYN, &vec![9; 70_000]]);
    let cut = Packet { data: &segment[..96], ..packet(LinkType::Ethernet, &segment) };
    assert_eq!(headers(&cut).expect("TCP").payload, 70_000);
}

#[test]
fn a_length_that_no_window_has_room_for_is_not_believed() {
    let segment = ethernet(0x0800, &[&ipv4(0, 0, 6), &TCP_SYN]);
    let huge = Packet { original: u32::MAX, ..packet(LinkType::Ethernet, &segment) };
    assert_eq!(headers(&huge), Err(UnreadPacket::Broken));
    let large = Packet { original: 14 + 20 + 40 + (1 << 30), ..packet(LinkType::Ethernet, &segment) };
    assert_eq!(headers(&large).expect("TCP").payload, 1 << 30);
}

fn ipv6(length: u16, next: u8) -> Vec<u8> {
    let mut header = vec![0x60, 0, 0, 0];
    header.extend(length.to_be_bytes());
    header.extend([next, 64]);
    header.extend([0xfd; 16].iter().chain(&[0xfe; 16]));
    header
}

#[test]
fn a_jumbogram_has_its_length_in_an_option_or_nowhere() {
    // RFC 2675: the option's length counts what follows the IPv6 header, itself included.
    let octets = 8 + 40 + 100_000;
    let option = [&[6, 0, 0xc2, 4][..], &u32::try_from(octets).expect("short").to_be_bytes()].concat();
    let with = [ipv6(0, 0), option, TCP_SYN.to_vec(), vec![0; 100_000]].concat();
    let without = [ipv6(0, 6), TCP_SYN.to_vec(), vec![0; 100_000]].concat();
    for packet_octets in [with, without] {
        assert_eq!(of(LinkType::Ip, &packet_octets).expect("TCP").payload, 100_000);
        let cut = Packet { data: &packet_octets[..100], ..packet(LinkType::Ip, &packet_octets) };
        assert_eq!(headers(&cut).expect("TCP").payload, 100_000);
    }
}

/// A frame of Ethernet with UDP from port 7 to 9, "hi".
fn inner_frame() -> Vec<u8> {
    ethernet(0x0800, &[&ipv4(30, 0, 17), &udp(10), b"hi"])
}

/// UDP to a port.
fn udp_to(port: u16, contents: &[u8]) -> Vec<u8> {
    let length = u16::try_from(8 + contents.len()).expect("short");
    let header = [40_000u16, port, length, 0].map(u16::to_be_bytes).concat();
    let total = u16::try_from(28 + contents.len()).expect("short");
    [ipv4(total, 0, 17), header, contents.to_vec()].concat()
}

#[test]
#[allow(clippy::too_many_lines)] // a table
fn the_same_headers_are_found_in_every_encapsulation() {
    let ip = [ipv4(30, 0, 17), udp(10), b"hi".to_vec()].concat();
    let expected = of(LinkType::Ip, &ip).expect("UDP");
    let frame = inner_frame();
    let tunnel = |protocol: u8, contents: &[u8]| {
        let total = u16::try_from(20 + contents.len()).expect("short");
        [ipv4(total, 0, protocol), contents.to_vec()].concat()
    };
    let behind = |begin: &[u8], rest: &[u8]| [begin, rest].concat();
    let on = |kind: u16, begin: &[u8], rest: &[u8]| ethernet(kind, &[begin, rest]);
    // PPPoE: version and type 1, code 0, session 5, length of protocol and packet; PPP 0021.
    let pppoe = [0x11, 0, 0, 5, 0, 32, 0x00, 0x21];
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x00];
    // Label 16, not the bottom; label 17, the bottom; time to live 64.
    let labels = [0, 1, 0, 64, 0, 1, 0x11, 64];
    let vxlan = [8, 0, 0, 0, 0, 0, 42, 0];
    let hop_by_hop = [41, 0, 1, 4, 0, 0, 0, 0];
    let six_in_six = [ipv6(8 + 40 + 10, 0), hop_by_hop.to_vec(), ipv6(10, 17), udp(10), b"hi".to_vec()].concat();
    let packet_headers = of(LinkType::Ip, &six_in_six).expect("UDP");
    assert_eq!((packet_headers.source.port, packet_headers.payload), (7, 2));
    let cases: Vec<(&str, LinkType, Vec<u8>)> = vec![
        ("802.1ad and 802.1Q", LinkType::Ethernet, on(0x88a8, &[0, 5, 0x81, 0, 0, 6, 8, 0], &ip)),
        ("PPPoE", LinkType::Ethernet, on(0x8864, &pppoe, &ip)),
        ("PPPoE behind a tag", LinkType::Ethernet, on(0x8100, &[&[0, 7, 0x88, 0x64], &pppoe[..]].concat(), &ip)),
        ("PPPoE as a link", LinkType::PppoE, behind(&pppoe, &ip)),
        ("MPLS", LinkType::Ethernet, on(0x8847, &labels, &ip)),
        ("MPLS as a link", LinkType::Mpls, behind(&labels, &ip)),
        ("SNAP", LinkType::Ethernet, on(38, &snap, &ip)),
        ("LLC", LinkType::Ethernet, on(33, &[6, 6, 3], &ip)),
        ("LLC as a link", LinkType::Llc, behind(&snap, &ip)),
        ("FDDI", LinkType::Fddi, [&[0x57; 13][..], &snap, &ip].concat()),
        ("token ring", LinkType::TokenRing, [&[0; 14][..], &snap, &ip].concat()),
        ("PPP", LinkType::Ppp, behind(&[0x00, 0x21], &ip)),
        ("PPP, an octet of protocol", LinkType::Ppp, behind(&[0x21], &ip)),
        ("PPP in HDLC", LinkType::Ppp, behind(&[0xff, 3, 0, 0x21], &ip)),
        ("PPP with direction", LinkType::PppWithDirection, behind(&[0, 0xff, 3, 0, 0x21], &ip)),
        ("Cisco HDLC", LinkType::CiscoHdlc, behind(&[0x0f, 0, 8, 0], &ip)),
        ("Cisco HDLC as PPP", LinkType::Ppp, behind(&[0x0f, 0, 8, 0], &ip)),
        ("frame relay", LinkType::FrameRelay, behind(&[0x18, 0x41, 3, 0xcc], &ip)),
        ("frame relay, SNAP", LinkType::FrameRelay, behind(&[0x18, 0x41, 3, 0, 0x80, 0, 0, 0, 8, 0], &ip)),
        ("frame relay, Cisco", LinkType::FrameRelay, behind(&[0x18, 0x41, 8, 0], &ip)),
        ("IP in IP", LinkType::Ip, tunnel(4, &ip)),
        ("GRE", LinkType::Ip, tunnel(47, &behind(&[0, 0, 8, 0], &ip))),
        ("GRE with checksum, key, number", LinkType::Ip, tunnel(47, &behind(&[0xb0, 0, 8, 0, 1, 1, 0, 0, 2, 2, 2, 2, 3, 3, 3, 3], &ip))),
        ("GRE with a frame", LinkType::Ip, tunnel(47, &behind(&[0, 0, 0x65, 0x58], &frame))),
        ("ERSPAN II", LinkType::Ip, tunnel(47, &behind(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 0, 0, 0, 0, 0, 0, 0], &frame))),
        ("PPTP", LinkType::Ip, tunnel(47, &behind(&[0x30, 0x81, 0x88, 0x0b, 0, 34, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0xff, 3, 0, 0x21], &ip))),
        ("EtherIP", LinkType::Ip, tunnel(97, &behind(&[0x30, 0], &frame))),
        ("MPLS in IP", LinkType::Ip, tunnel(137, &behind(&labels, &ip))),
        ("VXLAN", LinkType::Ip, udp_to(4789, &behind(&vxlan, &frame))),
        ("VXLAN, Linux's first port", LinkType::Ip, udp_to(8472, &behind(&vxlan, &frame))),
        ("Geneve with an option", LinkType::Ip, udp_to(6081, &behind(&[1, 0, 0x65, 0x58, 0, 0, 42, 0, 9, 9, 9, 9], &frame))),
        ("GTP-U", LinkType::Ip, udp_to(2152, &behind(&[0x30, 0xff, 0, 30, 0, 0, 0, 1], &ip))),
        ("GTP-U with an extension", LinkType::Ip, udp_to(2152, &behind(&[0x34, 0xff, 0, 38, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0], &ip))),
        ("VXLAN in IPv6", LinkType::Ip, {
            let outer = udp_to(4789, &behind(&vxlan, &frame));
            [ipv6(u16::try_from(outer.len() - 20).expect("short"), 17), outer[20..].to_vec()].concat()
        }),
    ];
    for (name, link, data) in cases {
        assert_eq!(of(link, &data), Ok(expected), "{name}");
    }
}

#[test]
fn what_is_not_read_of_an_encapsulation_is_named() {
    let unread = |which: Encapsulation| Err(UnreadPacket::Encapsulation(which));
    let ip = [ipv4(30, 0, 17), udp(10), b"hi".to_vec()].concat();
    let in_ip = |protocol: u8| of(LinkType::Ip, &[ipv4(40, 0, protocol), vec![0; 20]].concat());
    assert_eq!(in_ip(50), unread(Encapsulation::Esp));
    assert_eq!(in_ip(115), unread(Encapsulation::L2tp));
    let on = |kind: u16, begin: &[u8]| of(LinkType::Ethernet, &ethernet(kind, &[begin, &ip]));
    assert_eq!(on(0x88e5, &[0; 8]), unread(Encapsulation::Macsec));
    assert_eq!(on(0x88e7, &[0; 4]), unread(Encapsulation::BackboneBridge));
    assert_eq!(on(0x894f, &[0; 8]), unread(Encapsulation::Nsh));
    // A control word of a pseudowire begins with zero.
    assert_eq!(on(0x8847, &[0, 1, 1, 64, 0, 0, 0, 0]), unread(Encapsulation::Pseudowire));
    assert_eq!(of(LinkType::Ppp, &[0x00, 0x3d, 0, 0]), unread(Encapsulation::Ppp));
    let mut deep = ip.clone();
    for _ in 0..20 {
        let total = u16::try_from(20 + deep.len()).expect("short");
        deep = [ipv4(total, 0, 4), deep].concat();
    }
    assert_eq!(of(LinkType::Ip, &deep), unread(Encapsulation::Deep));
    // Not encapsulations, but what is no IP.
    assert_eq!(on(0x8863, &[0x11, 9, 0, 0, 0, 0]), Err(UnreadPacket::Protocol));
    assert_eq!(of(LinkType::Ppp, &[0xc0, 0x21, 1, 1, 0, 4]), Err(UnreadPacket::Protocol));
    // UDP to a tunnel's port whose contents are none is UDP.
    assert!(of(LinkType::Ip, &udp_to(4789, b"no header")).is_ok());
    assert!(of(LinkType::Ip, &udp_to(4789, b"")).is_ok());
    assert!(of(LinkType::Ip, &udp_to(2152, &[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0])).is_ok());
}

#[test]
fn fragments_have_their_place_and_only_the_first_has_ports() {
    let first = ethernet(0x0800, &[&ipv4(1500, 0x2000, 17), &udp(3000), &[0; 1472]]);
    let contents = read_packet(&packet(LinkType::Ethernet, &first)).expect("a fragment");
    let fragment = contents.fragment.expect("a fragment");
    assert_eq!((fragment.offset, fragment.octets, fragment.has_more), (0, 1480, true));
    assert_eq!(contents.headers.expect("the first").source.port, 7);
    let last = ethernet(0x0800, &[&ipv4(20 + 40, 185, 17), &[0; 40]]);
    let contents = read_packet(&packet(LinkType::Ethernet, &last)).expect("a fragment");
    let fragment = contents.fragment.expect("a fragment");
    assert_eq!((fragment.offset, fragment.octets, fragment.has_more), (1480, 40, false));
    assert_eq!(contents.headers, None);
    // IPv6: fragment header, offset 1480, the last; identification 9.
    let six = [ipv6(48, 44), vec![17, 0, 0x05, 0xc8, 0, 0, 0, 9], vec![0; 40]].concat();
    let fragment = read_packet(&packet(LinkType::Ip, &six)).expect("one").fragment.expect("one");
    assert_eq!((fragment.identification, fragment.offset, fragment.octets, fragment.has_more), (9, 1480, 40, false));
    // A fragment that is the whole packet (RFC 6946) is none.
    let atomic = [ipv6(18, 44), vec![17, 0, 0, 0, 0, 0, 0, 9], udp(10), b"hi".to_vec()].concat();
    assert_eq!(of(LinkType::Ip, &atomic).expect("UDP").payload, 2);
}

#[test]
fn payload_is_what_the_packet_had_and_not_what_was_kept_of_it_nor_what_pads_a_frame() {
    let segment = ethernet(0x0800, &[&ipv4(1500, 0, 6), &TCP_SYN, &[9; 1440]]);
    assert_eq!(of(LinkType::Ethernet, &segment).expect("TCP").payload, 1440);
    assert_eq!(of(LinkType::Ethernet, &segment[..96]).expect("TCP").payload, 1440);
    let padded = ethernet(0x0800, &[&ipv4(30, 0, 17), &udp(10), b"hi", &[0; 16]]);
    assert_eq!(of(LinkType::Ethernet, &padded).expect("UDP").payload, 2);
    // A length of zero is of a packet that the interface shall still cut.
    let uncut = ethernet(0x0800, &[&ipv4(0, 0, 6), &TCP_SYN, &vec![9; 70_000]]);
    assert_eq!(of(LinkType::Ethernet, &uncut).expect("TCP").payload, 70_000);
}

#[test]
fn the_same_headers_are_found_behind_every_link() {
    let ip = [ipv4(30, 0, 17), udp(10), b"hi".to_vec()].concat();
    let expected = of(LinkType::Ip, &ip).expect("UDP");
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
        (LinkType::Cooked, cooked),
        (LinkType::Cooked2, cooked2),
        (LinkType::Ethernet, tagged),
        (LinkType::Loopback, loopback),
    ];
    for (link, data) in others {
        assert_eq!(of(link, &data), Ok(expected), "{link:?}");
    }
    assert_eq!(of(LinkType::Other(147), &ip), Err(UnreadPacket::Link(147)));
}

#[test]
fn a_frame_has_the_octets_of_its_packet_and_at_least_64() {
    for (link, captured, octets) in [
        (LinkType::Ethernet, 1514, Some(1518)),
        (LinkType::Ethernet, 42, Some(64)),
        (LinkType::Ip, 1500, Some(1518)),
        (LinkType::Ip, 40, Some(64)),
        (LinkType::Cooked, 16 + 46, Some(64)),
        (LinkType::Cooked2, 20 + 47, Some(65)),
        (LinkType::Loopback, 4 + 100, Some(118)),
        (LinkType::Ethernet, 13, None),
        (LinkType::Other(147), 100, None),
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
    let packet_headers = of(LinkType::Ip, &ip).expect("UDP");
    assert_eq!(packet_headers.payload, 10);
    assert!(packet_headers.source.address.is_ipv6());
}

#[test]
fn other_packets_are_distinguished_from_tcp_and_udp() {
    let first = ethernet(0x0800, &[&ipv4(1500, 0x2000, 17), &udp(3000), &[0; 100]]);
    assert_eq!(of(LinkType::Ethernet, &first), Err(UnreadPacket::Fragment));
    assert_eq!(of(LinkType::Ethernet, &ethernet(0x88b5, &[&[0; 46]])), Err(UnreadPacket::Protocol));
    assert_eq!(
        of(LinkType::Ethernet, &ethernet(0x0800, &[&ipv4(28, 0, 1), &[8; 8]])),
        Err(UnreadPacket::Protocol)
    );
    assert_eq!(of(LinkType::Ethernet, &ETHERNET[..9]), Err(UnreadPacket::Broken));
    // Cut within the transport's header, and a header longer than its packet.
    assert_eq!(
        of(LinkType::Ethernet, &ethernet(0x0800, &[&ipv4(60, 0, 6), &TCP_SYN[..10]])),
        Err(UnreadPacket::Broken)
    );
    assert_eq!(
        of(LinkType::Ethernet, &ethernet(0x0800, &[&ipv4(24, 0, 17), &udp(10)])),
        Err(UnreadPacket::Broken)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_octets_are_read_with_a_panic(
        octets in prop::collection::vec(any::<u8>(), 0..120),
        kind in prop::sample::select(vec![0x0800u16, 0x86dd, 0x8100, 0x88a8, 0x0806, 0x1234, 0x8864, 0x8847, 0x6558, 40]),
        link in prop::sample::select(vec![
            LinkType::Ethernet, LinkType::Ip, LinkType::Cooked, LinkType::Cooked2, LinkType::Loopback, LinkType::Ppp, LinkType::PppWithDirection, LinkType::PppoE,
            LinkType::CiscoHdlc, LinkType::FrameRelay, LinkType::Mpls, LinkType::Llc, LinkType::Fddi, LinkType::TokenRing, LinkType::Other(9),
        ]),
        version in prop::sample::select(vec![0x45u8, 0x4f, 0x60, 0x00, 0xff, 0xaa]),
        original in prop::sample::select(vec![0u32, 1, 60, 1514, 100_000, u32::MAX]),
    ) {
        let mut data = if link == LinkType::Ethernet { ethernet(kind, &[]) } else { Vec::new() };
        data.push(version);
        data.extend(&octets);
        let _ = of(link, &data);
        let _ = headers(&Packet { original, ..packet(link, &data) });
    }

    #[test]
    fn no_octets_in_a_tunnel_are_read_with_a_panic(
        octets in prop::collection::vec(any::<u8>(), 0..120),
        protocol in prop::sample::select(vec![0u8, 4, 6, 17, 41, 43, 44, 47, 50, 51, 60, 97, 115, 135, 137]),
        port in prop::sample::select(vec![4789u16, 8472, 6081, 2152, 9]),
        begin in prop::sample::select(vec![&[][..], &[8, 0, 0, 0, 0, 0, 1, 0][..], &[0x30, 0xff][..], &[0x34, 0xff][..], &[0xb0, 0, 0x65, 0x58][..]]),
    ) {
        let contents = [begin, &octets].concat();
        let _ = of(LinkType::Ip, &[ipv4(0, 0, protocol), contents.clone()].concat());
        let _ = of(LinkType::Ip, &[ipv6(0, protocol), contents.clone()].concat());
        let _ = of(LinkType::Ip, &udp_to(port, &contents));
    }
}
