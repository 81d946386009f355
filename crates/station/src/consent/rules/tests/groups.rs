//! Attempts to break the rules of groups.

use super::*;

/// A wish of a sender to a group, and the grants of its two receivers.
pub(super) fn to_group(kind: PortKind, cast: Cast) -> (SendRequest, [Grant; 2]) {
    let transport = FlowTransport { kind, cast, priority: None };
    let request = SendRequest {
        transport,
        target: transport.group(7, true, 50_000).expect("a group"),
        ..request()
    };
    let port = if kind.is_raw() { 0 } else { 50_000 };
    let yes =
        |last| Grant { address: IpAddr::from([10, 0, 0, last]), kind, cast, port, ..a_grant() };
    (request, [yes(2), yes(3)])
}

pub(super) fn book_with_groups(words: &str) -> RuleBook {
    RuleBook::new(Ceilings { groups: groups(words), ..ceilings() }, SESSION, false)
}

pub(super) fn groups(words: &str) -> Vec<Cast> {
    Ceilings::parse(&format!("groups = {words}")).expect("a file").groups
}

pub(super) fn signed(grants: &[Grant]) -> Vec<(Grant, Proof)> {
    grants.iter().map(|grant| (grant.clone(), Proof::Signed)).collect()
}

#[test]
fn groups_are_for_operators_who_allow_them_whatever_receivers_say() {
    let all = [
        (PortKind::Udp, Cast::Multicast),
        (PortKind::Udp, Cast::Broadcast),
        (PortKind::Packet, Cast::Multicast),
    ];
    for (kind, cast) in all {
        let (request, grants) = to_group(kind, cast);
        let word = cast.word();
        let other = if cast == Cast::Multicast { "broadcast" } else { "multicast" };
        for (words, expected) in [
            ("[]".into(), Some(ConsentRule::Groups)),
            (format!("[\"{other}\"]"), Some(ConsentRule::Groups)),
            (format!("[\"{word}\"]"), None),
        ] {
            let mut book = book_with_groups(&words);
            assert_eq!(
                grant(&mut book, 7, &request).err().map(|refusal| refusal.rule),
                expected,
                "receiver, {words}"
            );
            let permitted = permit(&mut book, 7, &request, &signed(&grants));
            assert_eq!(permitted.err().map(|refusal| refusal.rule), expected, "sender, {words}");
        }
    }
}

#[test]
fn every_receiver_of_a_group_grants_this_sender_and_this_group() {
    let cases: [(ConsentRule, GrantChange); 8] = [
        (ConsentRule::ConsentExperiment, |grant| grant.experiment = 8),
        (ConsentRule::ConsentSender, |grant| grant.sender = ip("10.0.0.4")),
        (ConsentRule::ConsentTarget, |grant| grant.port = 50_001),
        (ConsentRule::ConsentTarget, |grant| grant.cast = Cast::Unicast),
        (ConsentRule::ConsentTarget, |grant| grant.cast = Cast::Broadcast),
        (ConsentRule::ConsentTarget, |grant| grant.kind = PortKind::Packet),
        (ConsentRule::ConsentExpired, |grant| grant.until_unix_s = NOW_UNIX_S),
        (ConsentRule::Address, |grant| grant.address = ip("10.0.1.3")),
    ];
    for (expected, change) in cases {
        for changed in 0..2 {
            let (request, mut grants) = to_group(PortKind::Udp, Cast::Multicast);
            change(&mut grants[changed]);
            let permitted = permit(
                &mut book_with_groups("[\"multicast\", \"broadcast\"]"),
                7,
                &request,
                &signed(&grants),
            );
            assert_eq!(rule(permitted), expected, "{:?}", grants[changed]);
        }
    }
    let (request, grants) = to_group(PortKind::Udp, Cast::Multicast);
    let mut book = book_with_groups("[\"multicast\"]");
    let half = [(grants[0].clone(), Proof::Signed), (grants[1].clone(), Proof::None)];
    assert_eq!(rule(permit(&mut book, 7, &request, &half)), ConsentRule::ConsentUnproven);
    assert_eq!(rule(permit(&mut book, 7, &request, &[])), ConsentRule::ConsentMissing);
    permit(&mut book, 7, &request, &signed(&grants)).expect("as granted");
}

#[test]
fn no_other_group_than_the_experiments_own_is_sent_to() {
    let groups = [
        "224.0.0.1:50000",
        "224.0.0.251:50000",
        "239.193.0.8:50000",
        "239.255.255.250:50000",
        "255.255.255.255:50000",
        "10.0.0.2:50000",
    ];
    let raw = [
        mac("01:80:c2:00:00:00"),
        mac("01:00:5e:00:00:01"),
        MacAddress::BROADCAST,
        mac("02:00:00:00:00:02"),
    ];
    let targets = groups.map(|text| (PortKind::Udp, target(text))).into_iter();
    for (kind, target) in targets.chain(raw.map(|mac| (PortKind::Packet, StationAddress::Mac(mac))))
    {
        let (request, grants) = to_group(kind, Cast::Multicast);
        let request = SendRequest { target, ..request };
        let mut book = book_with_groups("[\"multicast\", \"broadcast\"]");
        assert_eq!(
            rule(permit(&mut book, 7, &request, &signed(&grants))),
            ConsentRule::ConsentTarget,
            "{target}"
        );
    }
}

#[test]
fn all_roles_that_send_to_a_group_are_granted_by_the_same_receivers() {
    for (kind, cast) in [(PortKind::Udp, Cast::Multicast), (PortKind::Packet, Cast::Broadcast)] {
        let (request, grants) = to_group(kind, cast);
        let [one, other] =
            grants.map(|grant| Grant { rate_bps: 1000, rate_frames_per_s: 1, ..grant });
        let again = |grant: &Grant| Grant { number: grant.number + 1, ..grant.clone() };
        let mut book = book_with_groups("[\"multicast\", \"broadcast\"]");
        permit(&mut book, 7, &request, &signed(std::slice::from_ref(&one)))
            .expect("a group of one receiver");
        for grants in [vec![other.clone()], vec![again(&one), other.clone()]] {
            assert_eq!(
                rule(permit(&mut book, 7, &request, &signed(&grants))),
                ConsentRule::ConsentMissing,
                "{grants:?}"
            );
        }
        permit(&mut book, 7, &request, &signed(&[again(&one)]))
            .expect("another grant of the same receiver");
    }
}

#[test]
fn a_group_is_sent_to_as_fast_as_the_least_of_its_grants_allows() {
    let (request, mut grants) = to_group(PortKind::Udp, Cast::Multicast);
    grants[0].rate_bps -= 1;
    grants[1].rate_frames_per_s -= 2;
    let mut book = book_with_groups("[\"multicast\"]");
    let permit = permit(&mut book, 7, &request, &signed(&grants)).expect("as granted");
    assert_eq!((permit.rate_bps, permit.rate_frames_per_s), (999_999, 998));
}
