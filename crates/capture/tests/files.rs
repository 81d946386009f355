//! Capture files: made octet by octet after their specifications, read back, and broken in every
//! way.

use ethermeter_capture::explain::explain;
use ethermeter_capture::file::{CaptureDrops, LinkErrors, MOST_CAPTURED};
use ethermeter_capture::write::blocks::{BlockWriter, PacketDirection, CapturedPacket, InterfaceStatistics, END_OCTETS};
use ethermeter_capture::write::CaptureWriter;
use ethermeter_capture::input::CaptureInput;
use ethermeter_capture::{CaptureReader, CaptureError, LinkType};
use flate2::write::GzEncoder;
use flate2::Compression;
use proptest::prelude::*;
use std::io::{Cursor, Write};

type Read = (Option<i64>, LinkType, u32, u32, Vec<u8>);

/// Everything that a file has, and what ended it.
fn read(file: &[u8]) -> (Vec<Read>, Option<CaptureError>) {
    let mut packets = Vec::new();
    let mut capture = match CaptureReader::new(file) {
        Ok(capture) => capture,
        Err(error) => return (packets, Some(error)),
    };
    loop {
        match capture.read_packet() {
            Ok(None) => return (packets, None),
            Ok(Some(p)) => {
                packets.push((p.time_ns, p.link, p.interface, p.original, p.data.to_vec()));
            }
            Err(error) => return (packets, Some(error)),
        }
    }
}

fn word(value: u32, is_big: bool) -> [u8; 4] {
    if is_big {
        value.to_be_bytes()
    } else {
        value.to_le_bytes()
    }
}

fn half(value: u16, is_big: bool) -> [u8; 2] {
    if is_big {
        value.to_be_bytes()
    } else {
        value.to_le_bytes()
    }
}

fn classic(magic: u32, is_big: bool, packets: &[(u32, u32, u32, &[u8])]) -> Vec<u8> {
    let mut file = word(magic, is_big).to_vec();
    file.extend(half(2, is_big).iter().chain(&half(4, is_big)));
    for value in [0, 0, 65_535, 1] {
        file.extend(word(value, is_big));
    }
    for (seconds, fraction, original, data) in packets {
        for value in [*seconds, *fraction, u32::try_from(data.len()).expect("short"), *original] {
            file.extend(word(value, is_big));
        }
        file.extend(*data);
    }
    file
}

/// A block of a pcapng file, its body padded to whole words.
fn block(kind: u32, is_big: bool, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = word(u32::try_from(padded + 12).expect("short"), is_big);
    let mut block = word(kind, is_big).to_vec();
    block.extend(length);
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(length);
    block
}

fn section(is_big: bool) -> Vec<u8> {
    let mut body = word(0x1A2B_3C4D, is_big).to_vec();
    body.extend(half(1, is_big).iter().chain(&half(0, is_big)));
    body.extend([0xff; 8]);
    block(0x0A0D_0D0A, is_big, &body)
}

fn interface(is_big: bool, link: u16, snap: u32, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = half(link, is_big).to_vec();
    body.extend(half(0, is_big));
    body.extend(word(snap, is_big));
    for (code, value) in options {
        body.extend(half(*code, is_big));
        body.extend(half(u16::try_from(value.len()).expect("short"), is_big));
        body.extend(*value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    block(1, is_big, &body)
}

fn enhanced(is_big: bool, number: u32, units: u64, original: u32, data: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    let (high, low) = ((units >> 32) as u32, (units & 0xffff_ffff) as u32);
    for value in [number, high, low, u32::try_from(data.len()).expect("short"), original] {
        body.extend(word(value, is_big));
    }
    body.extend(data);
    block(6, is_big, &body)
}

#[test]
fn a_classic_file_of_either_order_and_resolution_gives_its_packets() {
    for (magic, per_unit) in [(0xA1B2_C3D4, 1000), (0xA1B2_3C4D, 1)] {
        for is_big in [false, true] {
            let file = classic(magic, is_big, &[(1, 5, 60, b"abc"), (2, 999, 2, b"de")]);
            let (packets, error) = read(&file);
            assert!(error.is_none());
            let first =
                (Some(1_000_000_000 + 5 * per_unit), LinkType::Ethernet, 0, 60, b"abc".to_vec());
            assert_eq!(
                packets,
                [
                    first,
                    (Some(2_000_000_000 + 999 * per_unit), LinkType::Ethernet, 0, 2, b"de".to_vec())
                ]
            );
        }
    }
}

/// A file of a version, with one packet of two lengths.
fn of_version(version: (u16, u16), lengths: (u32, u32), data: &[u8]) -> Vec<u8> {
    let mut file = word(0xA1B2_C3D4, false).to_vec();
    file.extend(half(version.0, false).iter().chain(&half(version.1, false)));
    for value in [0, 0, 65_535, 1, 1, 5, lengths.0, lengths.1] {
        file.extend(word(value, false));
    }
    file.extend(data);
    file
}

#[test]
fn before_version_2_3_the_original_length_comes_first_and_in_2_3_either() {
    let expected = [(Some(1_000_005_000), LinkType::Ethernet, 0, 60, b"abc".to_vec())];
    for (version, lengths) in [
        ((2, 0), (60, 3)),
        ((2, 2), (60, 3)),
        ((543, 0), (60, 3)),
        ((2, 3), (60, 3)),
        ((2, 3), (3, 60)),
        ((2, 4), (3, 60)),
    ] {
        let (packets, error) = read(&of_version(version, lengths, b"abc"));
        assert!(error.is_none(), "{version:?}");
        assert_eq!(packets, expected, "{version:?}");
    }
}

#[test]
fn a_compressed_file_has_the_packets_of_the_file() {
    let file = classic(0xA1B2_3C4D, false, &[(1, 5, 60, b"abc"), (2, 999, 2, b"de")]);
    let of = |octets: Vec<u8>| {
        let input = CaptureInput::new(Cursor::new(octets)).expect("memory");
        let mut capture = CaptureReader::new(input)?;
        let mut lengths = Vec::new();
        while let Some(packet) = capture.read_packet()? {
            lengths.push(packet.data.len());
        }
        Ok::<_, CaptureError>(lengths)
    };
    let compressed = gzip(&file);
    assert_eq!(of(file.clone()).expect("whole"), [3, 2]);
    assert_eq!(of(compressed.clone()).expect("whole"), [3, 2]);
    // Several members, one after the other (RFC 1952, section 2.2).
    assert_eq!(of([gzip(&file[..30]), gzip(&file[30..])].concat()).expect("whole"), [3, 2]);
    // Cut anywhere it ends too soon, with the packets before.
    for cut in 3..compressed.len() {
        let error = of(compressed[..cut].to_vec()).expect_err("cut");
        assert!(matches!(error, CaptureError::Truncated { .. } | CaptureError::Foreign(_)), "{cut}: {error}");
    }
    // A broken octet is found by the checksum at the latest.
    for at in 10..compressed.len() {
        let mut broken = compressed.clone();
        broken[at] ^= 0x55;
        assert!(of(broken).is_err(), "{at}");
    }
}

#[test]
fn what_expands_a_thousandfold_takes_no_memory_and_is_watched_without_packets() {
    // Sixteen blocks of 16 MB of zeros that nobody knows: 256 MB, of 256 kB.
    let big = block(0x4242, false, &vec![0; (16 << 20) - 12]);
    let mut file = section(false);
    (0..16).for_each(|_| file.extend(&big));
    let compressed = gzip(&file);
    assert!(compressed.len() < file.len() / 500);
    drop(file);
    let mut calls = 0;
    let explanation = explain(CaptureInput::new(Cursor::new(compressed)).expect("memory"), |_| {
        calls += 1;
        calls < 3
    });
    let explanation = explanation.expect("a capture");
    // At the beginning, after 64 MiB, and after 128.
    assert_eq!((calls, explanation.packets), (3, 0));
    assert!((128 << 20..=(128 + 16) << 20).contains(&explanation.file_octets), "{}", explanation.file_octets);
}

fn gzip(octets: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(octets).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn a_pcapng_file_tells_times_by_its_interfaces_and_may_have_blocks_nobody_knows() {
    for is_big in [false, true] {
        let mut file = section(is_big);
        file.extend(block(0x0BAD_CAFE, is_big, &[7; 33]));
        file.extend(interface(is_big, 1, 0, &[(2, b"eth0"), (9, &[9]), (0, b"")]));
        let offset = if is_big { 100i64.to_be_bytes() } else { 100i64.to_le_bytes() };
        file.extend(interface(is_big, 101, 4, &[(9, &[0x80 | 0x0a]), (14, &offset)]));
        file.extend(interface(is_big, 113, 0, &[]));
        file.extend(enhanced(is_big, 0, 5_000_000_001, 60, b"abcde"));
        // 1024ths of a second, from 100 s on.
        file.extend(enhanced(is_big, 1, 1536, 4, b"wxyz"));
        file.extend(enhanced(is_big, 2, 7, 1, b"q"));
        let mut simple = word(9, is_big).to_vec();
        simple.extend(b"123456789");
        file.extend(block(3, is_big, &simple));
        let (packets, error) = read(&file);
        assert!(error.is_none(), "{error:?}");
        let expected: [Read; 4] = [
            (Some(5_000_000_001), LinkType::Ethernet, 0, 60, b"abcde".to_vec()),
            (Some(101_500_000_000), LinkType::Ip, 1, 4, b"wxyz".to_vec()),
            (Some(7_000), LinkType::Cooked, 2, 1, b"q".to_vec()),
            (None, LinkType::Ethernet, 0, 9, b"123456789".to_vec()),
        ];
        assert_eq!(packets, expected);
    }
}

#[test]
fn a_second_section_may_have_the_other_order_and_begins_with_no_interface() {
    let mut file = section(false);
    file.extend(interface(false, 1, 0, &[]));
    file.extend(enhanced(false, 0, 1, 1, b"a"));
    file.extend(section(true));
    file.extend(interface(true, 276, 0, &[]));
    file.extend(enhanced(true, 0, 2, 1, b"b"));
    file.extend(section(false));
    file.extend(enhanced(false, 0, 3, 1, b"c"));
    let (packets, error) = read(&file);
    assert_eq!(packets.iter().map(|p| p.1).collect::<Vec<_>>(), [LinkType::Ethernet, LinkType::Cooked2]);
    assert!(error.expect("no interface 0").to_string().contains("interface 0; expected below 0"));
}

#[test]
fn what_is_no_capture_or_empty_is_refused_by_its_beginning() {
    for (file, message) in
        [(&b"GIF89a"[..], "[47, 49, 46, 38]"), (&b""[..], "[]"), (&b"\xd4\xc3"[..], "[d4, c3]")]
    {
        let (_, error) = read(file);
        assert!(error.expect("no capture").to_string().contains(message));
    }
}

#[test]
fn a_file_cut_anywhere_gives_its_whole_packets_and_says_where_it_ends() {
    let file = classic(0xA1B2_C3D4, false, &[(1, 5, 60, b"abc"), (2, 9, 2, b"de")]);
    for cut in 24..file.len() {
        let (packets, error) = read(&file[..cut]);
        let whole = usize::from(cut >= 43);
        assert_eq!(packets.len(), whole);
        match error {
            None => assert!(cut == 24 || cut == 43),
            Some(CaptureError::Truncated { at, packets, .. }) => {
                assert_eq!((at, packets), (cut as u64, whole as u64));
            }
            Some(other) => panic!("{other}"),
        }
    }
}

#[test]
fn lengths_that_cannot_be_are_refused_before_anything_is_read_by_them() {
    let mut file = classic(0xA1B2_C3D4, false, &[]);
    file.extend([0; 8]);
    file.extend((MOST_CAPTURED + 1).to_le_bytes());
    file.extend([0; 4]);
    let message = read(&file).1.expect("too long").to_string();
    assert!(
        message.contains("at octet 24: captured length 262145; expected at most 262144"),
        "{message}"
    );

    for (length, allowed) in
        [(8u32, "a multiple of 4 from 12"), (13, "a multiple of 4"), (u32::MAX - 3, "16777216")]
    {
        let mut file = section(false);
        file.extend(6u32.to_le_bytes());
        file.extend(length.to_le_bytes());
        let message = read(&file).1.expect("no such block").to_string();
        assert!(
            message.contains(&format!("length of a block {length}; expected"))
                && message.contains(allowed),
            "{message}"
        );
    }

    let mut file = section(false);
    file.extend(interface(false, 1, 0, &[]));
    let mut lying = enhanced(false, 0, 1, 8, b"12345678");
    lying[20..24].copy_from_slice(&9u32.to_le_bytes());
    file.extend(&lying);
    assert!(read(&file)
        .1
        .expect("longer than its block")
        .to_string()
        .contains("at most 8, what the block has"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read_back(
        packets in prop::collection::vec((0..4_294_967_295_999_999_999i64, prop::collection::vec(any::<u8>(), 0..200)), 0..20),
        snap in 1u32..150,
    ) {
        let mut writer = CaptureWriter::new(Vec::new(), LinkType::Ethernet, snap).expect("memory");
        for (time_ns, data) in &packets {
            writer.packet(*time_ns, data).expect("memory");
        }
        let (read_back, error) = read(&writer.finish().expect("memory"));
        prop_assert!(error.is_none());
        let expected: Vec<Read> = packets
            .iter()
            .map(|(time_ns, data)| {
                let kept = data.len().min(snap as usize);
                (Some(*time_ns), LinkType::Ethernet, 0, u32::try_from(data.len()).expect("short"), data[..kept].to_vec())
            })
            .collect();
        prop_assert_eq!(read_back, expected);
    }

    #[test]
    fn no_octets_are_read_with_a_panic_or_twice(
        octets in prop::collection::vec(any::<u8>(), 0..600),
        magic in prop::sample::select(vec![0xA1B2_C3D4u32, 0xA1B2_3C4D, 0x0A0D_0D0A]),
        is_big in any::<bool>(),
    ) {
        let mut file = word(magic, is_big).to_vec();
        file.extend(&octets);
        let (packets, _) = read(&file);
        prop_assert!(packets.iter().map(|p| p.4.len()).sum::<usize>() <= file.len());
    }

    #[test]
    fn a_broken_octet_of_a_good_file_is_no_panic(at in 0usize..400, value in any::<u8>(), cut in 0usize..420, is_big in any::<bool>()) {
        let mut file = section(is_big);
        file.extend(interface(is_big, 1, 96, &[(9, &[6]), (2, b"veth0")]));
        for n in 0..4u8 {
            file.extend(enhanced(is_big, 0, 1000 * u64::from(n), 1500, &[n; 41]));
        }
        let offset = at % file.len();
        file[offset] = value;
        file.truncate(cut.max(4));
        let _ = read(&file);
    }
}

/// The blocks of a file in this machine's byte order: type and body of each.
fn blocks_of(file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let word_at = |at: usize| u32::from_ne_bytes(*file[at..].first_chunk().expect("whole words"));
    let (mut at, mut blocks) = (0, Vec::new());
    while at < file.len() {
        let length = word_at(at + 4) as usize;
        assert_eq!(word_at(at + length - 4) as usize, length);
        blocks.push((word_at(at), file[at + 8..at + length - 4].to_vec()));
        at += length;
    }
    blocks
}

/// The options of a block's body from `at` on.
fn options_of(body: &[u8], mut at: usize) -> Vec<(u16, Vec<u8>)> {
    let mut options = Vec::new();
    loop {
        let half_at =
            |at: usize| u16::from_ne_bytes(*body[at..].first_chunk().expect("whole words"));
        let (code, length) = (half_at(at), half_at(at + 2) as usize);
        if code == 0 {
            assert_eq!(at + 4, body.len());
            return options;
        }
        options.push((code, body[at + 4..at + 4 + length].to_vec()));
        at += 4 + length.next_multiple_of(4);
    }
}

fn captured_packet(time_ns: u64, original: u32, direction: PacketDirection, chunks: [&[u8]; 3]) -> CapturedPacket<'_> {
    CapturedPacket {
        interface: 0,
        time_ns,
        original,
        direction,
        chunks,
        errors: LinkErrors::default(),
        comment: "",
    }
}

#[test]
fn blocks_that_are_written_are_read_back_with_their_times_lengths_and_cut_octets() {
    let time_ns = 1_700_000_000_123_456_789;
    let mut written =
        BlockWriter::new(Vec::new(), &["em0"], LinkType::Ethernet, 7).expect("memory takes all");
    for (later, original, chunks) in [
        (0, 5, [&b"ab"[..], b"", b"cde"]),
        (1, 1500, [b"abcd", b"VLAN", b"efghijkl"]),
        (2, 0, [b"", b"", b""]),
    ] {
        let before = written.octets();
        let room = written.octets_of(chunks.iter().map(|piece| piece.len()).sum(), "");
        let captured_packet = captured_packet(time_ns + later, original, PacketDirection::In, chunks);
        written.packet(&captured_packet).expect("memory takes all");
        assert_eq!(written.octets() - before, room);
    }
    let before = written.octets();
    let (file, octets) = written.finish(&[InterfaceStatistics::default()]).expect("memory takes all");
    assert_eq!(octets, before + END_OCTETS);
    assert_eq!(octets, file.len() as u64);
    let (packets, error) = read(&file);
    assert!(error.is_none());
    let at = |later: i64| Some(time_ns.cast_signed() + later);
    assert_eq!(
        packets,
        [
            (at(0), LinkType::Ethernet, 0, 5, b"abcde".to_vec()),
            (at(1), LinkType::Ethernet, 0, 1500, b"abcdVLA".to_vec()),
            (at(2), LinkType::Ethernet, 0, 0, Vec::new()),
        ]
    );
}

#[test]
fn what_was_lost_and_which_way_packets_went_stand_where_the_specification_wants_them() {
    let mut written =
        BlockWriter::new(Vec::new(), &["em0"], LinkType::Ethernet, 128).expect("memory takes all");
    for direction in [PacketDirection::In, PacketDirection::Out] {
        let captured_packet = captured_packet(1, 1, direction, [b"x", b"", b""]);
        written.packet(&captured_packet).expect("memory takes all");
    }
    let (begun_ns, ended_ns) = (0x1234_5678_9ABC_DEF0, 0x1234_5679_0000_0001);
    let statistics_at_end =
        InterfaceStatistics { begun_ns, ended_ns, accepted: 7, dropped: 1 << 40, delivered: 2 };
    let (file, _) = written.finish(&[statistics_at_end]).expect("memory takes all");
    assert_eq!(dropped(&file), CaptureDrops { by_interface: None, by_system: Some(1 << 40) });
    let blocks = blocks_of(&file);
    // Section header, interface description, two enhanced packets, interface statistics.
    assert_eq!(blocks.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [0x0A0D_0D0A, 1, 6, 6, 5]);
    assert_eq!(options_of(&blocks[1].1, 8), [(2, b"em0".to_vec()), (9, vec![9])]);
    // epb_flags: the lowest two bits are 01 for what arrived, 10 for what went; before it 20 octets
    // and the packet's word.
    assert_eq!(options_of(&blocks[2].1, 24), [(2, 1u32.to_ne_bytes().to_vec())]);
    assert_eq!(options_of(&blocks[3].1, 24), [(2, 2u32.to_ne_bytes().to_vec())]);
    let times = |high: u32, low: u32| [high.to_ne_bytes(), low.to_ne_bytes()].concat();
    let statistics = &blocks[4].1;
    assert_eq!(statistics[..12], [&0u32.to_ne_bytes()[..], &times(0x1234_5679, 1)].concat());
    let expected = [
        (2, times(0x1234_5678, 0x9ABC_DEF0)),
        (3, times(0x1234_5679, 1)),
        (6, 7u64.to_ne_bytes().to_vec()),
        (7, (1u64 << 40).to_ne_bytes().to_vec()),
        (8, 2u64.to_ne_bytes().to_vec()),
    ];
    assert_eq!(options_of(statistics, 12), expected);
}

#[test]
fn packets_of_several_interfaces_have_errors_of_the_link_and_comments() {
    let names = ["station-1", "station-2"];
    let mut written =
        BlockWriter::new(Vec::new(), &names, LinkType::Ethernet, 128).expect("memory takes all");
    let errors = LinkErrors::CHECK.and(LinkErrors::SHORT);
    for (interface, errors, comment) in
        [(1, errors, "collision"), (0, LinkErrors::default(), "attempt"), (1, LinkErrors::CHECK, "")]
    {
        let packet = captured_packet(1, 1, PacketDirection::Out, [b"x", b"", b""]);
        let (before, room) = (written.octets(), written.octets_of(1, comment));
        written.packet(&CapturedPacket { interface, errors, comment, ..packet }).expect("memory takes all");
        assert_eq!(written.octets() - before, room);
    }
    let (before, room) = (written.octets(), written.end_octets());
    let dropped_then = |dropped| InterfaceStatistics { dropped, ..InterfaceStatistics::default() };
    let (file, octets) =
        written.finish(&[dropped_then(1), dropped_then(2)]).expect("memory takes all");
    assert_eq!(octets, before + room);
    assert_eq!(dropped(&file), CaptureDrops { by_interface: None, by_system: Some(3) });
    let blocks = blocks_of(&file);
    assert_eq!(options_of(&blocks[2].1, 8)[0], (2, b"station-2".to_vec()));
    // epb_flags: bit 24 is a wrong check sequence, bit 26 a packet that is too short.
    let flags = (2, (2u32 | 1 << 24 | 1 << 26).to_ne_bytes().to_vec());
    assert_eq!(options_of(&blocks[3].1, 24), [(1, b"collision".to_vec()), flags]);
    let mut capture = CaptureReader::new(&file[..]).expect("a capture");
    let mut errors_read = Vec::new();
    while let Some(packet) = capture.read_packet().expect("a whole file") {
        errors_read.push((packet.interface, packet.errors));
    }
    assert_eq!(errors_read, [(1, errors), (0, LinkErrors::default()), (1, LinkErrors::CHECK)]);
    // No receiver took the damaged ones.
    let explained = explain(&file[..], |_| true).expect("a capture");
    assert_eq!((explained.packets, explained.damaged, explained.kinds.broken), (1, 2, 1));
}

#[test]
fn options_that_cannot_be_are_no_errors_of_a_packet() {
    let mut written = BlockWriter::new(Vec::new(), &["a"], LinkType::Ethernet, 9).expect("memory takes all");
    let damaged = CapturedPacket { errors: LinkErrors::CHECK, ..captured_packet(1, 1, PacketDirection::In, [b"x", b"", b""]) };
    written.packet(&damaged).expect("memory takes all");
    let (mut file, _) = written.finish(&[InterfaceStatistics::default()]).expect("memory takes all");
    let begin = [2u16.to_ne_bytes(), 4u16.to_ne_bytes()].concat();
    let at = file.windows(4).position(|octets| octets == begin).expect("the option of the flags");
    file[at + 2..at + 4].fill(0xff);
    let mut capture = CaptureReader::new(&file[..]).expect("a capture");
    let packet = capture.read_packet().expect("a whole file").expect("a packet");
    assert!(!packet.errors.is_any());
}

fn statistics(is_big: bool, number: u32, counts: &[(u16, u64)]) -> Vec<u8> {
    let mut body = word(number, is_big).to_vec();
    body.extend([0; 8]);
    for (code, count) in counts {
        body.extend(half(*code, is_big).iter().chain(&half(8, is_big)));
        body.extend(if is_big { count.to_be_bytes() } else { count.to_le_bytes() });
    }
    body.extend([0; 4]);
    block(5, is_big, &body)
}

fn dropped(file: &[u8]) -> CaptureDrops {
    let mut capture = CaptureReader::new(file).expect("a capture");
    while capture.read_packet().expect("a whole file").is_some() {}
    capture.dropped()
}

#[test]
fn what_a_capture_says_that_it_lost_is_the_last_word_of_each_interface_over_all_sections() {
    let lost = |by_interface, by_system| CaptureDrops { by_interface, by_system };
    for is_big in [false, true] {
        let two =
            [section(is_big), interface(is_big, 1, 0, &[]), interface(is_big, 1, 0, &[])].concat();
        // Counts of what was received, accepted and delivered are others.
        let first = statistics(is_big, 0, &[(4, 1000), (5, 3), (6, 900), (7, 1 << 33), (8, 800)]);
        let again = statistics(is_big, 0, &[(5, 4), (7, 1 + (1 << 33))]);
        let other = statistics(is_big, 1, &[(5, 10)]);
        assert_eq!(dropped(&two), lost(None, None));
        assert_eq!(dropped(&[&two[..], &first].concat()), lost(Some(3), Some(1 << 33)));
        let all = [&two[..], &first, &other, &again].concat();
        assert_eq!(dropped(&all), lost(Some(14), Some(1 + (1 << 33))));
        // A section of the other order, whose interface says nothing of the system.
        let next =
            [section(!is_big), interface(!is_big, 1, 0, &[]), statistics(!is_big, 0, &[(5, 100)])]
                .concat();
        assert_eq!(dropped(&[all, next].concat()), lost(Some(114), Some(1 + (1 << 33))));
        let most = statistics(is_big, 1, &[(7, u64::MAX)]);
        assert_eq!(
            dropped(&[&two[..], &first, &most].concat()),
            lost(Some(3), Some(u64::MAX)),
            "sums stop at the largest number"
        );
    }
    // A classic file has no place for it.
    assert_eq!(dropped(&classic(0xA1B2_3C4D, false, &[(1, 2, 3, b"abc")])), lost(None, None));
}

#[test]
fn statistics_that_cannot_be_are_refused_with_their_place() {
    let begin = [section(false), interface(false, 1, 0, &[])].concat();
    let message = |file: Vec<u8>| read(&file).1.map(|error| error.to_string()).unwrap_or_default();
    let unknown = message([&begin[..], &statistics(false, 7, &[])].concat());
    assert!(unknown.contains("interface 7; expected below 1"), "{unknown}");
    let short = message([&begin[..], &block(5, false, &[0; 8])].concat());
    assert!(short.contains("length of statistics 8; expected at least 12 octets"), "{short}");
    let mut long = [0; 16];
    (long[12], long[14]) = (5, 8);
    let long = message([&begin[..], &block(5, false, &long)].concat());
    assert!(long.contains("length of an option 8; expected at most 0"), "{long}");
    assert!(long.contains(&format!("at octet {}", begin.len())), "{long}");
}
