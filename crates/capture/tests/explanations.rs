//! Explanations of captures written octet by octet, in bounded memory.

use ethermeter_capture::connection::TcpConnection;
use ethermeter_capture::explain::{explain, Explainer, Explanation, MOST_LISTED};
use ethermeter_capture::file::{LinkErrors, Packet};
use ethermeter_capture::write::CaptureWriter;
use ethermeter_capture::{json, CaptureReader, LinkType};
use proptest::prelude::*;

fn ethernet(kind: u16, rest: &[&[u8]]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    frame.extend(kind.to_be_bytes());
    frame.extend(rest.concat());
    frame
}

fn ip(protocol: u8, rest: &[u8]) -> Vec<u8> {
    let length = u16::try_from(20 + rest.len()).expect("short");
    let mut header = vec![0x45, 0];
    header.extend(length.to_be_bytes());
    header.extend([0, 1, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    ethernet(0x0800, &[&header, rest])
}

fn tcp(ports: (u16, u16), sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = [ports.0.to_be_bytes(), ports.1.to_be_bytes()].concat();
    header.extend(sequence.to_be_bytes());
    header.extend([0, 0, 0, 1, 0x50, flags, 0x10, 0, 0, 0, 0, 0]);
    header.extend(payload);
    let mut frame = ip(6, &header);
    if ports.0 == 80 {
        // The server is the other host.
        (frame[29], frame[33]) = (2, 1);
    }
    frame
}

fn udp(payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(8 + payload.len()).expect("short");
    let mut header = vec![0x13, 0x88, 0x13, 0x89];
    header.extend(length.to_be_bytes());
    header.extend([0, 0]);
    header.extend(payload);
    ip(17, &header)
}

fn marked(stream: u16, sequence: u8) -> Vec<u8> {
    let mut mark = vec![0xE3, 0x10, 0, 7];
    mark.extend(stream.to_be_bytes());
    mark.extend([0, 0, 0, 0, 0, sequence, 0, 0, 0, 0, 0, 0, 0xAA, 0xAA]);
    mark
}

fn explained(frames: &[Vec<u8>]) -> Explanation {
    let mut writer = CaptureWriter::new(Vec::new(), LinkType::Ethernet, 65_535).expect("memory");
    for (at, frame) in (0i64..).zip(frames) {
        writer.packet(1_000_000_000 + at * 1_000_000, frame).expect("memory");
    }
    explain(&writer.finish().expect("memory")[..], |_| true).expect("a capture")
}

const SYN: u8 = 2;
const ACK: u8 = 16;
const FIN: u8 = 1;

#[test]
fn every_packet_is_of_one_kind() {
    let mut fragment = udp(b"abc");
    fragment[20] = 0x20;
    let explanation = explained(&[
        tcp((1, 2), 0, SYN, b""),
        udp(b"abc"),
        ethernet(0x88b5, &[&marked(1, 0)]),
        ethernet(0x0806, &[&[0; 28]]),
        fragment,
        vec![1, 2, 3],
    ]);
    let kinds = explanation.kinds;
    assert_eq!(
        (kinds.tcp, kinds.udp, kinds.raw, kinds.other, kinds.fragment, kinds.broken, kinds.unread),
        (1, 1, 1, 1, 1, 1, 0)
    );
    assert_eq!((explanation.packets, explanation.times_ns), (6, Some((1_000_000_000, 1_005_000_000))));
    assert!(explanation.ended_by.is_none());
}

/// Packets with their times in µs, interface, and octets, explained.
fn explained_at(packets: &[(i64, u32, Vec<u8>)]) -> Explanation {
    let mut explainer = Explainer::default();
    for (at_us, interface, data) in packets {
        explainer.packet(&Packet {
            time_ns: Some(1_000_000_000 + at_us * 1000),
            link: LinkType::Ethernet,
            interface: *interface,
            original: u32::try_from(data.len()).expect("short"),
            data,
            errors: LinkErrors::default(),
            comment: "",
        });
    }
    explainer.explanation(0, None)
}

fn only(explanation: &Explanation) -> &TcpConnection {
    assert_eq!(explanation.connection_sums.0, 1);
    &explanation.connections[0].record.connection
}

/// The frame with another identification of IPv4.
fn identified(mut frame: Vec<u8>, number: u8) -> Vec<u8> {
    frame[19] = number;
    frame
}

#[test]
fn a_packet_that_is_captured_twice_counts_once() {
    // Twenty segments and their acknowledgements, each 5 µs later once more.
    let mut packets = Vec::new();
    for at in 0u8..20 {
        let now = i64::from(at) * 1000;
        let data = identified(tcp((9, 80), 1 + u32::from(at) * 100, ACK, &[at; 100]), at + 1);
        let answer = identified(tcp((80, 9), 1, ACK, b""), at + 1);
        for (after, frame) in [(0, &data), (5, &data), (400, &answer), (405, &answer)] {
            packets.push((now + after, 0, frame.clone()));
        }
    }
    let explanation = explained_at(&packets);
    let [client, server] = &only(&explanation).halves;
    assert_eq!((client.octets, client.resent, client.late, client.copies), (2000, 0, 0, 20));
    // It says the same number twenty times.
    assert_eq!((server.segments, server.duplicate_acks, server.copies), (20, 19, 20));
    assert_eq!((explanation.kinds.copied, explanation.kinds.tcp, explanation.packets), (40, 40, 80));
}

#[test]
fn what_is_sent_again_is_no_copy() {
    let segment = tcp((9, 80), 1, ACK, &[7; 100]);
    let resent = |frame: Vec<u8>, after_us: i64| {
        let packets = [(0, 0, identified(segment.clone(), 1)), (after_us, 0, frame)];
        let explanation = explained_at(&packets);
        (only(&explanation).halves[0].resent, explanation.kinds.copied)
    };
    // Another identification, however soon.
    assert_eq!(resent(identified(segment.clone(), 2), 5), (1, 0));
    // The same one, which a sender may keep, after the shortest timeout there is.
    assert_eq!(resent(identified(segment.clone(), 1), 200_000), (1, 0));
    assert_eq!(resent(identified(segment.clone(), 1), 90_000), (0, 1));
    // Other octets.
    assert_eq!(resent(identified(tcp((9, 80), 1, ACK, &[8; 100]), 1), 5), (1, 0));
    // Behind a router, where the time to live is smaller, a queue may be between.
    let mut routed = identified(segment.clone(), 1);
    routed[22] -= 1;
    assert_eq!(resent(routed, 900_000), (0, 1));
}

#[test]
fn without_an_identification_only_what_no_sender_could_send_so_soon_is_a_copy() {
    let segment = identified(tcp((9, 80), 1, ACK, &[7; 100]), 0);
    let explanation = explained_at(&[(0, 0, segment.clone()), (5, 0, segment.clone())]);
    assert_eq!(explanation.kinds.copied, 1);
    let explanation = explained_at(&[(0, 0, segment.clone()), (20, 0, segment.clone())]);
    assert_eq!(explanation.kinds.copied, 0);
    let explanation = explained_at(&[(0, 0, segment.clone()), (20, 1, segment)]);
    assert_eq!(explanation.kinds.copied, 1);
    // Duplicate acknowledgements are alike, and meant so.
    let answer = identified(tcp((80, 9), 1, ACK, b""), 0);
    let explanation = explained_at(&[(0, 0, answer.clone()), (5, 0, answer.clone()), (10, 0, answer)]);
    assert_eq!(explanation.kinds.copied, 0);
}

/// Fragments of a UDP packet of so many octets of payload, each of at most 1480.
fn fragments(octets: usize, identification: u8) -> Vec<Vec<u8>> {
    let length = u16::try_from(8 + octets).expect("short");
    let mut contents = vec![0x13, 0x88, 0x13, 0x89];
    contents.extend(length.to_be_bytes());
    contents.resize(8 + octets, 0);
    let count = contents.len().div_ceil(1480);
    let fragments = contents.chunks(1480).enumerate().map(|(at, chunk)| {
        let mut frame = identified(ip(17, chunk), identification);
        let more = if at + 1 < count { 0x2000 } else { 0 };
        let offset_field = u16::try_from(at * 185).expect("short") | more;
        frame[20..22].copy_from_slice(&offset_field.to_be_bytes());
        frame
    });
    fragments.collect()
}

#[test]
fn udp_in_fragments_is_one_flow_of_whole_packets() {
    // 4000 octets are three fragments each; those of the second packet come in another order, and
    // the third lacks one.
    let mut frames = fragments(4000, 1);
    frames.extend(fragments(4000, 2).into_iter().rev());
    frames.extend(fragments(4000, 3).into_iter().skip(1));
    let explanation = explained(&frames);
    let flow = &explanation.flows[0].record;
    assert_eq!((explanation.flow_sums.0, flow.flow.packets, flow.flow.octets), (1, 2, 8000));
    assert_eq!(flow.source.to_string(), "10.0.0.1:5000");
    assert_eq!((explanation.kinds.fragment, explanation.kinds.udp, explanation.packets), (8, 0, 8));
    assert_eq!(explanation.reassembled, (2, 1));
}

#[test]
fn fragments_that_are_captured_twice_count_once() {
    let frames: Vec<Vec<u8>> =
        fragments(4000, 1).into_iter().flat_map(|frame| [frame.clone(), frame]).collect();
    let explanation = explained(&frames);
    assert_eq!((explanation.kinds.fragment, explanation.kinds.copied, explanation.reassembled), (3, 3, (1, 0)));
    assert_eq!(explanation.flows[0].record.flow.octets, 4000);
}

#[test]
fn fragments_without_end_take_no_memory_without_end() {
    let mut explainer = Explainer::default();
    let frame = fragments(4000, 1).remove(0);
    for at in 0u32..20_000 {
        let mut data = frame.clone();
        data[26..30].copy_from_slice(&at.to_be_bytes()); // another source each
        let original = u32::try_from(data.len()).expect("short");
        explainer.packet(&Packet {
            time_ns: Some(0),
            link: LinkType::Ethernet,
            interface: 0,
            original,
            data: &data,
            errors: LinkErrors::default(),
            comment: "",
        });
    }
    assert_eq!(explainer.explanation(0, None).reassembled, (0, 20_000));
}

#[test]
fn encapsulations_that_are_not_read_are_counted_by_name() {
    let explanation = explained(&[ip(50, &[0; 40]), ip(50, &[1; 40]), ethernet(0x88e5, &[&[0; 40]])]);
    assert_eq!(explanation.kinds.encapsulated, 3);
    let json = json::to_json(&explanation);
    assert_eq!(json["encapsulations"], serde_json::json!({ "ESP (IPsec)": 2, "MACsec": 1 }));
}

#[test]
fn connections_of_one_path_are_summed_up_by_direction() {
    // Two connections whose segments of 100 octets leave 2 ms apart in turn, and one answer.
    let mut frames = Vec::new();
    for at in 0u32..40 {
        let port = 1000 + u16::try_from(at % 2).expect("0 or 1");
        frames.push(tcp((port, 80), 1 + at / 2 * 100, ACK, &[0; 100]));
        frames.push(tcp((80, port), 1, ACK, b""));
    }
    frames.push(tcp((80, 1000), 1, ACK, b"answer"));
    let explanation = explained(&frames);
    let [path] = &explanation.paths[..] else { panic!("one path") };
    assert_eq!(path.connections, 2);
    assert_eq!(path.addresses.map(|address| address.to_string()), ["10.0.0.1", "10.0.0.2"]);
    let [forth, back] = &path.directions;
    assert_eq!((forth.segments, forth.octets, forth.packet_octets), (40, 4000, 40 * 154));
    assert_eq!((back.segments, back.octets, back.spacing.count()), (1, 6, 0));
    // A frame of 154 octets every 2 ms: 12 987 ns an octet.
    assert_eq!(
        (forth.spacing.count(), forth.spacing.least_ns(), forth.spacing.most_ns()),
        (39, Some(12_987_012), Some(12_987_012))
    );
}

#[test]
fn a_mark_tells_what_was_lost_and_reordered_of_each_stream() {
    let numbers = [0, 1, 3, 2, 6, 6, 7];
    let mut frames: Vec<Vec<u8>> = numbers.iter().map(|&number| udp(&marked(1, number))).collect();
    frames.extend([5, 6, 8].map(|number| ethernet(0x88b5, &[&marked(2, number)])));
    frames.push(udp(b"no mark"));
    let explanation = explained(&frames);
    assert_eq!(explanation.flow_sums.0, 3);
    let of = |stream| {
        explanation
            .flows
            .iter()
            .find(|flow| flow.record.mark.is_some_and(|mark| mark.stream == stream))
            .expect("there")
    };
    let account = of(1).record.flow.account().expect("marked");
    assert_eq!((account.sent, account.received, account.missing), (8, 6, 2));
    assert_eq!((account.reordered, account.duplicate, account.longest_gap), (1, 1, 2));
    // What happened before the capture began is unknown, and not lost.
    let account = of(2).record.flow.account().expect("marked");
    assert_eq!((account.sent, account.missing), (4, 1));
    assert_eq!(of(2).record.source.to_string(), "02:00:00:00:00:02");
    let bare = explanation.flows.iter().find(|flow| flow.record.mark.is_none()).expect("there");
    assert_eq!((bare.record.flow.octets, bare.record.flow.account()), (7, None));
    assert_eq!(of(1).record.flow.gaps.quantile_ns(0.5), Some(1_000_000));
}

#[test]
fn the_priority_of_a_flow_is_that_of_its_tags() {
    // The upper three bits of what follows the type of a tag: PCP, DEI and VID (802.1Q-2022 § 9.6).
    let tagged = |tag: u16, control: [u8; 2], number| {
        ethernet(tag, &[&control, &[0x88, 0xb5], &marked(1, number)])
    };
    let datagram = udp(b"abc");
    let explanation = explained(&[
        tagged(0x8100, [0b1100_0000, 0], 0),
        tagged(0x8100, [0b1100_0000, 0], 1),
        // DEI and VID do not count.
        tagged(0x8100, [0b0111_1111, 0xff], 2),
        // A tag of a provider (0x88A8) around another one.
        ethernet(0x88a8, &[&[0b1010_0000, 5, 0x81, 0, 0b0010_0000, 6, 0x88, 0xb5], &marked(1, 3)]),
        ethernet(0x88b5, &[&marked(1, 4)]),
        ethernet(0x8100, &[&[0, 0, 0x08, 0x00], &datagram[14..]]),
        datagram,
    ]);
    let mut flows: Vec<_> =
        explanation.flows.iter().map(|listed| (listed.number, listed.record.priority, listed.record.flow.packets)).collect();
    flows.sort_unstable();
    let expected = [
        (1, Some(6), 2),
        (2, Some(3), 1),
        (3, Some(5), 1),
        (4, None, 1),
        (5, Some(0), 1),
        (6, None, 1),
    ];
    assert_eq!(flows, expected);
    // A tag is no payload: octets are those of what follows the type within it.
    assert!(explanation
        .flows
        .iter()
        .filter(|listed| listed.record.mark.is_some())
        .all(|listed| { listed.record.flow.octets == listed.record.flow.packets * marked(1, 0).len() as u64 }));
    let json = json::to_json(&explanation);
    let of_json = json["flows"].as_array().expect("flows");
    assert_eq!(of_json.iter().find(|flow| flow["number"] == 1).expect("there")["priority"], 6);
}

#[test]
fn the_same_ports_are_another_connection_after_another_syn() {
    let frames = [
        tcp((9, 80), 100, SYN, b""),
        tcp((80, 9), 500, SYN | ACK, b""),
        tcp((9, 80), 100, SYN, b""), // once more: the same
        tcp((9, 80), 101, ACK, b"abc"),
        tcp((9, 80), 104, ACK | FIN, b""),
        tcp((9, 80), 9000, SYN, b""),
        tcp((9, 80), 9001, ACK, b"defgh"),
    ];
    let explanation = explained(&frames);
    let octets: Vec<u64> =
        explanation.connections.iter().map(|listed| listed.record.connection.halves[0].octets).collect();
    assert_eq!((explanation.connection_sums.0, octets), (2, vec![5, 3]));
    assert_eq!(explanation.connections.iter().map(|of| of.first_packet).collect::<Vec<_>>(), [6, 1]);
}

#[test]
fn who_answers_a_syn_did_not_begin() {
    let explanation = explained(&[tcp((80, 9), 500, SYN | ACK, b""), tcp((9, 80), 101, ACK, b"abc")]);
    assert_eq!(explanation.connection_sums.0, 1);
    assert_eq!(explanation.connections[0].record.ends.map(|end| end.port), [9, 80]);
    assert_eq!(explanation.connections[0].record.connection.halves[0].octets, 3);
}

#[test]
fn of_more_connections_than_are_followed_the_oldest_are_finished_and_counted() {
    let mut explainer = Explainer::with_most_live(10);
    let mut send = |port: u16, sequence: u32| {
        let data = tcp((port, 80), sequence, ACK, b"x");
        let original = u32::try_from(data.len()).expect("short");
        explainer.packet(&Packet {
            time_ns: Some(0),
            link: LinkType::Ethernet,
            interface: 0,
            original,
            data: &data,
            errors: LinkErrors::default(),
            comment: "",
        });
    };
    (0..25).for_each(|port| send(port, 0));
    // Of those that are still followed nothing is torn apart.
    (15..25).for_each(|port| send(port, 1));
    let explanation = explainer.explanation(0, None);
    assert_eq!((explanation.connection_sums.0, explanation.connection_sums.2), (25, 15));
    assert_eq!(
        explanation.connections.iter().filter(|listed| listed.record.connection.halves[0].segments == 2).count(),
        10
    );
}

#[test]
fn twenty_thousand_connections_side_by_side_are_followed_to_their_end() {
    // Series of 256 slices each would take 320 MB: they grow coarser instead, and none is let go.
    let mut explainer = Explainer::default();
    for round in 0..8u32 {
        for connection in 0..20_000u16 {
            let data = tcp((connection, 5001), round, ACK, b"x");
            let time_ns = Some(i64::from(round) * 100_000_000 + i64::from(connection));
            let original = u32::try_from(data.len()).expect("short");
            explainer.packet(&Packet {
                time_ns,
                link: LinkType::Ethernet,
                interface: 0,
                original,
                data: &data,
                errors: LinkErrors::default(),
                comment: "",
            });
        }
    }
    let explanation = explainer.explanation(0, None);
    assert_eq!((explanation.connection_sums.0, explanation.connection_sums.2), (20_000, 0));
    for listed in &explanation.connections {
        let half = &listed.record.connection.halves[0];
        assert_eq!(half.octets, 8);
        assert_eq!(half.series.slices().iter().map(|slice| slice.octets).sum::<u64>(), 8);
    }
}

#[test]
fn what_is_not_listed_is_in_the_sums() {
    let extra = 50;
    let frames: Vec<Vec<u8>> = (0..MOST_LISTED + extra)
        .map(|port| {
            tcp(
                (u16::try_from(port).expect("few"), 80),
                0,
                ACK,
                if port % 2 == 0 { b"abcd" } else { b"" },
            )
        })
        .collect();
    let explanation = explained(&frames);
    let (count, rest, evicted) = explanation.connection_sums;
    assert_eq!((count, rest.count, rest.packets, evicted), (1050, 50, 50, 0));
    let listed: u64 = explanation.connections.iter().map(|listed| listed.record.connection.halves[0].octets).sum();
    assert_eq!((explanation.connections.len(), listed + rest.octets), (MOST_LISTED, 525 * 4));
    // The smallest, and of these the last, are those that are not listed.
    assert_eq!(rest.octets, 0);
}

#[test]
fn json_has_everything_and_no_number_that_json_has_not() {
    let explanation = explained(&[tcp((9, 80), 1, ACK, b"abc"), udp(&marked(1, 0))]);
    let json = json::to_json(&explanation);
    assert_eq!(json["connections"][0]["ends"][0]["octets"], 3);
    assert_eq!(json["connections"][0]["handshake_ns"], serde_json::Value::Null);
    assert_eq!(json["connections"][0]["limits_ns"].as_object().expect("a table").len(), 13);
    assert_eq!(json["flows"][0]["numbers"]["sent"], 1);
    assert_eq!(json["flows"][0]["begin_ns"], 1_000_000);
}

#[test]
fn packets_that_are_read_ahead_are_explained_as_one_by_one() {
    // Enough connections and flows for their memory to be asked for and some that begin anew; both
    // directions, and more than a batch.
    let mut frames = Vec::new();
    for at in 0u16..3000 {
        let (port, round) = (1000 + at % 400, u32::from(at / 400));
        let flags = if round == 4 && port % 7 == 0 { SYN } else { ACK };
        frames.push(tcp(
            (port, 80),
            1 + round * 10 + 1000 * u32::from(flags),
            flags,
            &[0; 10][..(usize::from(at) * 7) % 11],
        ));
        if at % 3 == 0 {
            frames.push(tcp((80, port), 1, ACK, b""));
        }
        if at % 5 == 0 {
            let mut packet = udp(&marked(at % 300, (round * 3 % 11) as u8));
            packet[35] = (at % 3) as u8;
            frames.push(packet);
        }
        if at % 50 == 0 {
            frames.push(ethernet(0x0806, &[&[0; 28]]));
        }
    }
    let mut writer = CaptureWriter::new(Vec::new(), LinkType::Ethernet, 65_535).expect("memory");
    for (at, frame) in (0i64..).zip(&frames) {
        writer.packet(1_000_000_000 + at * 70_000, frame).expect("memory");
    }
    let file = writer.finish().expect("memory");
    let at_once = explain(&file[..], |_| true).expect("a capture");
    let (mut one_by_one, mut capture) =
        (Explainer::default(), CaptureReader::new(&file[..]).expect("a capture"));
    while let Some(packet) = capture.read_packet().expect("complete") {
        one_by_one.packet(&packet);
    }
    // 57 of the 400 ports end in a SYN with another number.
    assert_eq!((at_once.connection_sums.0, at_once.flow_sums.0), (457, 60));
    assert_eq!(
        json::to_json(&at_once),
        json::to_json(&one_by_one.explanation(capture.octets(), None))
    );
}

#[test]
fn who_watches_may_end_it() {
    let mut writer = CaptureWriter::new(Vec::new(), LinkType::Ethernet, 65_535).expect("memory");
    for at in 0..100_000 {
        writer.packet(at, &[0; 60]).expect("memory");
    }
    let mut calls = 0;
    let explanation = explain(&writer.finish().expect("memory")[..], |_| {
        calls += 1;
        calls < 3
    });
    assert_eq!((explanation.expect("a capture").packets, calls), (65_536, 3));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_octets_are_explained_or_refused(
        octets in prop::collection::vec(any::<u8>(), 0..400),
        begin in prop::sample::select(vec![&b""[..], &b"\xd4\xc3\xb2\xa1"[..], &b"\x4d\x3c\xb2\xa1"[..], &b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a"[..]]),
    ) {
        if let Ok(explanation) = explain(&[begin, &octets].concat()[..], |_| true) {
            prop_assert!(explanation.file_octets <= (begin.len() + octets.len()) as u64);
            prop_assert!(json::to_json(&explanation).is_object());
        }
    }

    #[test]
    #[allow(clippy::cast_possible_truncation)] // any value will do
    fn any_frames_are_explained_without_a_panic_and_each_is_counted(
        frames in prop::collection::vec(
            (0usize..4, any::<u64>(), prop::collection::vec(any::<u8>(), 0..60), prop::collection::vec((0usize..90, any::<u8>()), 0..4)),
            0..40,
        ),
    ) {
        let mut explainer = Explainer::with_most_live(3);
        for (kind, time, body, breaks) in &frames {
            let mut data = match kind {
                0 => tcp((u16::from(body.first().copied().unwrap_or(0)) % 5, 80), u32::from(body.len() as u8) << 24, *time as u8, body),
                1 => udp(body),
                2 => ethernet(0x88b5, &[&marked(1, *time as u8), body]),
                _ => body.clone(),
            };
            for (at, value) in breaks {
                if let Some(octet) = data.get_mut(*at) {
                    *octet = *value;
                }
            }
            // Some are of segmentation offload: any length, and none in their IP header.
            let mut original = u32::try_from(data.len()).expect("short");
            if time % 3 == 0 && data.len() > 18 {
                data[16..18].fill(0);
                original = original.max((time >> 32) as u32);
            }
            explainer.packet(&Packet { time_ns: Some(time.cast_signed() >> (time % 64)), link: LinkType::Ethernet, interface: 0, original, data: &data, errors: LinkErrors::default(), comment: "" });
        }
        let explanation = explainer.explanation(0, None);
        let kinds = explanation.kinds;
        let all = kinds.tcp + kinds.udp + kinds.raw + kinds.other + kinds.fragment + kinds.encapsulated + kinds.copied + kinds.broken + kinds.unread;
        prop_assert_eq!((explanation.packets, all), (frames.len() as u64, frames.len() as u64));
        let segments: u64 = explanation.connections.iter().flat_map(|listed| &listed.record.connection.halves).map(|half| half.segments).sum();
        // Segments in fragments are counted as fragments, and, put together, as segments.
        let (whole, _) = explanation.reassembled;
        prop_assert!((kinds.tcp..=kinds.tcp + whole).contains(&segments), "{segments} of {kinds:?}");
        prop_assert!(whole == 0 || kinds.fragment > whole, "{whole} of {kinds:?}");
        let text = json::to_json(&explanation).to_string();
        prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
    }
}
