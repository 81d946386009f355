//! Attempts to break each rule, one a rule.

use super::*;
use proptest::prelude::*;

const S: u64 = 1_000_000_000;
const NOW_NS: u64 = 1000 * S;
const NOW_UNIX_S: u64 = 1_700_000_000;
const SESSION: u64 = 0x5E55;

fn ceilings() -> Ceilings {
    let text = "rate_bps = 1_000_000\nrate_frames_per_s = 1000\nduration_s = 10\ntests_at_once = 2\nroles = 3\n\
                addresses = [\"10.0.0.0/24\", \"127.0.0.0/8\"]\ninterfaces = [\"test0\", \"lo\"]";
    Ceilings::parse(text).expect("a file")
}

fn book() -> RuleBook {
    RuleBook::new(ceilings(), SESSION, false)
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn target(text: &str) -> SocketAddr {
    text.parse().expect("an address and a port")
}

fn wish() -> Wish {
    Wish {
        sender: ip("10.0.0.1"),
        target: target("10.0.0.2:5000"),
        rate_bps: 1_000_000,
        rate_frames_per_s: 1000,
        duration_ns: 10 * S,
        interface: Some("test0".into()),
    }
}

fn yes() -> Grant {
    book().grant(7, &wish(), NOW_UNIX_S).expect("within all ceilings")
}

fn stamp(experiment: u64, counter: u64) -> Stamp {
    Stamp { session: SESSION, experiment, counter, made_ns: NOW_NS }
}

fn rule<T: std::fmt::Debug>(outcome: Result<T, Refusal>) -> Rule {
    outcome.expect_err("must be refused").rule
}

/// A wish that both sides would grant but for one change.
type Change = fn(&mut Wish);

/// Something else granted than asked for.
type GrantChange = fn(&mut Grant);

#[test]
fn what_is_within_everything_is_granted_and_permitted_as_asked() {
    let grant = yes();
    let expected = Grant {
        experiment: 7,
        sender: ip("10.0.0.1"),
        address: ip("10.0.0.2"),
        port: 5000,
        rate_bps: 1_000_000,
        rate_frames_per_s: 1000,
        duration_ns: 10 * S,
        until_unix_s: NOW_UNIX_S + GRANT_S,
    };
    assert_eq!(grant, expected);
    let permit = book().permit(7, &wish(), Some((&grant, Proof::Signed)), NOW_UNIX_S).expect("as granted");
    let expected = Permit { target: wish().target, rate_bps: 1_000_000, rate_frames_per_s: 1000, duration_ns: 10 * S };
    assert_eq!(permit, expected);
}

#[test]
fn each_ceiling_holds_for_receivers_and_senders() {
    let cases: [(Rule, Change); 14] = [
        (Rule::RateBits, |wish| wish.rate_bps = 1_000_001),
        (Rule::RateBits, |wish| wish.rate_bps = u64::MAX),
        (Rule::RateBits, |wish| wish.rate_bps = 0),
        (Rule::RateFrames, |wish| wish.rate_frames_per_s = 1001),
        (Rule::RateFrames, |wish| wish.rate_frames_per_s = 0),
        (Rule::Duration, |wish| wish.duration_ns = 10 * S + 1),
        (Rule::Duration, |wish| wish.duration_ns = u64::MAX),
        (Rule::Address, |wish| wish.target = target("10.0.1.2:5000")),
        (Rule::Address, |wish| wish.sender = ip("10.0.1.1")),
        (Rule::Address, |wish| wish.target = target("0.0.0.0:5000")),
        (Rule::Address, |wish| wish.target = target("224.0.0.1:5000")),
        (Rule::Address, |wish| wish.target = target("[::1]:5000")),
        (Rule::Interface, |wish| wish.interface = Some("eth0".into())),
        (Rule::Interface, |wish| wish.interface = None),
    ];
    for (expected, change) in cases {
        let mut wish = wish();
        change(&mut wish);
        assert_eq!(rule(book().grant(7, &wish, NOW_UNIX_S)), expected, "as a receiver: {wish:?}");
        // A receiver with other ceilings has granted exactly this.
        let grant = Grant {
            sender: wish.sender,
            address: wish.target.ip(),
            rate_bps: wish.rate_bps,
            rate_frames_per_s: wish.rate_frames_per_s,
            duration_ns: wish.duration_ns,
            ..yes()
        };
        let permitted = book().permit(7, &wish, Some((&grant, Proof::Signed)), NOW_UNIX_S);
        assert_eq!(rule(permitted), expected, "as a sender: {wish:?}");
    }
}

#[test]
fn a_group_or_everybody_cannot_be_a_station_even_if_all_addresses_are_allowed() {
    let all = "addresses = [\"0.0.0.0/0\", \"::/0\"]";
    let mut book = RuleBook::new(Ceilings::parse(all).expect("a file"), SESSION, false);
    for address in ["224.0.0.1:5000", "255.255.255.255:5000", "[ff02::1]:5000", "[::]:5000"] {
        let wish = Wish { target: target(address), ..wish() };
        assert_eq!(rule(book.grant(7, &wish, NOW_UNIX_S)), Rule::Address, "{address}");
    }
}

#[test]
fn ports_of_services_are_never_granted_nor_sent_to() {
    for port in [1, 53, 1023] {
        let wish = Wish { target: SocketAddr::new(ip("10.0.0.2"), port), ..wish() };
        assert_eq!(rule(book().grant(7, &wish, NOW_UNIX_S)), Rule::Port);
        let grant = Grant { port, ..yes() };
        assert_eq!(rule(book().permit(7, &wish, Some((&grant, Proof::Signed)), NOW_UNIX_S)), Rule::Port);
    }
}

#[test]
fn without_a_yes_nothing_is_sent() {
    assert_eq!(rule(book().permit(7, &wish(), None, NOW_UNIX_S)), Rule::ConsentMissing);
}

#[test]
fn a_yes_is_for_exactly_what_it_says() {
    let cases: [(Rule, GrantChange); 11] = [
        (Rule::ConsentExperiment, |grant| grant.experiment = 8),
        (Rule::ConsentSender, |grant| grant.sender = ip("10.0.0.3")),
        (Rule::ConsentTarget, |grant| grant.address = ip("10.0.0.3")),
        (Rule::ConsentTarget, |grant| grant.port = 5001),
        (Rule::ConsentRate, |grant| grant.rate_bps -= 1),
        (Rule::ConsentRate, |grant| grant.rate_frames_per_s -= 1),
        (Rule::ConsentDuration, |grant| grant.duration_ns -= 1),
        (Rule::ConsentExpired, |grant| grant.until_unix_s = NOW_UNIX_S),
        (Rule::ConsentExpired, |grant| grant.until_unix_s = 0),
        // One that would hold for years was not given a minute ago.
        (Rule::ConsentExpired, |grant| grant.until_unix_s = NOW_UNIX_S + 2 * GRANT_S + 1),
        (Rule::ConsentExpired, |grant| grant.until_unix_s = u64::MAX),
    ];
    for (expected, change) in cases {
        let mut grant = yes();
        change(&mut grant);
        let permitted = book().permit(7, &wish(), Some((&grant, Proof::Signed)), NOW_UNIX_S);
        assert_eq!(rule(permitted), expected, "{grant:?}");
    }
}

#[test]
fn an_unsigned_yes_is_believed_on_loopback_by_an_agent_without_tls_only() {
    let unsigned = |is_plain, sender, address| {
        let mut book = RuleBook::new(ceilings(), SESSION, is_plain);
        let wish = Wish { sender: ip(sender), target: target(address), ..wish() };
        let grant = Grant { sender: wish.sender, address: wish.target.ip(), ..yes() };
        book.permit(7, &wish, Some((&grant, Proof::None)), NOW_UNIX_S)
    };
    assert!(unsigned(true, "127.0.0.1", "127.0.0.1:5000").is_ok());
    assert_eq!(rule(unsigned(false, "127.0.0.1", "127.0.0.1:5000")), Rule::ConsentUnproven);
    assert_eq!(rule(unsigned(false, "10.0.0.1", "10.0.0.2:5000")), Rule::ConsentUnproven);
    assert_eq!(rule(unsigned(true, "10.0.0.1", "10.0.0.2:5000")), Rule::PlainBeyondLoopback);
    assert_eq!(rule(unsigned(true, "127.0.0.1", "10.0.0.2:5000")), Rule::PlainBeyondLoopback);
}

#[test]
fn an_agent_without_tls_does_not_receive_beyond_loopback() {
    let mut book = RuleBook::new(ceilings(), SESSION, true);
    assert_eq!(rule(book.grant(7, &wish(), NOW_UNIX_S)), Rule::PlainBeyondLoopback);
}

#[test]
fn requests_for_a_process_before_this_one_are_refused() {
    let old = Stamp { session: SESSION + 1, ..stamp(7, 1) };
    assert_eq!(rule(book().admit_beginning(&old, "a", NOW_NS)), Rule::Session);
}

#[test]
fn requests_made_too_long_ago_or_in_the_future_are_refused() {
    let cases = [
        (NOW_NS - fresh::OLDEST_NS, None),
        (NOW_NS - fresh::OLDEST_NS - 1, Some(Rule::Clock)),
        (NOW_NS + fresh::AHEAD_NS, None),
        (NOW_NS + fresh::AHEAD_NS + 1, Some(Rule::Clock)),
        (0, Some(Rule::Clock)),
        (u64::MAX, Some(Rule::Clock)),
    ];
    for (made_ns, expected) in cases {
        let outcome = book().admit_beginning(&Stamp { made_ns, ..stamp(7, 1) }, "a", NOW_NS);
        assert_eq!(outcome.err().map(|refusal| refusal.rule), expected, "{made_ns}");
    }
}

#[test]
fn a_request_counts_once_and_not_after_a_later_one() {
    let mut book = book();
    book.admit_beginning(&stamp(7, 1), "a", NOW_NS).expect("the first");
    book.admit(&stamp(7, 5), "a", NOW_NS).expect("a later one");
    for counter in [5, 4, 1, 0] {
        assert_eq!(rule(book.admit(&stamp(7, counter), "a", NOW_NS)), Rule::Replay, "{counter}");
        assert_eq!(rule(book.admit_beginning(&stamp(7, counter), "a", NOW_NS)), Rule::Replay, "{counter}");
    }
    book.admit(&stamp(7, 6), "a", NOW_NS).expect("the next");
}

#[test]
fn an_ended_experiment_does_not_begin_again_by_a_replay() {
    let mut book = book();
    book.admit_beginning(&stamp(7, 1), "a", NOW_NS).expect("the first");
    book.end(7, NOW_NS + S);
    assert_eq!(rule(book.admit_beginning(&stamp(7, 2), "a", NOW_NS + S)), Rule::Ended);
    // Once its end is forgotten, its requests are too old.
    for later_ns in (0..20).map(|seconds| NOW_NS + S + seconds * S) {
        let refused = rule(book.admit_beginning(&stamp(7, 2), "a", later_ns));
        assert!([Rule::Ended, Rule::Clock].contains(&refused), "{refused} at {later_ns}");
    }
}

#[test]
fn an_experiment_belongs_to_who_began_it() {
    let mut book = book();
    book.admit_beginning(&stamp(7, 1), "a", NOW_NS).expect("the first");
    assert_eq!(rule(book.admit(&stamp(7, 2), "b", NOW_NS)), Rule::Owner);
    // The stranger's request has used up no number.
    book.admit(&stamp(7, 2), "a", NOW_NS).expect("the owner's");
}

#[test]
fn an_experiment_that_has_not_begun_is_unknown() {
    assert_eq!(rule(book().admit(&stamp(7, 1), "a", NOW_NS)), Rule::Unknown);
}

#[test]
fn there_are_no_more_experiments_at_once_than_the_operator_allows() {
    let mut book = book();
    book.admit_beginning(&stamp(1, 1), "a", NOW_NS).expect("one");
    book.admit_beginning(&stamp(2, 1), "a", NOW_NS).expect("two");
    assert_eq!(rule(book.admit_beginning(&stamp(3, 1), "a", NOW_NS)), Rule::TestsAtOnce);
    book.admit_beginning(&stamp(1, 2), "a", NOW_NS).expect("one that has begun");
    book.end(1, NOW_NS);
    book.admit_beginning(&stamp(3, 1), "a", NOW_NS).expect("there is room again");
}

#[test]
fn there_are_no_more_roles_in_an_experiment_than_the_operator_allows() {
    let mut book = book();
    let slow = Wish { rate_bps: 1000, rate_frames_per_s: 1, ..wish() };
    for _ in 0..3 {
        book.grant(7, &slow, NOW_UNIX_S).expect("three");
    }
    assert_eq!(rule(book.grant(7, &slow, NOW_UNIX_S)), Rule::Roles);
    assert_eq!(rule(book.permit(7, &slow, Some((&yes(), Proof::Signed)), NOW_UNIX_S)), Rule::Roles);
    book.grant(8, &slow, NOW_UNIX_S).expect("another experiment");
}

#[test]
fn ceilings_on_rates_hold_for_all_flows_of_all_experiments_in_one_direction_together() {
    let part = |rate_bps, rate_frames_per_s| Wish { rate_bps, rate_frames_per_s, ..wish() };
    let mut book = book();
    book.grant(7, &part(600_000, 100), NOW_UNIX_S).expect("the first");
    assert_eq!(rule(book.grant(7, &part(400_001, 100), NOW_UNIX_S)), Rule::RateBits);
    assert_eq!(rule(book.grant(8, &part(400_001, 100), NOW_UNIX_S)), Rule::RateBits, "another experiment");
    assert_eq!(rule(book.grant(8, &part(1, 901), NOW_UNIX_S)), Rule::RateFrames);
    book.grant(8, &part(400_000, 900), NOW_UNIX_S).expect("what is left");
    let permit = |book: &mut RuleBook, wish| book.permit(7, &wish, Some((&yes(), Proof::Signed)), NOW_UNIX_S);
    permit(&mut book, part(1_000_000, 500)).expect("the other direction");
    assert_eq!(rule(permit(&mut book, part(1, 1))), Rule::RateBits);
    book.end(7, NOW_NS);
    permit(&mut book, part(1_000_000, 1000)).expect("what ended has given back");
}

#[test]
fn ended_experiments_that_are_remembered_are_bounded() {
    let mut book = book();
    let begun = (0..10_000).take_while(|&number| {
        let has_begun = book.admit_beginning(&stamp(number, 1), "a", NOW_NS).is_ok();
        book.end(number, NOW_NS);
        has_begun
    });
    assert_eq!(begun.count(), 1024);
}

#[test]
fn a_refusal_names_its_rule_the_value_and_what_is_allowed() {
    let wish = Wish { rate_bps: 2_000_000, ..wish() };
    let refusal = book().grant(7, &wish, NOW_UNIX_S).expect_err("too fast");
    assert_eq!(refusal.to_string(), "rule rate-bits: 2000000 bit/s is refused, allowed: 1 to 1000000 bit/s");
}

proptest! {
    #[test]
    fn a_permit_never_goes_beyond_the_yes_or_the_ceilings(
        rate_bps in 0u64..2_000_000, frames in 0u64..2000, duration_ns in 0..20 * S,
        granted_bps in 0u64..2_000_000, granted_frames in 0u64..2000, granted_ns in 0..20 * S,
        experiment in 7u64..9, last in 1u8..4, granted_last in 1u8..4,
    ) {
        let wish = Wish {
            rate_bps, rate_frames_per_s: frames, duration_ns, target: SocketAddr::from(([10, 0, 0, last], 5000)), ..wish()
        };
        let grant = Grant {
            address: IpAddr::from([10, 0, 0, granted_last]),
            rate_bps: granted_bps, rate_frames_per_s: granted_frames, duration_ns: granted_ns, ..yes()
        };
        let is_within = experiment == 7 && last == granted_last
            && (1..=granted_bps.min(1_000_000)).contains(&rate_bps)
            && (1..=granted_frames.min(1000)).contains(&frames)
            && (1..=granted_ns.min(10 * S)).contains(&duration_ns);
        let permitted = book().permit(experiment, &wish, Some((&grant, Proof::Signed)), NOW_UNIX_S);
        prop_assert_eq!(permitted.is_ok(), is_within);
    }
}
