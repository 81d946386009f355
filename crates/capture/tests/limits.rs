//! Connections in which one cause is planted: the time that was planted is found, to the
//! nanosecond.

use ethermeter_capture::cause::WaitCause;
use ethermeter_capture::connection::TcpConnection;
use ethermeter_capture::packet::TcpHeader;
use proptest::prelude::*;

const SEGMENT: u32 = 1460;
const US: i64 = 1000;
const MS: i64 = 1_000_000;
const CLIENT: usize = 0;
const SERVER: usize = 1;

/// A connection under way: numbers begin at 1 after the SYNs.
#[derive(Default)]
struct Talk {
    connection: TcpConnection,
    next: [u32; 2],
    window: [u16; 2],
}

impl Talk {
    /// After a handshake whose SYN is captured at 0, answered after `answer_ns`, and confirmed
    /// after `confirm_ns` more.
    fn open(answer_ns: i64, confirm_ns: i64, windows: [u16; 2]) -> Self {
        let mut talk = Self { window: windows, ..Self::default() };
        // As large as a SYN can say, which is not scaled.
        let [of_client, of_server] =
            windows.map(|window| u16::try_from(u32::from(window) << 7).unwrap_or(u16::MAX));
        let syn = TcpHeader {
            syn: true,
            window: of_client,
            largest_segment: Some(1460),
            window_shift: Some(7),
            ..TcpHeader::default()
        };
        talk.connection.segment(CLIENT, 0, &syn, 0);
        talk.connection.segment(
            SERVER,
            answer_ns,
            &TcpHeader { ack: true, acknowledgment: 1, window: of_server, ..syn },
            0,
        );
        talk.next = [1, 1];
        talk.ack(answer_ns + confirm_ns, CLIENT);
        talk
    }

    fn header(&self, from: usize) -> TcpHeader {
        let (sequence, acknowledgment) = (self.next[from], self.next[1 - from]);
        TcpHeader { sequence, acknowledgment, ack: true, window: self.window[from], ..TcpHeader::default() }
    }

    fn data(&mut self, at_ns: i64, from: usize, payload: u32) {
        let header = self.header(from);
        self.connection.segment(from, at_ns, &header, payload);
        self.next[from] += payload;
    }

    fn again(&mut self, at_ns: i64, from: usize, payload: u32) {
        let header = TcpHeader { sequence: self.next[from] - payload, ..self.header(from) };
        self.connection.segment(from, at_ns, &header, payload);
    }

    fn ack(&mut self, at_ns: i64, from: usize) {
        let header = self.header(from);
        self.connection.segment(from, at_ns, &header, 0);
    }

    /// Segments at once, a microsecond apart; when the last was captured.
    fn burst(&mut self, at_ns: i64, from: usize, segments: i64) -> i64 {
        (0..segments).for_each(|at| self.data(at_ns + at * US, from, SEGMENT));
        at_ns + (segments - 1) * US
    }

    fn spent_ns(&self, cause: WaitCause) -> i64 {
        let (first_ns, last_ns) = self.connection.times_ns.expect("there were segments");
        let spent = self.connection.limits.spent_ns(first_ns, last_ns);
        assert_eq!(
            spent.iter().sum::<u64>(),
            last_ns.abs_diff(first_ns),
            "every moment has one cause"
        );
        i64::try_from(spent[cause as usize]).expect("short")
    }
}

const ROUNDS: i64 = 40;
const ROUND_TRIP: i64 = 10 * MS;

/// Rounds of ten segments, acknowledged at once a round trip later, seen by the sender; it goes on
/// 20 µs after.
fn rounds_at_the_sender(window: u16, mut round_trip: impl FnMut(i64) -> i64) -> Talk {
    let mut talk = Talk::open(ROUND_TRIP, 10 * US, [512, window]);
    let mut now = ROUND_TRIP + 30 * US;
    for round in 0..ROUNDS {
        let last = talk.burst(now, CLIENT, 10);
        now = last + round_trip(round);
        talk.ack(now, SERVER);
        now += 20 * US;
    }
    talk.data(now, CLIENT, SEGMENT);
    talk
}

#[test]
fn a_window_that_is_used_up_is_what_a_sender_waits_for() {
    // 114 times 128 are 14 592 octets: room for nine segments and 1452 octets, so that the tenth
    // goes beyond; 115 have room for ten only.
    let talk = rounds_at_the_sender(115, |_| ROUND_TRIP);
    assert_eq!(talk.spent_ns(WaitCause::ReceiverWindow), ROUNDS * (ROUND_TRIP + 20 * US));
    assert_eq!(talk.spent_ns(WaitCause::SenderPace), ROUNDS * 9 * US);
    assert_eq!(talk.spent_ns(WaitCause::CongestionWindow), 0);
}

#[test]
fn a_flight_that_stays_below_the_window_over_many_round_trips_is_a_send_buffer() {
    let talk = rounds_at_the_sender(5000, |_| ROUND_TRIP);
    assert_eq!(talk.spent_ns(WaitCause::SendBuffer), ROUNDS * (ROUND_TRIP + 20 * US));
    assert_eq!(talk.spent_ns(WaitCause::ReceiverWindow) + talk.spent_ns(WaitCause::CongestionWindow), 0);
    let rounds = talk.connection.limits.rounds(CLIENT);
    assert_eq!((rounds.all, rounds.steady, rounds.steady_octets), (40, 40, 14_600.0));
    assert_eq!(talk.spent_ns(WaitCause::Opening), ROUND_TRIP + 10 * US);
}

#[test]
fn round_trips_of_more_than_twice_the_least_are_a_queue() {
    let talk =
        rounds_at_the_sender(5000, |round| if round == 0 { ROUND_TRIP } else { 4 * ROUND_TRIP });
    assert_eq!(talk.spent_ns(WaitCause::Queue), (ROUNDS - 1) * (4 * ROUND_TRIP + 20 * US));
    assert_eq!(talk.spent_ns(WaitCause::SendBuffer), ROUND_TRIP + 20 * US);
}

/// The same rounds, seen by the receiver: it acknowledges 10 µs after the last segment, and the
/// next come a round trip after that.
fn rounds_at_the_receiver(window: u16) -> Talk {
    let mut talk = Talk::open(10 * US, ROUND_TRIP, [512, window]);
    let mut now = 2 * ROUND_TRIP;
    for _ in 0..ROUNDS {
        let last = talk.burst(now, CLIENT, 10);
        talk.ack(last + 10 * US, SERVER);
        now = last + 10 * US + ROUND_TRIP;
    }
    talk.data(now, CLIENT, SEGMENT);
    talk
}

#[test]
fn where_the_capture_was_made_changes_neither() {
    let talk = rounds_at_the_receiver(115);
    assert_eq!(talk.spent_ns(WaitCause::ReceiverWindow), ROUNDS * (ROUND_TRIP + 10 * US));
    let talk = rounds_at_the_receiver(5000);
    assert_eq!(talk.spent_ns(WaitCause::SendBuffer), ROUNDS * (ROUND_TRIP + 10 * US));
}

#[test]
fn an_application_that_writes_now_and_then_is_what_limits_it() {
    let mut talk = Talk::open(ROUND_TRIP, 10 * US, [512, 5000]);
    let mut now = ROUND_TRIP + 10 * US;
    for _ in 0..ROUNDS {
        now += 50 * MS;
        talk.data(now, CLIENT, 500);
        talk.ack(now + ROUND_TRIP, SERVER);
    }
    assert_eq!(talk.spent_ns(WaitCause::SenderApplication), ROUNDS * 50 * MS);
    // The last acknowledgement.
    assert_eq!(talk.spent_ns(WaitCause::Opening), ROUND_TRIP + 10 * US + ROUND_TRIP);
}

#[test]
fn full_segments_that_follow_each_other_evenly_are_a_pace_though_each_was_acknowledged() {
    // Behind a slow interface: a segment every 24 ms, acknowledged after 10 µs.
    let mut talk = Talk::open(10 * US, 10 * US, [512, 5000]);
    let mut now = 20 * US;
    for _ in 0..ROUNDS {
        now += 24 * MS;
        talk.data(now, CLIENT, SEGMENT);
        talk.ack(now + 10 * US, SERVER);
    }
    // The first two gaps are compared with nothing that is as long.
    assert_eq!(talk.spent_ns(WaitCause::SenderPace), (ROUNDS - 2) * 24 * MS);
    assert_eq!(talk.spent_ns(WaitCause::SenderApplication), 2 * 24 * MS);
}

#[test]
fn a_short_segment_that_waits_for_a_delayed_acknowledgement_is_held_by_nagle() {
    // The server answers 6 octets and 276; the client acknowledges the 6 after 40 ms only.
    let mut talk = Talk::open(10 * US, 200 * US, [512, 512]);
    let mut now = MS;
    for _ in 0..ROUNDS {
        talk.data(now, CLIENT, 100);
        talk.data(now + 300 * US, SERVER, 6);
        talk.ack(now + 300 * US + 40 * MS, CLIENT);
        talk.data(now + 320 * US + 40 * MS, SERVER, 276);
        now += 45 * MS;
    }
    assert_eq!(talk.spent_ns(WaitCause::DelayedAck), ROUNDS * (40 * MS + 20 * US));
    let (first_ns, last_ns) = talk.connection.times_ns.expect("there were segments");
    let [of_client, of_server] = [CLIENT, SERVER].map(|end| {
        talk.connection.limits.spent(end, last_ns)[WaitCause::DelayedAck as usize]
    });
    assert_eq!((of_client.count, of_server.count), (0, u64::try_from(ROUNDS).expect("positive")));
    assert_eq!(of_server.most_ns, 40_020_000);
    // Beyond a round trip: 200 µs to the client and back, as the handshake shows.
    let delayed_ns = u64::try_from(ROUNDS * (40 * MS - 200 * US)).expect("positive");
    assert_eq!(talk.connection.limits.held(SERVER), Some(((6, 276), delayed_ns)));
    assert!(first_ns < last_ns);
}

#[test]
fn who_waits_for_an_acknowledgement_that_takes_a_round_trip_waits_for_no_timer() {
    let mut talk = Talk::open(40 * MS, 10 * US, [512, 512]);
    let mut now = 41 * MS;
    for _ in 0..ROUNDS {
        talk.data(now, CLIENT, 6);
        talk.ack(now + 40 * MS, SERVER);
        talk.data(now + 40 * MS + 20 * US, CLIENT, 276);
        talk.ack(now + 80 * MS + 20 * US, SERVER);
        now += 90 * MS;
    }
    assert_eq!(talk.spent_ns(WaitCause::DelayedAck), 0);
}

#[test]
fn a_window_of_zero_at_the_end_is_the_receiving_applications() {
    // Nineteen seconds before a closed window, which is probed with the number before the next.
    let mut talk = Talk::open(ROUND_TRIP, 10 * US, [512, 23]);
    let now = ROUND_TRIP + 20 * US;
    let last = talk.burst(now, CLIENT, 2);
    talk.window[SERVER] = 0;
    talk.ack(last + ROUND_TRIP, SERVER);
    for second in 1..=19 {
        let probe = TcpHeader { sequence: talk.next[CLIENT] - 1, ..talk.header(CLIENT) };
        talk.connection.segment(CLIENT, last + second * 1000 * MS, &probe, 0);
        talk.ack(last + second * 1000 * MS + 10 * US, SERVER);
    }
    let all = 19_000 * MS + 10 * US - ROUND_TRIP;
    assert_eq!(talk.spent_ns(WaitCause::ReceiverApplication), all);
    // Without a probe, and with nothing outstanding, the sender may have had no more.
    let mut talk = Talk::open(ROUND_TRIP, 10 * US, [512, 23]);
    let last = talk.burst(now, CLIENT, 2);
    talk.window[SERVER] = 0;
    talk.ack(last + ROUND_TRIP, SERVER);
    talk.ack(last + 19_000 * MS, SERVER);
    assert_eq!(talk.spent_ns(WaitCause::ReceiverApplication), 0);
}

#[test]
fn segments_that_leave_at_the_pace_of_acknowledgements_tell_of_no_link() {
    // One segment a millisecond, each acknowledged ten later: 11.7 Mb/s, of any link.
    let mut talk = Talk::open(ROUND_TRIP, 10 * US, [512, 5000]);
    let begin = ROUND_TRIP + 10 * US;
    for at in 0..1000 {
        let now = begin + at * MS;
        if at >= 10 {
            let header =
                TcpHeader { acknowledgment: talk.next[CLIENT] - 9 * SEGMENT, ..talk.header(SERVER) };
            talk.connection.segment(SERVER, now - 10 * US, &header, 0);
        }
        talk.data(now, CLIENT, SEGMENT);
    }
    assert_eq!(talk.connection.halves[CLIENT].spacing.count(), 0);
}

#[test]
fn an_answer_is_a_round_trip_and_what_its_application_took() {
    let mut talk = Talk::open(ROUND_TRIP, 10 * US, [512, 5000]);
    let mut now = ROUND_TRIP + 10 * US;
    for _ in 0..ROUNDS {
        talk.data(now, CLIENT, 100);
        now += ROUND_TRIP + 30 * MS;
        talk.data(now, SERVER, 3000);
        now += 7 * MS;
    }
    // The client's answers come 7 ms after, of which 10 µs are its way.
    assert_eq!(talk.spent_ns(WaitCause::RoundTrip), ROUNDS * ROUND_TRIP + (ROUNDS - 1) * 10 * US);
    assert_eq!(
        talk.spent_ns(WaitCause::TurnAround),
        ROUNDS * 30 * MS + (ROUNDS - 1) * (7 * MS - 10 * US)
    );
}

#[test]
fn what_a_lost_segment_holds_up_is_loss_until_it_has_arrived() {
    let mut talk = Talk::open(ROUND_TRIP, 10 * US, [512, 5000]);
    let mut now = ROUND_TRIP + 10 * US;
    for _ in 0..ROUNDS {
        talk.burst(now, CLIENT, 2);
        now += US;
        talk.again(now + 300 * MS, CLIENT, SEGMENT);
        talk.ack(now + 300 * MS + ROUND_TRIP, SERVER);
        now += 300 * MS + ROUND_TRIP + 20 * US;
    }
    talk.data(now, CLIENT, SEGMENT);
    assert_eq!(talk.spent_ns(WaitCause::Loss), ROUNDS * (300 * MS + ROUND_TRIP + 20 * US));
}

#[test]
fn a_sender_that_waits_for_nothing_is_as_fast_as_it_is() {
    let mut talk = Talk::open(ROUND_TRIP, 10 * US, [512, 5000]);
    let begin = ROUND_TRIP + 10 * US;
    for at in 0..2000 {
        let now = begin + at * 500 * US;
        if at >= 20 {
            // Each is acknowledged ten milliseconds after, a moment behind another that is sent.
            let header =
                TcpHeader { acknowledgment: talk.next[CLIENT] - 20 * SEGMENT, ..talk.header(SERVER) };
            talk.connection.segment(SERVER, now - 499 * US, &header, 0);
        }
        talk.data(now, CLIENT, SEGMENT);
    }
    assert_eq!(talk.spent_ns(WaitCause::SenderPace), 1999 * 500 * US);
}

#[test]
fn a_closed_window_is_the_receiving_applications_until_it_opens() {
    let mut talk = Talk::open(ROUND_TRIP, 10 * US, [512, 23]);
    let mut now = ROUND_TRIP + 10 * US;
    for _ in 0..ROUNDS {
        talk.burst(now, CLIENT, 2);
        now += US;
        talk.window[SERVER] = 0;
        talk.ack(now + ROUND_TRIP, SERVER);
        talk.window[SERVER] = 23;
        talk.ack(now + 200 * MS, SERVER);
        now += 200 * MS + 20 * US;
    }
    talk.data(now, CLIENT, SEGMENT);
    assert_eq!(talk.spent_ns(WaitCause::ReceiverApplication), ROUNDS * (200 * MS + 20 * US));
    assert_eq!(
        talk.connection.halves[SERVER].zero_windows,
        u64::try_from(ROUNDS).expect("positive")
    );
}

#[test]
fn without_the_handshake_a_small_window_is_no_evidence() {
    // Whether it is scaled is not known, so that only the window's being zero tells.
    let mut connection = TcpConnection::default();
    for round in 0..ROUNDS {
        let now = round * ROUND_TRIP;
        let sequence = 1 + u32::try_from(round).expect("small") * SEGMENT;
        let data = TcpHeader { sequence, acknowledgment: 1, ack: true, window: 500, ..TcpHeader::default() };
        connection.segment(CLIENT, now, &data, SEGMENT);
        let ack = TcpHeader {
            sequence: 1,
            acknowledgment: sequence + SEGMENT,
            ack: true,
            window: 10,
            ..TcpHeader::default()
        };
        connection.segment(SERVER, now + ROUND_TRIP - 10 * US, &ack, 0);
    }
    let spent = connection.limits.spent_ns(0, ROUNDS * ROUND_TRIP);
    assert_eq!(spent[WaitCause::ReceiverWindow as usize], 0);
    assert!(spent[WaitCause::SendBuffer as usize] > 0);
}

/// Rounds with so many segments each, acknowledged a round trip later, seen by the sender with room
/// in the window; of 0 segments, a loss that is made good after 300 ms.
fn rounds_of(flights: &[i64]) -> Talk {
    let mut talk = Talk::open(ROUND_TRIP, 10 * US, [512, 65_000]);
    let mut now = ROUND_TRIP + 30 * US;
    for segments in flights {
        if *segments == 0 {
            talk.data(now, CLIENT, SEGMENT);
            talk.again(now + 300 * MS, CLIENT, SEGMENT);
            now += 300 * MS;
        } else {
            now = talk.burst(now, CLIENT, *segments);
        }
        now += ROUND_TRIP;
        talk.ack(now, SERVER);
        now += 20 * US;
    }
    talk.data(now, CLIENT, SEGMENT);
    talk
}

const PER_ROUND: i64 = ROUND_TRIP + 20 * US;

#[test]
fn a_flight_that_grows_by_a_segment_a_round_trip_is_a_congestion_window() {
    let talk = rounds_of(&(10..40).collect::<Vec<_>>());
    assert_eq!(talk.spent_ns(WaitCause::CongestionWindow), 30 * PER_ROUND);
    assert_eq!(talk.connection.limits.rounds(CLIENT).steady, 0);
}

#[test]
fn slow_start_doubles_and_its_last_round_trip_may_be_either() {
    let talk = rounds_of(&[2, 4, 8, 16, 32, 64]);
    assert_eq!(talk.spent_ns(WaitCause::CongestionWindow), 5 * PER_ROUND);
    assert_eq!(talk.spent_ns(WaitCause::Window), PER_ROUND);
    assert_eq!(talk.connection.limits.rounds(CLIENT).steps, 5);
}

#[test]
fn a_flight_that_stays_for_few_round_trips_may_be_either() {
    let talk = rounds_of(&[20; 9]);
    assert_eq!(talk.spent_ns(WaitCause::Window), 9 * PER_ROUND);
    assert_eq!(rounds_of(&[20; 10]).spent_ns(WaitCause::SendBuffer), 10 * PER_ROUND);
}

/// Windows of CUBIC in segments, a round trip apart, from a loss at `largest` segments on (RFC
/// 9438, equations 1, 2 and 4).
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn cubic(largest: f64, round_trip_s: f64, rounds: usize) -> Vec<i64> {
    let (c, beta) = (0.4, 0.7);
    let k = (largest * (1.0 - beta) / c).cbrt();
    let window = |round: usize| {
        let t = round as f64 * round_trip_s;
        let friendly = largest * beta + 3.0 * (1.0 - beta) / (1.0 + beta) * round as f64;
        (c * (t - k).powi(3) + largest).max(friendly)
    };
    (0..rounds).map(|round| window(round) as i64).collect()
}

#[test]
fn a_flight_that_falls_at_losses_and_grows_as_cubic_does_is_a_congestion_window() {
    for (largest, round_trip_s) in
        [(30.0, 0.01), (60.0, 0.05), (200.0, 0.01), (200.0, 0.1), (500.0, 0.2)]
    {
        let mut flights = vec![];
        for _ in 0..4 {
            flights.extend(cubic(largest, round_trip_s, 40));
            flights.push(0);
        }
        let talk = rounds_of(&flights);
        assert_eq!(talk.spent_ns(WaitCause::SendBuffer), 0, "{largest} {round_trip_s}");
        assert!(
            talk.spent_ns(WaitCause::CongestionWindow) >= 120 * PER_ROUND,
            "{largest} {round_trip_s}"
        );
        assert_eq!(talk.connection.limits.loss_episodes(CLIENT), 4);
    }
}

#[test]
fn what_stays_below_the_flight_before_a_loss_is_a_congestion_window() {
    let talk = rounds_of(&[20, 20, 20, 20, 0, 10, 10, 10]);
    assert_eq!(talk.spent_ns(WaitCause::Window), 4 * PER_ROUND);
    assert_eq!(talk.spent_ns(WaitCause::CongestionWindow), 3 * PER_ROUND);
}

#[test]
fn a_send_buffer_stays_one_across_losses() {
    let mut flights = vec![];
    for _ in 0..5 {
        flights.extend([40; 30]);
        flights.extend([0, 15, 25]);
    }
    let talk = rounds_of(&flights);
    assert_eq!(talk.spent_ns(WaitCause::SendBuffer), 150 * PER_ROUND);
}

#[test]
fn a_send_buffer_whose_writer_is_woken_now_and_then_varies_and_does_not_grow() {
    let flight_sizes = [41, 40, 42, 57, 53, 41, 41, 44, 41, 40, 50, 41, 43, 41, 51, 47, 41, 41, 45, 41];
    let flights: Vec<i64> = flight_sizes.iter().cycle().take(60).copied().collect();
    assert_eq!(rounds_of(&flights).spent_ns(WaitCause::SendBuffer), 60 * PER_ROUND);
}

#[test]
fn a_steady_flight_of_short_writes_is_the_sending_applications() {
    let mut talk = Talk::open(ROUND_TRIP, 10 * US, [512, 5000]);
    let mut now = ROUND_TRIP + 30 * US;
    for _ in 0..ROUNDS {
        talk.data(now, CLIENT, SEGMENT);
        talk.data(now + US, CLIENT, 500);
        talk.data(now + 2 * US, CLIENT, SEGMENT);
        now += 2 * US + ROUND_TRIP;
        talk.ack(now, SERVER);
        now += 20 * US;
    }
    talk.data(now, CLIENT, SEGMENT);
    // The last of each round is full, so that the course tells; a microsecond follows the short
    // one, 20 µs the handshake.
    assert_eq!(talk.spent_ns(WaitCause::SenderApplication), ROUNDS * (PER_ROUND + US) + 20 * US);
}

#[test]
fn a_window_used_up_that_is_acknowledged_late_waits_for_the_receiving_application() {
    let talk = rounds_at_the_sender(115, |round| if round == 0 { ROUND_TRIP } else { 15 * MS });
    assert_eq!(talk.spent_ns(WaitCause::ReceiverWindow), PER_ROUND);
    assert_eq!(talk.spent_ns(WaitCause::ReceiverApplication), (ROUNDS - 1) * (15 * MS + 20 * US));
}

#[test]
fn a_window_that_unread_data_makes_smaller_is_the_receiving_applications() {
    let mut talk = Talk::open(ROUND_TRIP, 10 * US, [512, 115]);
    let mut now = ROUND_TRIP + 30 * US;
    for _ in 0..ROUNDS {
        now = talk.burst(now, CLIENT, i64::from(talk.window[SERVER]) * 128 / i64::from(SEGMENT))
            + ROUND_TRIP;
        talk.window[SERVER] = 80;
        talk.ack(now, SERVER);
        now += 20 * US;
    }
    talk.data(now, CLIENT, SEGMENT);
    // At first the window was at its largest.
    assert_eq!(talk.spent_ns(WaitCause::ReceiverWindow), PER_ROUND);
    assert_eq!(talk.spent_ns(WaitCause::ReceiverApplication), (ROUNDS - 1) * PER_ROUND);
}

#[test]
fn a_handshake_that_a_busy_host_answers_late_hides_no_acknowledgement() {
    // The client confirms 5 ms late; its data echo timestamps 20 µs after the acknowledgements that
    // bring them.
    let mut talk = Talk::open(ROUND_TRIP, 5 * MS, [512, 5000]);
    let mut now = ROUND_TRIP + 5 * MS + 30 * US;
    for round in 0..30 {
        for segment in 0..10 {
            let header = TcpHeader { timestamps: Some((7, 100 + round)), ..talk.header(CLIENT) };
            talk.connection.segment(CLIENT, now + segment * US, &header, SEGMENT - 12);
            talk.next[CLIENT] += SEGMENT - 12;
        }
        now += 9 * US + ROUND_TRIP;
        let header = TcpHeader { timestamps: Some((101 + round, 7)), ..talk.header(SERVER) };
        talk.connection.segment(SERVER, now, &header, 0);
        now += 20 * US;
    }
    talk.data(now, CLIENT, SEGMENT - 12);
    assert_eq!(talk.connection.away_ns(CLIENT), Some(20_000));
    assert_eq!(talk.spent_ns(WaitCause::SendBuffer), 30 * PER_ROUND);
}

#[test]
fn full_segments_in_bursts_with_pauses_are_the_sending_applications() {
    let mut talk = Talk::open(ROUND_TRIP, 10 * US, [512, 60_000]);
    let mut now = ROUND_TRIP + 10 * US;
    for _ in 0..ROUNDS {
        for at in 0..4 {
            talk.data(now + at * 300 * US, CLIENT, SEGMENT);
        }
        // Others that are under way are acknowledged in between, at no moment that it waits for.
        let header = TcpHeader { acknowledgment: talk.next[CLIENT] - SEGMENT, ..talk.header(SERVER) };
        talk.connection.segment(SERVER, now + 900 * US + 3 * MS, &header, 0);
        now += 7 * MS;
    }
    assert_eq!(talk.spent_ns(WaitCause::SenderPace), ROUNDS * 900 * US);
    assert_eq!(talk.spent_ns(WaitCause::SenderApplication), (ROUNDS - 1) * 6100 * US);
}

#[test]
fn acknowledgements_one_after_the_other_tell_the_rate_of_the_slowest_link() {
    let mut talk = Talk::open(ROUND_TRIP, 10 * US, [512, 5000]);
    let mut now = ROUND_TRIP + 30 * US;
    for _ in 0..ROUNDS {
        let first = talk.next[CLIENT];
        talk.burst(now, CLIENT, 20);
        now += ROUND_TRIP;
        // Two segments each 240 µs, as 97.3 Mb/s of payload.
        for pair in 1..=10 {
            let header = TcpHeader { acknowledgment: first + pair * 2 * SEGMENT, ..talk.header(SERVER) };
            talk.connection.segment(SERVER, now + i64::from(pair) * 240 * US, &header, 0);
        }
        now += 11 * 240 * US;
    }
    let spacing = &talk.connection.halves[CLIENT].spacing;
    // Trains of five within a round; across rounds they take more than half a round trip.
    assert_eq!(spacing.count(), 6 * u64::try_from(ROUNDS).expect("positive"));
    assert_eq!((spacing.least_ns(), spacing.most_ns()), (Some(82_191), Some(82_191)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_moment_of_any_segments_has_one_cause(
        segments in prop::collection::vec((0usize..2, -5i64..50, any::<(u8, u8)>(), any::<u8>(), 0u32..3000, any::<u16>()), 1..200),
    ) {
        let mut connection = TcpConnection::default();
        let mut now = 0;
        for (from, step, (sequence, acknowledgment), flags, payload, window) in segments {
            now += step * 1000;
            let bit = |at: u8| flags >> at & 1 == 1;
            let tcp = TcpHeader {
                sequence: u32::from(sequence) << 10,
                acknowledgment: u32::from(acknowledgment) << 10,
                window,
                syn: bit(0) && bit(1),
                ack: !bit(2),
                fin: bit(3) && bit(4),
                rst: bit(5) && bit(6) && bit(7),
                window_shift: bit(7).then_some(3),
                timestamps: bit(4).then_some((u32::from(sequence), 0)),
                ..TcpHeader::default()
            };
            connection.segment(from, now, &tcp, payload);
        }
        let (first_ns, last_ns) = connection.times_ns.expect("there are some");
        let spent: u64 = connection.limits.spent_ns(first_ns, last_ns).iter().sum();
        // Segments earlier than the first have no time; pieces are counted from the latest on, so
        // that none is counted twice.
        prop_assert_eq!(spent, last_ns.abs_diff(first_ns));
        for half in &connection.halves {
            prop_assert!(half.resent + half.late <= half.segments);
            prop_assert!(half.covered_segments <= connection.halves.iter().map(|half| half.data_segments).sum());
        }
    }
}
