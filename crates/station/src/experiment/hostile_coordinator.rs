//! A model of a hostile coordinator, which asks whatever it likes, in any order and as often as it
//! likes, of honest agents: two that receive and two that may send, to one of these or to their group.
//!
//! It keeps and repeats what it was given, and changes all of it that is not signed. Its only limit
//! is the cryptography: it cannot sign, and cannot guess a number that an agent draws. Whatever it
//! does, no frame leaves a sender that is not within each of the grants by which it is sent. Answers to
//! a group are sent like anything else: the senders stand for those who answer, too.

use super::made_time::MadeTime;
use super::noting_port::{Departure, Draws, NotingPort};
use super::policed_port::{PolicedPort, SendConditions, SendProgress};
use crate::consent::{
    Cast, Ceilings, ClockReading, Consent, FlowAttachment, FlowTransport, Grant, GrantId,
    GrantRequest, InterfaceIdentity, IpNetwork, IssuedGrants, LEASE_NS, Lease, LeaseRenewal,
    Permit, Policer, Proof, Reachability, ReceiverLeases, RenewalChallenge, RequestStamp,
    RoleLease, RuleBook, SendRequest, longest_payload,
};
use ethermeter_net::Timeline;
use ethermeter_net::port::{NetworkPort, StationAddress};
use ethermeter_net::route::PacketRoute;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;
const SENDERS: [IpAddr; 2] = [address(1), address(3)];
const RECEIVERS: [IpAddr; 2] = [address(2), address(4)];
/// A port that groups may have.
const PORT: u16 = 50_000;
const INTERFACE: u32 = 2;
/// Roles of one schedule, at most.
const MOST_ROLES: usize = 4;
const STEPS: usize = 16;
/// A receiver's end may be so much before that of its leases, as `renewal` says.
const GRACE_NS: u64 = 100 * MS;
/// A flow may be ahead of its rate by what this time carries, as `token_bucket` says.
const BURST_NS: u64 = 2 * MS;

/// What a coordinator may do next.
#[derive(Clone, Copy)]
enum Step {
    PassTime,
    Grant,
    Permit,
    Start,
    CoordinatorLease,
    Challenge,
    Answer,
    Renewal,
    /// A challenge, its answer and the renewal, as an honest coordinator carries them.
    Round,
    End,
}

/// Any step, as often as it stands here.
const ANY: [Step; 18] = [
    Step::PassTime,
    Step::PassTime,
    Step::Grant,
    Step::Grant,
    Step::Permit,
    Step::Permit,
    Step::Permit,
    Step::Start,
    Step::Start,
    Step::CoordinatorLease,
    Step::Challenge,
    Step::Challenge,
    Step::Answer,
    Step::Renewal,
    Step::Round,
    Step::Round,
    Step::Round,
    Step::End,
];
/// The order in which frames are sent at all: most schedules begin with most of it.
const USUAL: [Step; 8] = [
    Step::Grant,
    Step::Grant,
    Step::Permit,
    Step::CoordinatorLease,
    Step::Round,
    Step::Start,
    Step::PassTime,
    Step::Round,
];

const fn address(host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, host))
}

/// A role of a sender: what it was permitted, and what left its port.
struct Role {
    sender: usize,
    grants: Vec<Grant>,
    begin_ns: u64,
    has_begun: bool,
    permit: Option<Permit>,
}

/// A receiver's agent, whose process ends and begins anew now and then.
struct Receiver {
    address: IpAddr,
    session: u64,
    book: RuleBook,
    issued: IssuedGrants,
    /// Ports by the numbers of their grants, until they are closed.
    ports: BTreeMap<u64, Arc<()>>,
    end_ns: Option<u64>,
}

/// Until when frames may leave by a grant: its receiver consented to it, with its port open and its
/// experiment not over, up to a lease before.
type Consented = BTreeMap<GrantId, u64>;

/// A sender's agent.
struct Sender {
    book: RuleBook,
    lease: Arc<Lease>,
    renewed_ns: u64,
    leases: ReceiverLeases,
    counter: u64,
}

fn ceilings() -> Ceilings {
    Ceilings {
        rate_bps: 1_000_000_000,
        rate_frames_per_s: 200_000,
        duration_s: 60,
        groups: vec![Cast::Multicast],
        tests_at_once: 2,
        roles: 8,
        addresses: vec![IpNetwork::of(address(0), 24)],
        ..Ceilings::default()
    }
}

fn attachment(own: IpAddr) -> FlowAttachment {
    let interface =
        InterfaceIdentity { name: "test0".into(), index: INTERFACE, mac: None, is_loopback: false };
    FlowAttachment { address: own, network: IpNetwork::of(own, 24), interface }
}

impl Receiver {
    fn new(address: IpAddr, session: u64) -> Self {
        Self {
            address,
            session,
            book: RuleBook::new(ceilings(), session, false),
            issued: IssuedGrants::default(),
            ports: BTreeMap::new(),
            end_ns: None,
        }
    }

    /// Until when its leases hold that are made now.
    fn consents_until(&self, now_ns: u64) -> u64 {
        match self.end_ns {
            Some(end_ns) if now_ns >= end_ns + GRACE_NS => 0,
            end_ns => (now_ns + LEASE_NS).min(end_ns.map_or(u64::MAX, |end_ns| end_ns + GRACE_NS)),
        }
    }

    /// Answer a challenge.
    fn answer(&mut self, challenge: RenewalChallenge, now_ns: u64) -> LeaseRenewal {
        self.issued.look(|_| true);
        let answers = self.issued.renew(&[challenge], self.end_ns, now_ns);
        LeaseRenewal { session: self.session, answers }
    }
}

fn begun_lease() -> Arc<Lease> {
    let lease = Lease::unbegun();
    lease.begin(0);
    Arc::new(lease)
}

impl Sender {
    fn new(number: u64) -> Self {
        Self {
            book: RuleBook::new(ceilings(), 0x5E4D_0000 + number, false),
            lease: begun_lease(),
            renewed_ns: 0,
            leases: ReceiverLeases::new(0x1234_0000 + number),
            counter: 0,
        }
    }
}

/// What the coordinator has been given so far.
#[derive(Default)]
struct Kept {
    grants: Vec<Grant>,
    challenges: Vec<RenewalChallenge>,
    renewals: Vec<LeaseRenewal>,
}

/// A grant that the coordinator thinks up.
fn grant_request(draws: &mut Draws, sender: IpAddr, address: IpAddr) -> GrantRequest {
    let cast = draws.one_of(&[Cast::Unicast, Cast::Multicast]);
    GrantRequest {
        flow: "f".into(),
        transport: FlowTransport { cast, ..FlowTransport::default() },
        sender,
        address,
        interface: None,
        port: PORT,
        rate_bps: draws.one_of(&[1_000_000, 50_000_000, 400_000_000]),
        rate_frames_per_s: draws.one_of(&[100, 10_000, 100_000]),
        longest_frame_octets: draws.one_of(&[64, 512, 1518]),
        room_frame_octets: 0,
        duration_ns: draws.one_of(&[100 * MS, S, 30 * S]),
    }
}

/// What the coordinator thinks up for a sender to send; the agent adds where it is itself.
fn request(draws: &mut Draws, own: IpAddr, grant: &Grant) -> SendRequest {
    let other = StationAddress::Socket(SocketAddr::new(address(9), PORT));
    let is_other = draws.below(10) == 0;
    let cast = if draws.below(10) == 0 { Cast::Multicast } else { grant.cast };
    SendRequest {
        transport: FlowTransport { cast, ..FlowTransport::default() },
        sender: own,
        target: grant.target().filter(|_| !is_other).unwrap_or(other),
        longest_frame_octets: draws.one_of(&[64, 512, 1518]),
        duration_ns: draws.one_of(&[100 * MS, S, 30 * S]),
        attachment: Some(attachment(own)),
        interface: None,
    }
}

/// The grants that a coordinator shows for the one that it was given: as it is, or with something
/// in it that suits it better, which the signature then does not cover.
fn shown(draws: &mut Draws, grant: &Grant, sender: IpAddr, session: u64) -> (Grant, Proof) {
    let mut changed = grant.clone();
    match draws.below(12) {
        0 => changed.sender = sender,
        1 => changed.rate_bps = u64::MAX,
        2 => changed.until_unix_s += 1000,
        3 => changed.number += 1,
        4 => changed.session = session,
        5 => changed.duration_ns = u64::MAX,
        _ => {}
    }
    let proof = if changed == *grant { Proof::Signed } else { Proof::None };
    (changed, proof)
}

/// One schedule; how many frames have left, and how many roles have sent to a group by two grants.
#[expect(clippy::too_many_lines, reason = "one arm a kind of step")]
fn run(seed: u64) -> (u64, u64) {
    let mut draws = Draws(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let time = MadeTime::default();
    let unix_s = |now_ns: u64| 1_700_000_000 + now_ns / S;
    let progress = SendProgress::default();
    let leases: [OnceCell<RoleLease>; MOST_ROLES] = Default::default();
    let noted: [RefCell<Vec<Departure>>; MOST_ROLES] = Default::default();
    // Processes have numbers of their own.
    let mut receivers = [0, 1].map(|at| Receiver::new(RECEIVERS[at], 0x5E54 + at as u64));
    let mut senders = [Sender::new(0), Sender::new(1)];
    let mut kept = Kept::default();
    let mut consented = Consented::new();
    let mut roles: Vec<Role> = Vec::new();
    let mut ports: Vec<Option<PolicedPort<'_, NotingPort<'_>, MadeTime>>> = Vec::new();
    let mut nonces = Draws(draws.next() | 1);
    // Of each departure, when the coordinator had last renewed its lease.
    let mut renewed_before: Vec<Vec<u64>> = Vec::new();

    for step in 0..STEPS {
        let now_ns = time.now_ns();
        for receiver in &receivers {
            for &number in receiver.ports.keys() {
                let (session, receiver_at) = (receiver.session, receiver.address);
                let id = GrantId { receiver: receiver_at, session, number };
                let until_ns = consented.entry(id).or_default();
                *until_ns = receiver.consents_until(now_ns).max(*until_ns);
            }
        }
        let to = draws.below(RECEIVERS.len());
        let who = usize::from(draws.below(8) == 0);
        let usual = USUAL.get(step).filter(|_| draws.below(6) > 0);
        match usual.copied().unwrap_or_else(|| draws.one_of(&ANY)) {
            Step::PassTime => {
                let step_ns =
                    draws.one_of(&[1000, MS, 20 * MS, 150 * MS, 300 * MS, 600 * MS, 61 * S]);
                time.sleep_until(now_ns + step_ns);
            }
            Step::Grant => {
                let receiver = &mut receivers[to];
                let asked = grant_request(&mut draws, SENDERS[who], receiver.address);
                let at = attachment(receiver.address);
                let granted = receiver.book.grant(7, &asked, Some(&at), unix_s(now_ns));
                if let Ok(grant) = granted {
                    let port = Arc::new(());
                    receiver.issued.add(grant.number, &port, at, now_ns);
                    receiver.ports.insert(grant.number, port);
                    consented.insert(grant.id(), receiver.consents_until(now_ns));
                    kept.grants.push(grant);
                }
            }
            Step::Permit if roles.len() == MOST_ROLES => {}
            Step::Permit => {
                let Some(of) = draws.any(&kept.grants).cloned() else { continue };
                let mut asked = request(&mut draws, SENDERS[who], &of);
                if draws.below(4) > 0 {
                    asked.duration_ns = asked.duration_ns.min(of.duration_ns);
                    asked.longest_frame_octets =
                        asked.longest_frame_octets.min(of.longest_frame_octets);
                }
                // Of a group, another receiver's grant, too, or any that there is.
                let another = draws.any(&kept.grants).filter(|_| of.cast != Cast::Unicast).cloned();
                let route =
                    PacketRoute { interface: INTERFACE, is_local: false, has_gateway: false };
                let reach = Some(Reachability { route, neighbour: None });
                let mut consents = Vec::new();
                for grant in [Some(of), another].into_iter().flatten() {
                    let session = receivers[to].session;
                    let (grant, proof) = shown(&mut draws, &grant, SENDERS[who], session);
                    consents.push(Consent { grant, proof, reach });
                }
                let moment = ClockReading { now_ns, unix_s: unix_s(now_ns) };
                let sender = &mut senders[who];
                let Ok(permit) = sender.book.permit(7, &asked, &consents, moment) else {
                    continue;
                };
                let grants: Vec<Grant> =
                    consents.into_iter().map(|consent| consent.grant).collect();
                // A certificate is of one address, and of its process.
                let lease_of = |grant: &Grant| {
                    let certificate = grant.address.to_string();
                    sender.leases.lease(grant.session, grant.number, certificate.as_bytes())
                };
                let Some(held) = grants.iter().map(lease_of).collect::<Option<Vec<_>>>() else {
                    continue;
                };
                let lease = RoleLease::new(Arc::clone(&sender.lease), held);
                assert!(leases[roles.len()].set(lease).is_ok(), "a role has one lease");
                roles.push(Role {
                    sender: who,
                    grants,
                    begin_ns: 0,
                    has_begun: false,
                    permit: Some(permit),
                });
                ports.push(None);
                renewed_before.push(Vec::new());
            }
            Step::Start => {
                // A start, of which the beginning is now or soon.
                let begin_ns = now_ns + draws.one_of(&[0, 10 * MS, S]);
                let Some(at) = (!roles.is_empty()).then(|| draws.below(roles.len())) else {
                    continue;
                };
                let role = &mut roles[at];
                let has_leases = senders[role.sender].leases.hold_at(now_ns);
                let is_early = |permit: &Permit| begin_ns < permit.begin_before_ns;
                let Some(permit) = role.permit.take_if(|permit| has_leases && is_early(permit))
                else {
                    continue;
                };
                (role.begin_ns, role.has_begun) = (begin_ns, true);
                let port = NotingPort { time: &time, target: None, noted: &noted[at] };
                let longest = longest_payload(port.carrier(), &permit).min(port.longest_payload());
                let policer = Policer::new(permit, port.carrier(), longest, None, begin_ns);
                let lease = leases[at].get().expect("a role has a lease");
                let conditions = SendConditions { lease, time: &time, progress: &progress };
                ports[at] =
                    Some(PolicedPort::new(port, Some(policer), conditions).expect("it is aimed"));
            }
            Step::CoordinatorLease => {
                let sender = &mut senders[who];
                sender.counter += draws.one_of(&[0, 1, 1, 1]);
                let stamp = RequestStamp {
                    session: 0x5E4D_0000 + who as u64,
                    experiment: 7,
                    counter: sender.counter,
                    made_ns: now_ns.saturating_sub(draws.one_of(&[0, MS, 10 * S])),
                };
                if sender.book.admit_beginning(&stamp, "coordinator", now_ns).is_ok() {
                    sender.lease.renew(now_ns);
                    sender.renewed_ns = now_ns;
                }
            }
            Step::Challenge => {
                let made = senders[who].leases.challenges(now_ns, || nonces.next());
                kept.challenges.extend(made);
            }
            Step::Answer => {
                let Some(challenge) = draws.any(&kept.challenges).cloned() else { continue };
                let mut challenge = challenge;
                match draws.below(8) {
                    0 => challenge.run += 1,
                    1 => challenge.grants = (1..8).collect(),
                    _ => {}
                }
                kept.renewals.push(receivers[to].answer(challenge, now_ns));
            }
            Step::Renewal => {
                let Some(renewal) = draws.any(&kept.renewals) else { continue };
                senders[who].leases.renew(renewal);
            }
            Step::Round => {
                let leases = &mut senders[who].leases;
                for challenge in leases.challenges(now_ns, || nonces.next()) {
                    for receiver in &mut receivers {
                        let renewal = receiver.answer(challenge.clone(), now_ns);
                        leases.renew(&renewal);
                        kept.renewals.push(renewal);
                    }
                }
            }
            Step::End => match draws.below(6) {
                0 => {
                    receivers[to].ports.pop_first();
                }
                1 => {
                    let end_ns = &mut receivers[to].end_ns;
                    *end_ns = end_ns.or(Some(now_ns + 500 * MS));
                }
                2 => receivers[to] = Receiver::new(RECEIVERS[to], receivers[to].session + 2),
                3 => senders[who].lease.stop(),
                _ => {}
            },
        }
        // Many coordinators keep their leases, so that others lapse first.
        if !seed.is_multiple_of(4) {
            for sender in &mut senders {
                sender.lease.renew(time.now_ns());
                sender.renewed_ns = time.now_ns();
            }
        }
        // All roles send as much as they can, at any time.
        for (at, port) in ports.iter_mut().enumerate() {
            let Some(port) = port else { continue };
            let before = noted[at].borrow().len();
            while port.send(64, |_, room| room.len()).expect("a port") > 0 {}
            let count = noted[at].borrow().len() - before;
            let renewed_ns = senders[roles[at].sender].renewed_ns;
            renewed_before[at].extend(std::iter::repeat_n(renewed_ns, count));
        }
    }
    drop(ports);
    let (mut frames, mut groups) = (0, 0);
    let mut used = BTreeMap::new();
    for (at, role) in roles.iter().enumerate() {
        let departures = noted[at].borrow();
        for grant in &role.grants {
            check(seed, (role, grant), &departures, &renewed_before[at], &consented);
            let earlier = used.insert(grant.id(), at);
            let is_own = earlier.is_none_or(|earlier| earlier == at);
            assert!(is_own, "{seed}: roles {earlier:?} and {at} by one grant");
        }
        let is_of_two = role.grants.last().map(Grant::id) != role.grants.first().map(Grant::id);
        groups += u64::from(is_of_two && !departures.is_empty());
        frames += departures.iter().map(|departure| departure.frames).sum::<u64>();
    }
    (frames, groups)
}

/// Whether all that left was within a grant.
fn check(
    seed: u64,
    (role, grant): (&Role, &Grant),
    departures: &[Departure],
    renewed_before: &[u64],
    consented: &Consented,
) {
    let Role { begin_ns, .. } = role;
    let lead = format!("schedule {seed}");
    let Some(&until_ns) = consented.get(&grant.id()) else {
        assert!(departures.is_empty(), "{lead}: a grant that nobody gave");
        return;
    };
    assert_eq!(SENDERS[role.sender], grant.sender, "{lead}: another sender");
    let within = |count: u64, per_s: u64, time_ns: u64| {
        u128::from(count) * u128::from(S) <= u128::from(per_s) * u128::from(time_ns)
    };
    let (mut frames, mut bits) = (0, 0);
    for (departure, renewed_ns) in departures.iter().zip(renewed_before) {
        let Departure { at_ns, target, .. } = *departure;
        assert_eq!(Some(target), grant.target(), "{lead}: another target");
        assert!(departure.octets <= grant.longest_frame_octets.into(), "{lead}: a longer frame");
        assert!(*begin_ns <= at_ns, "{lead}: before its beginning");
        assert!(at_ns - begin_ns < grant.duration_ns, "{lead}: longer than granted");
        assert!(at_ns < until_ns, "{lead}: its receiver is gone");
        assert!(at_ns < renewed_ns + LEASE_NS, "{lead}: its coordinator is gone");
        frames += departure.frames;
        bits += 8 * departure.octets * departure.frames;
        let time_ns = at_ns - begin_ns;
        assert!(within(frames, grant.rate_frames_per_s, time_ns), "{lead}: more frames");
        assert!(within(bits, grant.rate_bps, time_ns), "{lead}: more bits");
    }
    // Over any other time there may be a burst more, of 2 ms or of one frame.
    for (first, departure) in departures.iter().enumerate() {
        let mut frames = 0;
        for later in &departures[first..] {
            frames += later.frames;
            let time_ns = later.at_ns - departure.at_ns + BURST_NS;
            let is_within = within(frames.saturating_sub(1), grant.rate_frames_per_s, time_ns);
            assert!(is_within, "{lead}: more frames at once");
        }
    }
    let expires_ns = (grant.until_unix_s + 1 - 1_700_000_000) * S;
    assert!(!role.has_begun || *begin_ns < expires_ns, "{lead}: after the grant has expired");
}

#[test]
fn no_schedule_of_a_hostile_coordinator_sends_more_than_was_granted() {
    let schedules = if std::env::var_os("LONG").is_some() { 10_000_000 } else { 300_000 };
    let (frames, groups) =
        (0..schedules).map(run).fold((0, 0), |sum: (u64, u64), one| (sum.0 + one.0, sum.1 + one.1));
    println!("{schedules} schedules, {frames} frames, {groups} roles to groups of two");
    // A model in which nothing is sent would show nothing.
    assert!(frames > schedules / 10, "{frames} frames of {schedules} schedules");
    assert!(groups > schedules / 1000, "{groups} roles to groups of {schedules} schedules");
}
