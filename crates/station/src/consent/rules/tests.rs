//! Attempts to break each rule, one a rule.

use super::super::grant::InterfaceIdentity;
use super::super::network::IpNetwork;
use super::super::transport::{Cast, FlowTransport, PortKind};
use super::super::{fresh, spent};
use super::*;
use ethermeter_net::route::PacketRoute;
use ethermeter_net::wire::MacAddress;
use groups::{book_with_groups, signed, to_group};
use proptest::prelude::*;
use std::net::SocketAddr;

mod groups;

const S: u64 = 1_000_000_000;
const NOW_NS: u64 = 1000 * S;
const NOW_UNIX_S: u64 = 1_700_000_000;
const SESSION: u64 = 0x5E55;
const NOW: ClockReading = ClockReading { now_ns: NOW_NS, unix_s: NOW_UNIX_S };

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

fn target(text: &str) -> StationAddress {
    StationAddress::Socket(text.parse().expect("an address and a port"))
}

fn mac(text: &str) -> MacAddress {
    text.parse().expect("an Ethernet address")
}

/// An agent's own address in what it is asked to receive: where the target is, unless that is a
/// group.
const OWN: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

/// Where `address` is: on the interface of this name.
#[allow(clippy::unnecessary_wraps)] // as wishes have it
fn attachment(address: IpAddr, name: &str) -> Option<FlowAttachment> {
    let is_loopback = name == "lo";
    let index = if is_loopback { 1 } else { 2 };
    let mac = Some(mac("02:00:00:00:00:02"));
    let interface = InterfaceIdentity { name: name.into(), index, mac, is_loopback };
    Some(FlowAttachment { address, network: IpNetwork::of(address, 24), interface })
}

/// A wish as of one whose own address is `own`.
fn at(own: IpAddr, request: &SendRequest) -> SendRequest {
    let network = IpNetwork::of(own, 24);
    let attachment = request.attachment.clone().map(|attachment| FlowAttachment {
        address: own,
        network,
        ..attachment
    });
    SendRequest { attachment, ..request.clone() }
}

/// The rates of most grants.
const RATES: Rates = Rates { bps: 1_000_000, frames_per_s: 1000 };

/// What the receiver of frames of a sender is asked.
fn asked(request: &SendRequest, rates: Rates) -> GrantRequest {
    let (address, port) = match request.target {
        StationAddress::Socket(target) if request.transport.is_group() => (OWN, target.port()),
        StationAddress::Socket(target) => (target.ip(), target.port()),
        StationAddress::Mac(_) => (OWN, 0),
    };
    GrantRequest {
        flow: "f".into(),
        transport: request.transport,
        sender: request.sender,
        address,
        interface: request.interface.clone(),
        port,
        rate_bps: rates.bps,
        rate_frames_per_s: rates.frames_per_s,
        longest_frame_octets: request.longest_frame_octets,
        room_frame_octets: 0,
        duration_ns: request.duration_ns,
    }
}

fn grant_at(
    book: &mut RuleBook,
    experiment: u64,
    request: &SendRequest,
    rates: Rates,
) -> Result<Grant, Refusal> {
    let asked = asked(request, rates);
    let attachment = at(asked.address, request).attachment;
    book.grant(experiment, &asked, attachment.as_ref(), NOW_UNIX_S)
}

fn grant(book: &mut RuleBook, experiment: u64, request: &SendRequest) -> Result<Grant, Refusal> {
    grant_at(book, experiment, request, RATES)
}

/// Grants whose stations are reached directly by an interface.
fn reached(consents: &[(Grant, Proof)], interface: u32) -> Vec<Consent> {
    let route = PacketRoute { interface, is_local: false, has_gateway: false };
    let reach = Some(Reachability { route, neighbour: None });
    consents
        .iter()
        .map(|(grant, proof)| Consent { grant: grant.clone(), proof: *proof, reach })
        .collect()
}

fn permit(
    book: &mut RuleBook,
    experiment: u64,
    request: &SendRequest,
    consents: &[(Grant, Proof)],
) -> Result<Permit, Refusal> {
    let index = request.attachment.as_ref().map_or(0, |attachment| attachment.interface.index);
    book.permit(experiment, &at(request.sender, request), &reached(consents, index), NOW)
}

fn request() -> SendRequest {
    SendRequest {
        transport: FlowTransport::default(),
        sender: ip("10.0.0.1"),
        target: target("10.0.0.2:5000"),
        longest_frame_octets: 100,
        duration_ns: 10 * S,
        attachment: attachment(ip("10.0.0.1"), "test0"),
        interface: None,
    }
}

fn a_grant() -> Grant {
    grant(&mut book(), 7, &request()).expect("within all ceilings")
}

fn stamp(experiment: u64, counter: u64) -> RequestStamp {
    RequestStamp { session: SESSION, experiment, counter, made_ns: NOW_NS }
}

fn rule<T: std::fmt::Debug>(outcome: Result<T, Refusal>) -> ConsentRule {
    outcome.expect_err("must be refused").rule
}

/// A flow that both sides would allow but for one change.
type Change = fn(&mut SendRequest, &mut Rates);

/// Something else granted than asked for.
type GrantChange = fn(&mut Grant);

#[test]
fn what_is_within_everything_is_granted_and_permitted_as_asked() {
    let grant = a_grant();
    let expected = Grant {
        experiment: 7,
        session: SESSION,
        number: 1,
        sender: ip("10.0.0.1"),
        address: ip("10.0.0.2"),
        network: "10.0.0.2/24".parse().expect("a network"),
        interface: "test0".into(),
        mac: Some(mac("02:00:00:00:00:02")),
        kind: PortKind::Udp,
        cast: Cast::Unicast,
        priority: None,
        port: 5000,
        rate_bps: 1_000_000,
        rate_frames_per_s: 1000,
        longest_frame_octets: 100,
        duration_ns: 10 * S,
        until_unix_s: NOW_UNIX_S + GRANT_S,
    };
    assert_eq!(grant, expected);
    let permit = permit(&mut book(), 7, &request(), &[(grant, Proof::Signed)]).expect("as granted");
    let expected = Permit {
        target: request().target,
        rate_bps: 1_000_000,
        rate_frames_per_s: 1000,
        longest_frame_octets: 100,
        duration_ns: 10 * S,
        begin_before_ns: NOW_NS + GRANT_S * S,
    };
    assert_eq!(permit, expected);
}

#[test]
fn each_ceiling_holds_for_receivers_and_senders() {
    let cases: [(ConsentRule, Change); 15] = [
        (ConsentRule::RateBits, |_, rates| rates.bps = 1_000_001),
        (ConsentRule::RateBits, |_, rates| rates.bps = u64::MAX),
        (ConsentRule::RateBits, |_, rates| rates.bps = 0),
        (ConsentRule::RateFrames, |_, rates| rates.frames_per_s = 1001),
        (ConsentRule::RateFrames, |_, rates| rates.frames_per_s = 0),
        (ConsentRule::Duration, |request, _| request.duration_ns = 10 * S + 1),
        (ConsentRule::Duration, |request, _| request.duration_ns = u64::MAX),
        (ConsentRule::Address, |request, _| request.target = target("10.0.1.2:5000")),
        (ConsentRule::Address, |request, _| request.sender = ip("10.0.1.1")),
        (ConsentRule::Address, |request, _| request.target = target("0.0.0.0:5000")),
        (ConsentRule::Address, |request, _| request.target = target("224.0.0.1:5000")),
        (ConsentRule::Address, |request, _| request.target = target("[::1]:5000")),
        (ConsentRule::Interface, |request, _| request.attachment = attachment(OWN, "eth0")),
        (ConsentRule::Interface, |request, _| request.attachment = None),
        // Allowed, but it has not the address.
        (ConsentRule::Interface, |request, _| request.interface = Some("lo".into())),
    ];
    for (expected, change) in cases {
        let (mut request, mut rates) = (request(), RATES);
        change(&mut request, &mut rates);
        let granted = grant_at(&mut book(), 7, &request, rates);
        assert_eq!(rule(granted), expected, "as a receiver: {request:?}, {rates:?}");
        // A receiver with other ceilings has granted exactly this.
        let StationAddress::Socket(to) = request.target else { unreachable!("no raw frames here") };
        let given = Grant {
            sender: request.sender,
            address: to.ip(),
            rate_bps: rates.bps,
            rate_frames_per_s: rates.frames_per_s,
            duration_ns: request.duration_ns,
            ..a_grant()
        };
        let permitted = permit(&mut book(), 7, &request, &[(given, Proof::Signed)]);
        assert_eq!(rule(permitted), expected, "as a sender: {request:?}");
    }
}

#[test]
fn a_group_or_everybody_cannot_be_a_station_even_if_all_addresses_are_allowed() {
    let all = "addresses = [\"0.0.0.0/0\", \"::/0\"]";
    let mut book = RuleBook::new(Ceilings::parse(all).expect("a file"), SESSION, false);
    for address in ["224.0.0.1:5000", "255.255.255.255:5000", "[ff02::1]:5000", "[::]:5000"] {
        let request = SendRequest { target: target(address), ..request() };
        assert_eq!(rule(grant(&mut book, 7, &request)), ConsentRule::Address, "{address}");
    }
}

#[test]
fn ports_of_services_are_never_granted_nor_sent_to() {
    for port in [1, 53, 1023] {
        let request = SendRequest {
            target: StationAddress::Socket(SocketAddr::new(ip("10.0.0.2"), port)),
            ..request()
        };
        assert_eq!(rule(grant(&mut book(), 7, &request)), ConsentRule::Port);
        let given = Grant { port, ..a_grant() };
        assert_eq!(
            rule(permit(&mut book(), 7, &request, &[(given, Proof::Signed)])),
            ConsentRule::Port
        );
    }
}

#[test]
fn without_a_grant_nothing_is_sent() {
    assert_eq!(rule(permit(&mut book(), 7, &request(), &[])), ConsentRule::ConsentMissing);
}

#[test]
fn a_grant_is_for_exactly_what_it_says() {
    let cases: [(ConsentRule, GrantChange); 11] = [
        (ConsentRule::ConsentExperiment, |grant| grant.experiment = 8),
        (ConsentRule::ConsentSender, |grant| grant.sender = ip("10.0.0.3")),
        (ConsentRule::ConsentTarget, |grant| grant.address = ip("10.0.0.3")),
        (ConsentRule::ConsentTarget, |grant| grant.port = 5001),
        (ConsentRule::ConsentLength, |grant| grant.longest_frame_octets -= 1),
        // A grant for octets in bulk does not permit frames.
        (ConsentRule::ConsentLength, |grant| grant.longest_frame_octets = 0),
        (ConsentRule::ConsentDuration, |grant| grant.duration_ns -= 1),
        (ConsentRule::ConsentExpired, |grant| grant.until_unix_s = NOW_UNIX_S),
        (ConsentRule::ConsentExpired, |grant| grant.until_unix_s = 0),
        // One that would hold for years was not given a minute ago.
        (ConsentRule::ConsentExpired, |grant| grant.until_unix_s = NOW_UNIX_S + 2 * GRANT_S + 1),
        (ConsentRule::ConsentExpired, |grant| grant.until_unix_s = u64::MAX),
    ];
    for (expected, change) in cases {
        let mut grant = a_grant();
        change(&mut grant);
        let permitted = permit(&mut book(), 7, &request(), &[(grant.clone(), Proof::Signed)]);
        assert_eq!(rule(permitted), expected, "{grant:?}");
    }
}

#[test]
fn an_unsigned_grant_is_believed_on_loopback_by_an_agent_without_tls_only() {
    let unsigned = |is_plain, sender, address: &str| {
        let mut book = RuleBook::new(ceilings(), SESSION, is_plain);
        let to: SocketAddr = address.parse().expect("an address and a port");
        let attachment = attachment(ip(sender), if to.ip().is_loopback() { "lo" } else { "test0" });
        let request = SendRequest {
            sender: ip(sender),
            target: StationAddress::Socket(to),
            attachment,
            ..request()
        };
        let given = Grant { sender: request.sender, address: to.ip(), ..a_grant() };
        permit(&mut book, 7, &request, &[(given, Proof::None)])
    };
    assert!(unsigned(true, "127.0.0.1", "127.0.0.1:5000").is_ok());
    assert_eq!(rule(unsigned(false, "127.0.0.1", "127.0.0.1:5000")), ConsentRule::ConsentUnproven);
    assert_eq!(rule(unsigned(false, "10.0.0.1", "10.0.0.2:5000")), ConsentRule::ConsentUnproven);
    assert_eq!(rule(unsigned(true, "10.0.0.1", "10.0.0.2:5000")), ConsentRule::PlainBeyondLoopback);
    assert_eq!(
        rule(unsigned(true, "127.0.0.1", "10.0.0.2:5000")),
        ConsentRule::PlainBeyondLoopback
    );
}

#[test]
fn an_agent_without_tls_does_not_receive_beyond_loopback() {
    let mut book = RuleBook::new(ceilings(), SESSION, true);
    assert_eq!(rule(grant(&mut book, 7, &request())), ConsentRule::PlainBeyondLoopback);
}

#[test]
fn requests_for_a_process_before_this_one_are_refused() {
    let old = RequestStamp { session: SESSION + 1, ..stamp(7, 1) };
    assert_eq!(rule(book().admit_beginning(&old, "a", NOW_NS)), ConsentRule::Session);
}

#[test]
fn requests_made_too_long_ago_or_in_the_future_are_refused() {
    let cases = [
        (NOW_NS - fresh::OLDEST_NS, None),
        (NOW_NS - fresh::OLDEST_NS - 1, Some(ConsentRule::Clock)),
        (NOW_NS + fresh::AHEAD_NS, None),
        (NOW_NS + fresh::AHEAD_NS + 1, Some(ConsentRule::Clock)),
        (0, Some(ConsentRule::Clock)),
        (u64::MAX, Some(ConsentRule::Clock)),
    ];
    for (made_ns, expected) in cases {
        let outcome = book().admit_beginning(&RequestStamp { made_ns, ..stamp(7, 1) }, "a", NOW_NS);
        assert_eq!(outcome.err().map(|refusal| refusal.rule), expected, "{made_ns}");
    }
}

#[test]
fn a_request_counts_once_and_not_after_a_later_one() {
    let mut book = book();
    book.admit_beginning(&stamp(7, 1), "a", NOW_NS).expect("the first");
    book.admit(&stamp(7, 5), "a", NOW_NS).expect("a later one");
    for counter in [5, 4, 1, 0] {
        assert_eq!(
            rule(book.admit(&stamp(7, counter), "a", NOW_NS)),
            ConsentRule::Replay,
            "{counter}"
        );
        assert_eq!(
            rule(book.admit_beginning(&stamp(7, counter), "a", NOW_NS)),
            ConsentRule::Replay,
            "{counter}"
        );
    }
    book.admit(&stamp(7, 6), "a", NOW_NS).expect("the next");
}

#[test]
fn renewals_of_leases_are_counted_apart_and_each_once() {
    let mut book = book();
    assert_eq!(rule(book.admit_lease(&stamp(7, 1), "a", NOW_NS)), ConsentRule::Unknown);
    book.admit_beginning(&stamp(7, 5), "a", NOW_NS).expect("the first");
    // A renewal need not wait for the answer to a call, nor a call for that to a renewal.
    book.admit_lease(&stamp(7, 1), "a", NOW_NS).expect("the first renewal");
    book.admit_lease(&stamp(7, 9), "a", NOW_NS).expect("a later one");
    book.admit(&stamp(7, 6), "a", NOW_NS).expect("the next call");
    for counter in [9, 8, 1, 0] {
        let refused = rule(book.admit_lease(&stamp(7, counter), "a", NOW_NS));
        assert_eq!(refused, ConsentRule::Replay, "{counter}");
    }
    for counter in [6, 5, 1, 0] {
        assert_eq!(rule(book.admit(&stamp(7, counter), "a", NOW_NS)), ConsentRule::Replay);
    }
    assert_eq!(rule(book.admit_lease(&stamp(7, 10), "b", NOW_NS)), ConsentRule::Owner);
    book.admit_lease(&stamp(7, 10), "a", NOW_NS).expect("the owner's");
}

#[test]
fn an_ended_experiment_does_not_begin_again_by_a_replay() {
    let mut book = book();
    book.admit_beginning(&stamp(7, 1), "a", NOW_NS).expect("the first");
    book.end(7, NOW_NS + S);
    assert_eq!(rule(book.admit_beginning(&stamp(7, 2), "a", NOW_NS + S)), ConsentRule::Ended);
    // Once its end is forgotten, its requests are too old.
    for later_ns in (0..20).map(|seconds| NOW_NS + S + seconds * S) {
        let refused = rule(book.admit_beginning(&stamp(7, 2), "a", later_ns));
        assert!(
            [ConsentRule::Ended, ConsentRule::Clock].contains(&refused),
            "{refused} at {later_ns}"
        );
    }
}

#[test]
fn an_experiment_belongs_to_who_began_it() {
    let mut book = book();
    book.admit_beginning(&stamp(7, 1), "a", NOW_NS).expect("the first");
    assert_eq!(rule(book.admit(&stamp(7, 2), "b", NOW_NS)), ConsentRule::Owner);
    // The stranger's request has used up no number.
    book.admit(&stamp(7, 2), "a", NOW_NS).expect("the owner's");
}

#[test]
fn an_experiment_that_has_not_begun_is_unknown() {
    assert_eq!(rule(book().admit(&stamp(7, 1), "a", NOW_NS)), ConsentRule::Unknown);
}

#[test]
fn there_are_no_more_experiments_at_once_than_the_operator_allows() {
    let mut book = book();
    book.admit_beginning(&stamp(1, 1), "a", NOW_NS).expect("one");
    book.admit_beginning(&stamp(2, 1), "a", NOW_NS).expect("two");
    assert_eq!(rule(book.admit_beginning(&stamp(3, 1), "a", NOW_NS)), ConsentRule::TestsAtOnce);
    book.admit_beginning(&stamp(1, 2), "a", NOW_NS).expect("one that has begun");
    book.end(1, NOW_NS);
    book.admit_beginning(&stamp(3, 1), "a", NOW_NS).expect("there is room again");
}

#[test]
fn there_are_no_more_roles_in_an_experiment_than_the_operator_allows() {
    let mut book = book();
    let slow = Rates { bps: 1000, frames_per_s: 1 };
    for _ in 0..3 {
        grant_at(&mut book, 7, &request(), slow).expect("three");
    }
    assert_eq!(rule(grant_at(&mut book, 7, &request(), slow)), ConsentRule::Roles);
    assert_eq!(
        rule(permit(&mut book, 7, &request(), &[(a_grant(), Proof::Signed)])),
        ConsentRule::Roles
    );
    grant_at(&mut book, 8, &request(), slow).expect("another experiment");
}

#[test]
fn ceilings_on_rates_hold_for_all_flows_of_all_experiments_in_one_direction_together() {
    let mut book = book();
    let grant = |book: &mut RuleBook, experiment, bps, frames_per_s| {
        grant_at(book, experiment, &request(), Rates { bps, frames_per_s })
    };
    grant(&mut book, 7, 600_000, 100).expect("the first");
    assert_eq!(rule(grant(&mut book, 7, 400_001, 100)), ConsentRule::RateBits);
    assert_eq!(
        rule(grant(&mut book, 8, 400_001, 100)),
        ConsentRule::RateBits,
        "another experiment"
    );
    assert_eq!(rule(grant(&mut book, 8, 1, 901)), ConsentRule::RateFrames);
    grant(&mut book, 8, 400_000, 900).expect("what is left");
    let mut number = 0;
    let mut permit = |book: &mut RuleBook, rate_bps, rate_frames_per_s| {
        number += 1;
        let grant = Grant { number, rate_bps, rate_frames_per_s, ..a_grant() };
        super::tests::permit(book, 7, &request(), &[(grant, Proof::Signed)])
    };
    permit(&mut book, 1_000_000, 500).expect("the other direction");
    assert_eq!(rule(permit(&mut book, 1, 1)), ConsentRule::RateBits);
    book.end(7, NOW_NS);
    permit(&mut book, 1_000_000, 1000).expect("what ended has given back");
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
    let fast = Rates { bps: 2_000_000, ..RATES };
    let refusal = grant_at(&mut book(), 7, &request(), fast).expect_err("too fast");
    assert_eq!(
        refusal.to_string(),
        "rule rate-bits: 2000000 bit/s is refused, allowed: 1 to 1000000 bit/s"
    );
}

#[test]
fn raw_frames_go_to_the_ethernet_address_in_the_grant_and_never_to_a_group_as_to_a_station() {
    let transport = FlowTransport { kind: PortKind::Packet, ..FlowTransport::default() };
    let (own, other) = (mac("02:00:00:00:00:02"), mac("02:00:00:00:00:09"));
    let request = |mac| SendRequest { transport, target: StationAddress::Mac(mac), ..request() };
    let grant_to = |mac| Grant { kind: PortKind::Packet, port: 0, mac, ..a_grant() };
    let granted = grant(&mut book(), 7, &request(own)).expect("the own address");
    assert_eq!(granted.target(), Some(StationAddress::Mac(own)));
    permit(&mut book(), 7, &request(own), &signed(&[granted])).expect("as granted");
    let refused = |request: &SendRequest, mac| {
        rule(permit(&mut book(), 7, request, &signed(&[grant_to(mac)])))
    };
    assert_eq!(refused(&request(other), Some(own)), ConsentRule::ConsentTarget);
    assert_eq!(refused(&request(own), None), ConsentRule::Address, "no address");
    for group in [MacAddress::BROADCAST, mac("01:80:c2:00:00:00"), mac("33:33:00:00:00:01")] {
        assert_eq!(refused(&request(group), Some(group)), ConsentRule::Address, "{group}");
    }
    let nowhere = SendRequest { attachment: None, ..request(own) };
    assert_eq!(
        rule(grant(
            &mut RuleBook::new(Ceilings { interfaces: None, ..ceilings() }, SESSION, false),
            7,
            &nowhere
        )),
        ConsentRule::Interface
    );
}

/// How a receiver is reached, and what its grant says of where it is.
type WayChange = fn(&mut Consent);

#[test]
fn frames_leave_only_by_the_way_to_the_station_that_granted() {
    let far = |consent: &mut Consent| {
        consent.reach.as_mut().expect("a route").route.has_gateway = true;
    };
    let local = |consent: &mut Consent| {
        consent.reach.as_mut().expect("a route").route.is_local = true;
    };
    let elsewhere: WayChange = |consent| {
        consent.reach.as_mut().expect("a route").route.interface = 3;
    };
    let usurped: WayChange = |consent| {
        consent.reach.as_mut().expect("a route").neighbour = Some(mac("02:00:00:00:00:09"));
    };
    let answered: WayChange = |consent| {
        consent.reach.as_mut().expect("a route").neighbour = consent.grant.mac;
    };
    let in_another_network: WayChange = |consent| {
        consent.grant.network = "10.0.0.128/25".parse().expect("a network");
    };
    // Whether packets, and whether raw frames and groups may go.
    let cases: [(WayChange, bool, bool); 7] = [
        (|consent| consent.reach = None, false, false),
        (elsewhere, false, false),
        (usurped, false, false),
        (answered, true, true),
        (far, true, false),
        (local, true, false),
        (in_another_network, true, false),
    ];
    for (number, (change, packets, frames)) in cases.into_iter().enumerate() {
        let raw = FlowTransport { kind: PortKind::Packet, ..FlowTransport::default() };
        let own = StationAddress::Mac(mac("02:00:00:00:00:02"));
        let (to_group, of_group) = to_group(PortKind::Udp, Cast::Multicast);
        let to_raw = SendRequest { transport: raw, target: own, ..request() };
        let of_raw = Grant { kind: PortKind::Packet, port: 0, ..a_grant() };
        for (request, grants, expected) in [
            (request(), vec![a_grant()], packets),
            (to_raw, vec![of_raw], frames),
            (to_group, of_group.to_vec(), frames),
        ] {
            let mut consents = reached(&signed(&grants), 2);
            consents.iter_mut().for_each(change);
            let permitted = book_with_groups("[\"multicast\"]").permit(7, &request, &consents, NOW);
            let rule = permitted.err().map(|refusal| refusal.rule);
            assert_eq!(
                rule,
                (!expected).then_some(ConsentRule::Route),
                "{number}: {}",
                request.transport
            );
        }
    }
}

#[test]
fn what_goes_to_many_goes_to_no_port_of_a_service() {
    for (port, expected) in
        [(1900, Some(ConsentRule::Port)), (49_151, Some(ConsentRule::Port)), (49_152, None)]
    {
        let transport =
            FlowTransport { kind: PortKind::Udp, cast: Cast::Broadcast, priority: None };
        let target = transport.group(7, true, port).expect("a group");
        let request = SendRequest { transport, target, ..request() };
        let mut book = book_with_groups("[\"broadcast\"]");
        let granted = grant(&mut book, 7, &request).err().map(|refusal| refusal.rule);
        assert_eq!(granted, expected, "{port}");
        let given = Grant { cast: Cast::Broadcast, port, ..a_grant() };
        let permitted = permit(&mut book, 7, &request, &signed(&[given]));
        assert_eq!(permitted.err().map(|refusal| refusal.rule), expected, "{port}");
    }
}

#[test]
fn a_grant_of_one_station_sends_nothing_to_another() {
    // The granting host is verified; the destination is checked separately.
    let request = SendRequest { target: target("10.0.0.9:5000"), ..request() };
    assert_eq!(
        rule(permit(&mut book(), 7, &request, &signed(&[a_grant()]))),
        ConsentRule::ConsentTarget
    );
    let two = [a_grant(), Grant { address: ip("10.0.0.9"), ..a_grant() }];
    assert_eq!(rule(permit(&mut book(), 7, &request, &signed(&two))), ConsentRule::ConsentTarget);
}

#[test]
fn raw_frames_and_groups_of_an_agent_without_tls_stay_on_the_loopback_interface() {
    let loopback = Ceilings { groups: vec![Cast::Multicast], interfaces: None, ..ceilings() };
    for (kind, cast) in [
        (PortKind::Packet, Cast::Unicast),
        (PortKind::Udp, Cast::Multicast),
        (PortKind::Udp, Cast::Unicast),
    ] {
        for (name, expected) in [("test0", Some(ConsentRule::PlainBeyondLoopback)), ("lo", None)] {
            let transport = FlowTransport { kind, cast, priority: None };
            let own = ip("127.0.0.1");
            let mac = mac("02:00:00:00:00:02");
            let station =
                if kind.is_raw() { StationAddress::Mac(mac) } else { target("127.0.0.1:5000") };
            let target = transport.group(7, true, 50_000).unwrap_or(station);
            let request = SendRequest {
                transport,
                sender: own,
                target,
                attachment: attachment(own, name),
                ..request()
            };
            let mut book = RuleBook::new(loopback.clone(), SESSION, true);
            let asked = GrantRequest { address: own, ..asked(&request, RATES) };
            let granted = book.grant(7, &asked, request.attachment.as_ref(), NOW_UNIX_S);
            assert_eq!(
                granted.err().map(|refusal| refusal.rule),
                expected,
                "{transport} on {name}"
            );
        }
    }
}

proptest! {
    #[test]
    fn a_permit_never_goes_beyond_the_grant_or_the_ceilings(
        duration_ns in 0..20 * S, granted_bps in 0u64..2_000_000, granted_frames in 0u64..2000, granted_ns in 0..20 * S,
        experiment in 7u64..9, last in 1u8..4, granted_last in 1u8..4,
    ) {
        let request = SendRequest {
            duration_ns, target: StationAddress::Socket(SocketAddr::from(([10, 0, 0, last], 5000))), ..request()
        };
        let given = Grant {
            address: IpAddr::from([10, 0, 0, granted_last]),
            rate_bps: granted_bps, rate_frames_per_s: granted_frames, duration_ns: granted_ns, ..a_grant()
        };
        let is_within = experiment == 7 && last == granted_last
            && (1..=1_000_000).contains(&granted_bps) && (1..=1000).contains(&granted_frames)
            && (1..=granted_ns.min(10 * S)).contains(&duration_ns);
        let permitted = permit(&mut book(), experiment, &request, &[(given, Proof::Signed)]);
        prop_assert_eq!(permitted.is_ok(), is_within);
        let rates = permitted.map(|permit| (permit.rate_bps, permit.rate_frames_per_s));
        prop_assert_eq!(rates.unwrap_or((granted_bps, granted_frames)), (granted_bps, granted_frames));
    }
}

#[test]
fn a_grant_of_frames_is_none_to_octets_in_bulk() {
    let bulk = SendRequest { longest_frame_octets: 0, ..request() };
    assert_eq!(
        rule(permit(&mut book(), 7, &bulk, &[(a_grant(), Proof::Signed)])),
        ConsentRule::ConsentLength
    );
    let given = grant(&mut book(), 7, &bulk).expect("within all ceilings");
    assert!(permit(&mut book(), 7, &bulk, &[(given, Proof::Signed)]).is_ok());
}

#[test]
fn a_grant_is_for_one_role_of_one_run() {
    let mut book = RuleBook::new(
        Ceilings { roles: 64, rate_bps: u64::MAX, rate_frames_per_s: u64::MAX, ..ceilings() },
        SESSION,
        false,
    );
    permit(&mut book, 7, &request(), &signed(&[a_grant()])).expect("the first role");
    assert_eq!(
        rule(permit(&mut book, 7, &request(), &signed(&[a_grant()]))),
        ConsentRule::ConsentSpent,
        "a second role"
    );
    book.end(7, NOW_NS);
    assert_eq!(
        rule(permit(&mut book, 7, &request(), &signed(&[a_grant()]))),
        ConsentRule::ConsentSpent,
        "a second run"
    );
    let another = Grant { number: 2, ..a_grant() };
    permit(&mut book, 7, &request(), &signed(std::slice::from_ref(&another)))
        .expect("another grant");
    let (to_group, grants) = to_group(PortKind::Udp, Cast::Multicast);
    let mut book = book_with_groups("[\"multicast\"]");
    let twice = [grants[0].clone(), grants[0].clone()];
    assert_eq!(
        rule(permit(&mut book, 7, &to_group, &signed(&twice))),
        ConsentRule::ConsentSpent,
        "twice in one role"
    );
    permit(&mut book, 7, &to_group, &signed(&grants)).expect("each once");
    // What was refused has spent nothing.
    let mut book = self::book();
    assert_eq!(
        rule(permit(&mut book, 8, &request(), &signed(&[a_grant()]))),
        ConsentRule::ConsentExperiment
    );
    permit(&mut book, 7, &request(), &signed(&[a_grant()])).expect("not spent by a refusal");
}

#[test]
fn a_spent_grant_stays_spent_when_the_wall_clock_steps_back() {
    let mut book = book();
    permit(&mut book, 7, &request(), &signed(&[a_grant()])).expect("the first");
    book.end(7, NOW_NS);
    for back_s in [0, 10, GRANT_S] {
        // Its minute is over, and the clock is set back so far that it is not.
        let moment = ClockReading {
            now_ns: NOW_NS + (GRANT_S + back_s - 1) * S,
            unix_s: NOW_UNIX_S + GRANT_S - 1,
        };
        assert_eq!(
            rule(book.permit(7, &request(), &reached(&signed(&[a_grant()]), 2), moment)),
            ConsentRule::ConsentSpent,
            "{back_s}"
        );
    }
}

#[test]
fn a_run_begins_before_the_first_of_its_grants_expires() {
    let (request, mut grants) = to_group(PortKind::Udp, Cast::Multicast);
    grants[1].until_unix_s -= 20;
    let mut book = book_with_groups("[\"multicast\"]");
    let permit = permit(&mut book, 7, &request, &signed(&grants)).expect("as granted");
    assert_eq!(permit.begin_before_ns, NOW_NS + (GRANT_S - 20) * S);
}

#[test]
fn spent_grants_that_are_remembered_are_bounded_and_none_is_forgotten() {
    let mut book = book();
    let mut moment = NOW;
    let spend = |book: &mut RuleBook, number, moment| {
        book.end(7, NOW_NS);
        let until_unix_s = NOW_UNIX_S + GRANT_S;
        let grant = Grant { number, until_unix_s, ..a_grant() };
        book.permit(7, &request(), &reached(&signed(&[grant]), 2), moment)
    };
    let most = spent::MOST_SPENT as u64;
    for number in 0..most {
        spend(&mut book, number, moment).expect("room");
    }
    assert_eq!(rule(spend(&mut book, most, moment)), ConsentRule::ConsentSpent, "no room");
    assert_eq!(
        rule(spend(&mut book, 0, moment)),
        ConsentRule::ConsentSpent,
        "the first is remembered"
    );
    moment.now_ns += 2 * GRANT_S * S;
    spend(&mut book, most, moment).expect("room again, once the others have expired");
}
