//! Segments written by hand, and what each means.

use ethermeter_capture::connection::{BackwardSegment, Evidence, TcpConnection, SegmentMeaning};
use ethermeter_capture::packet::TcpHeader;

const US: i64 = 1000;
const MS: i64 = 1_000_000;

fn data(sequence: u32) -> TcpHeader {
    TcpHeader { sequence, acknowledgment: 1, ack: true, window: 500, ..TcpHeader::default() }
}

fn ack(acknowledgment: u32) -> TcpHeader {
    TcpHeader { sequence: 1, acknowledgment, ack: true, window: 500, ..TcpHeader::default() }
}

/// A handshake of 200 µs, seen in the middle.
fn opened() -> TcpConnection {
    let mut connection = TcpConnection::default();
    let syn = TcpHeader {
        syn: true,
        window: 1000,
        window_shift: Some(2),
        largest_segment: Some(1000),
        ..TcpHeader::default()
    };
    connection.segment(0, 0, &syn, 0);
    connection.segment(1, 100 * US, &TcpHeader { ack: true, acknowledgment: 1, ..syn }, 0);
    let last = connection.segment(0, 200 * US, &data(1), 0);
    assert_eq!((last.handshake_ns, last.acknowledges_after_ns), (Some(200 * US), Some(100 * US)));
    connection
}

#[test]
fn the_handshake_tells_how_far_both_ends_are() {
    let connection = opened();
    assert_eq!((connection.handshake_ns, connection.answer_ns), (Some(200_000), Some(100_000)));
    assert_eq!((connection.away_ns(0), connection.away_ns(1)), (Some(100_000), Some(100_000)));
    assert_eq!(connection.is_scaled, Some(true));
    assert_eq!(connection.halves[0].windows, Some((2000, 2000)));
}

#[test]
fn windows_are_scaled_only_if_both_ends_offer_it() {
    let mut connection = TcpConnection::default();
    let syn = TcpHeader { syn: true, window: 1000, window_shift: Some(2), ..TcpHeader::default() };
    connection.segment(0, 0, &syn, 0);
    connection.segment(1, 100, &TcpHeader { ack: true, acknowledgment: 1, window_shift: None, ..syn }, 0);
    connection.segment(0, 200, &data(1), 0);
    assert_eq!(
        (connection.is_scaled, connection.halves[0].windows),
        (Some(false), Some((500, 500)))
    );
}

#[test]
fn an_acknowledgement_tells_the_delay_of_every_segment_that_it_covers() {
    let mut connection = opened();
    connection.segment(0, MS, &data(1), 100);
    connection.segment(0, 2 * MS, &data(101), 100);
    let meaning = connection.segment(1, 5 * MS, &ack(201), 0);
    assert_eq!((meaning.acknowledges_after_ns, meaning.is_ambiguous), (Some(3 * MS), false));
    let half = &connection.halves[0];
    assert_eq!(
        (half.ack_delay.least_ns(), half.ack_delay.most_ns()),
        (Some(3_000_000), Some(4_000_000))
    );
    // The delay of the second is a round trip too; the first's is not, and the SYN's was one.
    assert_eq!((half.round_trip.count(), half.ack_delay.count()), (2, 2));
    let other = &connection.halves[1];
    assert_eq!((other.covering_acks, other.covered_segments, other.most_covered), (1, 2, 2));
}

#[test]
fn what_is_sent_twice_gives_no_sample() {
    let mut connection = opened();
    connection.segment(0, MS, &data(1), 100);
    let meaning = connection.segment(0, 300 * MS, &data(1), 100);
    assert_eq!(meaning.again, Some((BackwardSegment::Resent, Evidence::Seen)));
    let meaning = connection.segment(1, 301 * MS, &ack(101), 0);
    assert_eq!((meaning.acknowledges_after_ns, meaning.is_ambiguous), (Some(300 * MS), true));
    let half = &connection.halves[0];
    assert_eq!(
        (half.ack_delay.count(), half.resent, half.resent_octets, half.needless),
        (0, 1, 100, 0)
    );
    // And once more, though it has arrived: the receiver says so.
    let meaning = connection.segment(0, 302 * MS, &data(1), 100);
    assert!(meaning.is_needless);
    let reported = TcpHeader { selective: true, duplicate: Some((1, 101)), ..ack(101) };
    let meaning = connection.segment(1, 303 * MS, &reported, 0);
    assert!(meaning.is_repeated_ack && !meaning.is_duplicate_ack, "nothing is under way");
    let half = &connection.halves[0];
    assert_eq!((half.needless, half.reported_duplicate), (1, 1));
}

#[test]
fn what_waited_for_a_segment_that_was_sent_again_gives_no_sample_either() {
    let mut connection = opened();
    connection.segment(0, MS, &data(1), 100);
    connection.segment(0, 2 * MS, &data(101), 100);
    connection.segment(0, 300 * MS, &data(1), 100);
    let meaning = connection.segment(1, 301 * MS, &ack(201), 0);
    assert_eq!((meaning.acknowledges_after_ns, meaning.is_ambiguous), (Some(299 * MS), false));
    let half = &connection.halves[0];
    assert_eq!((half.ack_delay.count(), half.round_trip.count()), (0, 1), "the SYN's only");
}

#[test]
fn what_fills_a_hole_soon_is_late_and_after_two_duplicates_was_asked_for() {
    let mut connection = opened();
    connection.segment(0, MS, &data(1), 100);
    assert!(connection.segment(0, MS + 10 * US, &data(201), 100).follows_hole);
    let meaning = connection.segment(0, MS + 20 * US, &data(101), 100);
    assert_eq!(meaning.again, Some((BackwardSegment::Late, Evidence::Timing)));
    connection.segment(1, 2 * MS, &ack(301), 0);

    connection.segment(0, 3 * MS, &data(401), 100);
    for _ in 0..2 {
        assert!(connection.segment(1, 3 * MS + 50 * US, &ack(301), 0).is_duplicate_ack);
    }
    let meaning = connection.segment(0, 3 * MS + 60 * US, &data(301), 100);
    assert_eq!(meaning.again, Some((BackwardSegment::Resent, Evidence::Timing)));
    let half = &connection.halves[0];
    assert_eq!((half.holes, half.late, half.resent, half.resent_guessed), (2, 1, 1, 1));
}

#[test]
fn timestamps_tell_what_time_does_not() {
    let stamped = |sequence, stamp| TcpHeader { timestamps: Some((stamp, 0)), ..data(sequence) };
    for (stamp, expected) in [(10, BackwardSegment::Resent), (8, BackwardSegment::Late)] {
        let mut connection = opened();
        connection.segment(0, MS, &stamped(1, 7), 100);
        connection.segment(0, MS + 10 * US, &stamped(201, 9), 100);
        // Soon enough to be late, and late enough to be sent again: neither matters.
        for after in [20 * US, 400 * MS] {
            let mut copy = connection.clone();
            let meaning = copy.segment(0, MS + after, &stamped(101, stamp), 100);
            assert_eq!(meaning.again, Some((expected, Evidence::Timestamp)));
        }
    }
}

#[test]
fn a_hole_that_is_half_filled_is_a_smaller_hole() {
    let mut connection = opened();
    connection.segment(0, MS, &data(1), 100);
    connection.segment(0, MS + US, &data(401), 100);
    let again = |meaning: SegmentMeaning| meaning.again.map(|(again, basis)| (again, basis == Evidence::Seen));
    assert_eq!(
        again(connection.segment(0, MS + 2 * US, &data(201), 100)),
        Some((BackwardSegment::Late, false))
    );
    assert_eq!(
        again(connection.segment(0, MS + 3 * US, &data(201), 100)),
        Some((BackwardSegment::Resent, true))
    );
    assert_eq!(
        again(connection.segment(0, MS + 4 * US, &data(101), 100)),
        Some((BackwardSegment::Late, false))
    );
    assert_eq!(
        again(connection.segment(0, MS + 5 * US, &data(301), 100)),
        Some((BackwardSegment::Late, false))
    );
    assert_eq!(
        again(connection.segment(0, MS + 6 * US, &data(1), 500)),
        Some((BackwardSegment::Resent, true))
    );
}

#[test]
fn a_window_update_is_no_duplicate_and_zero_windows_and_their_probes_are_told_apart() {
    let mut connection = opened();
    connection.segment(0, MS, &data(1), 100);
    connection.segment(1, 2 * MS, &TcpHeader { window: 0, ..ack(101) }, 0);
    assert!(connection.segment(0, 300 * MS, &data(101), 1).is_probe);
    let meaning = connection.segment(1, 301 * MS, &TcpHeader { window: 0, ..ack(101) }, 0);
    assert!(meaning.is_zero_window && !meaning.is_duplicate_ack);
    let meaning = connection.segment(1, 400 * MS, &ack(101), 0);
    assert!(!meaning.is_zero_window && !meaning.is_duplicate_ack);
    let meaning = connection.segment(0, 401 * MS, &data(101), 100);
    assert_eq!(meaning.again, None, "a probe does not count as sent");
    assert!(connection.segment(0, 500 * MS, &data(200), 0).is_keep_alive);
    let (own, other) = (&connection.halves[0], &connection.halves[1]);
    assert_eq!((own.probes, own.keep_alives, other.zero_windows, own.resent), (1, 1, 2, 0));
}

#[test]
fn numbers_may_wrap() {
    let mut connection = TcpConnection::default();
    let mut sequence = u32::MAX - 2999;
    for at in 0..10i64 {
        let meaning = connection.segment(0, at * MS, &data(sequence), 1000);
        assert_eq!((meaning.again, meaning.follows_hole), (None, false));
        sequence = sequence.wrapping_add(1000);
        let meaning = connection.segment(1, at * MS + 10 * US, &ack(sequence), 0);
        assert_eq!(meaning.acknowledges_after_ns, Some(10 * US));
    }
    assert_eq!(
        (connection.halves[0].numbers(), connection.halves[0].most_in_flight),
        (10_000, 1000)
    );
}

#[test]
fn what_was_acknowledged_and_never_captured_is_counted() {
    let mut connection = opened();
    connection.segment(0, MS, &data(1), 100);
    connection.segment(1, 2 * MS, &ack(1101), 0);
    assert_eq!(connection.halves[0].uncaptured_octets, 1000);
    assert!(!connection.segment(0, 3 * MS, &data(1101), 100).follows_hole);
}

#[test]
fn an_end_that_only_acknowledges_has_duplicates_and_keep_alives() {
    // Under way before the capture began: the receiver sends nothing with a number of its own.
    let mut connection = TcpConnection::default();
    connection.segment(0, 0, &data(1), 100);
    connection.segment(0, MS, &data(201), 100);
    connection.segment(1, 2 * MS, &ack(101), 0);
    for at in 0..3 {
        assert!(connection.segment(1, (3 + at) * MS, &ack(101), 0).is_duplicate_ack);
    }
    let meaning = connection.segment(0, 6 * MS, &data(101), 100);
    assert_eq!(meaning.again, Some((BackwardSegment::Resent, Evidence::Timing)), "asked for");
    connection.segment(1, 7 * MS, &ack(301), 0);
    // It asks whether the other end is there: its number is 1, so it says 0.
    let keep_alive = TcpHeader { sequence: 0, ..ack(301) };
    assert!(connection.segment(1, 900 * MS, &keep_alive, 0).is_keep_alive);
    assert_eq!(connection.halves[1].duplicate_acks, 3);
    assert_eq!((connection.halves[1].keep_alives, connection.halves[0].resent), (1, 1));
}

#[test]
fn a_capture_that_begins_with_a_keep_alive_knows_the_number_after_it() {
    let mut connection = TcpConnection::default();
    connection.segment(1, 0, &TcpHeader { sequence: 0, ..ack(1) }, 0);
    connection.segment(0, MS, &data(1), 100);
    connection.segment(1, 2 * MS, &ack(1), 0);
    assert!(connection.segment(1, 3 * MS, &ack(1), 0).is_duplicate_ack);
}

#[test]
fn a_syn_that_is_reset_is_refused() {
    let mut connection = TcpConnection::default();
    let syn = TcpHeader { syn: true, window: 1000, ..TcpHeader::default() };
    connection.segment(0, 0, &syn, 0);
    connection.segment(1, 50 * US, &TcpHeader { rst: true, ack: true, acknowledgment: 1, ..TcpHeader::default() }, 0);
    assert_eq!((connection.refused_ns, connection.answer_ns), (Some(50_000), None));
    assert_eq!((connection.halves[0].syns, connection.halves[1].resets), (1, 1));
    // A reset of what was open refuses nothing.
    let mut connection = opened();
    connection.segment(1, MS, &TcpHeader { rst: true, ..ack(1) }, 0);
    assert_eq!(connection.refused_ns, None);
}

#[test]
fn the_round_trip_before_a_loss_is_kept() {
    let mut connection = opened();
    connection.segment(0, MS, &data(1), 100);
    connection.segment(0, MS, &data(101), 100);
    connection.segment(1, 4 * MS, &ack(101), 0);
    connection.segment(0, 300 * MS, &data(101), 100);
    let losses = &connection.halves[0].loss_round_trip;
    assert_eq!((losses.count(), losses.most_ns()), (1, Some(3_000_000)));
}

#[test]
fn without_all_options_of_a_syn_the_scale_is_unknown() {
    let mut connection = TcpConnection::default();
    let syn = TcpHeader { syn: true, window: 1000, has_cut_options: true, ..TcpHeader::default() };
    connection.segment(0, 0, &syn, 0);
    connection.segment(1, 100, &TcpHeader { ack: true, acknowledgment: 1, ..syn }, 0);
    assert_eq!(connection.is_scaled, None);
}
