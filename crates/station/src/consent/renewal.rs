//! Receiver leases: a receiver renews its grants for as long as it is there to receive.
//!
//! ```text
//! sender ── challenge: run, nonce, grants ──► coordinator ──► receiver
//!        ◄───────────────────────────────── coordinator ◄── renewal of the grants whose ports are open, signed
//! ```
//!
//! The coordinator only carries both. It cannot make a renewal (the receiver's key signs it), keep
//! one for later (the nonce is drawn by the sender, and the lease counts from then), or use a grant
//! twice (the receiver binds a grant to the first run that asks, and a run is drawn by the sender's
//! process). No clocks are compared.

use super::grant::{FlowAttachment, GRANT_S};
use super::lease::{LEASE_NS, RENEWAL_NS, ReceiverLease};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};

/// A sender's question to a receiver's process: are these grants still in force?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenewalChallenge {
    /// The receiver's process.
    pub session: u64,
    /// The sender's run, drawn by its process for one experiment.
    pub run: u64,
    /// Drawn by the sender's process for this question.
    pub nonce: u64,
    /// Numbers of grants.
    pub grants: Vec<u64>,
}

/// A receiver's answer to challenges: exactly this is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseRenewal {
    /// The receiver's process.
    pub session: u64,
    /// One for each challenge.
    pub answers: Vec<ChallengeAnswer>,
}

/// The answer to one challenge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChallengeAnswer {
    /// The sender's run.
    pub run: u64,
    /// The challenge's nonce.
    pub nonce: u64,
    /// How long the lease holds, from when the challenge was made.
    pub valid_ns: u64,
    /// Grants in force, bound to this run.
    pub grants: Vec<u64>,
}

/// Challenges in one call, grants in one challenge, and renewals in one call, at most.
pub const MOST_CHALLENGES: usize = 1024;
/// A challenge is older when it is answered than the answer can know. So leases may end this much
/// after the receiver's own end, and none ends before it.
const GRACE_NS: u64 = 100_000_000;
/// A new nonce is drawn when the last is this old, so that few are open however often is asked.
const NONCE_NS: u64 = RENEWAL_NS / 4;
const GRANT_NS: u64 = GRANT_S * 1_000_000_000;

/// Grants that one experiment of a receiver has given.
#[derive(Debug, Default)]
pub struct IssuedGrants {
    grants: BTreeMap<u64, IssuedGrant>,
    renewed_until_ns: u64,
}

#[derive(Debug)]
struct IssuedGrant {
    since_ns: u64,
    run: Option<u64>,
    /// Gone when the port is closed.
    port: Weak<()>,
    /// Where the granted address is.
    attachment: FlowAttachment,
    has_moved: bool,
}

impl IssuedGrants {
    /// Note a grant, which is in force while `port` is kept and its address is at `attachment`.
    pub fn add(&mut self, number: u64, port: &Arc<()>, attachment: FlowAttachment, now_ns: u64) {
        let port = Arc::downgrade(port);
        let grant = IssuedGrant { since_ns: now_ns, run: None, port, attachment, has_moved: false };
        self.grants.insert(number, grant);
    }

    /// Where granted addresses were, each attachment once.
    #[must_use]
    pub fn attachments(&self) -> Vec<FlowAttachment> {
        let mut attachments: Vec<FlowAttachment> = Vec::new();
        for IssuedGrant { attachment, .. } in self.grants.values() {
            if !attachments.contains(attachment) {
                attachments.push(attachment.clone());
            }
        }
        attachments
    }

    /// See whether places are still there; what was granted for one that is not stays without
    /// force.
    pub fn look(&mut self, is_there: impl Fn(&FlowAttachment) -> bool) {
        for grant in self.grants.values_mut() {
            grant.has_moved = grant.has_moved || !is_there(&grant.attachment);
        }
    }

    /// Answer challenges, at `now_ns`, of an experiment that ends at `end_ns` if it has been
    /// started. A grant is bound to the first run that asks for it; it is renewed for no other run,
    /// nor when its port has been closed or its address has moved, nor when the experiment has not
    /// been started within the grant's lifetime.
    pub fn renew(
        &mut self,
        challenges: &[RenewalChallenge],
        end_ns: Option<u64>,
        now_ns: u64,
    ) -> Vec<ChallengeAnswer> {
        let answers: Vec<ChallengeAnswer> =
            challenges.iter().map(|challenge| self.answer(challenge, end_ns, now_ns)).collect();
        let longest_ns = answers
            .iter()
            .filter(|answer| !answer.grants.is_empty())
            .map(|answer| answer.valid_ns)
            .max();
        // A challenge was made before it is answered, so no lease holds longer than this.
        self.renewed_until_ns =
            self.renewed_until_ns.max(longest_ns.map_or(0, |longest_ns| now_ns + longest_ns));
        answers
    }

    fn answer(
        &mut self,
        challenge: &RenewalChallenge,
        end_ns: Option<u64>,
        now_ns: u64,
    ) -> ChallengeAnswer {
        let &RenewalChallenge { run, nonce, .. } = challenge;
        let mut answer = ChallengeAnswer { run, nonce, valid_ns: LEASE_NS, grants: Vec::new() };
        for &number in &challenge.grants {
            let Some(grant) = self.grants.get_mut(&number) else { continue };
            let end_ns =
                end_ns.map_or(grant.since_ns + GRANT_NS, |end_ns| end_ns.saturating_add(GRACE_NS));
            let is_open = grant.port.strong_count() > 0 && !grant.has_moved;
            if is_open && now_ns < end_ns && *grant.run.get_or_insert(run) == run {
                answer.valid_ns = answer.valid_ns.min(end_ns - now_ns);
                answer.grants.push(number);
            }
        }
        answer
    }

    /// When the last lease that has been given ends; 0 if there was none.
    #[must_use]
    pub fn renewed_until_ns(&self) -> u64 {
        self.renewed_until_ns
    }
}

/// Receiver leases that one run of a sender depends on.
#[derive(Debug)]
pub struct ReceiverLeases {
    run: u64,
    /// Nonces and when they were drawn; older ones than a lease are dropped.
    nonces: VecDeque<(u64, u64)>,
    receivers: BTreeMap<u64, LeaseHolder>,
}

#[derive(Debug, Default)]
struct LeaseHolder {
    certificate: Vec<u8>,
    leases: BTreeMap<u64, Arc<ReceiverLease>>,
}

impl ReceiverLeases {
    /// Without renewals. `run` must not be guessable by others.
    #[must_use]
    pub fn new(run: u64) -> Self {
        Self { run, nonces: VecDeque::new(), receivers: BTreeMap::new() }
    }

    /// The lease of a grant of the process `session`, which has signed it with `certificate`;
    /// `None` if another grant of this process arrived with another certificate.
    pub fn lease(
        &mut self,
        session: u64,
        number: u64,
        certificate: &[u8],
    ) -> Option<Arc<ReceiverLease>> {
        let receiver = self.receivers.entry(session).or_default();
        if receiver.leases.is_empty() {
            certificate.clone_into(&mut receiver.certificate);
        }
        (receiver.certificate == certificate)
            .then(|| Arc::clone(receiver.leases.entry(number).or_default()))
    }

    /// The certificate with which the process `session` must sign; `None` if no grant of it is
    /// used.
    #[must_use]
    pub fn certificate(&self, session: u64) -> Option<&[u8]> {
        self.receivers.get(&session).map(|receiver| receiver.certificate.as_slice())
    }

    /// Challenges to the receivers; `draw` draws unguessable numbers.
    pub fn challenges(&mut self, now_ns: u64, draw: impl FnOnce() -> u64) -> Vec<RenewalChallenge> {
        self.nonces.retain(|(_, made_ns)| now_ns < made_ns + LEASE_NS);
        let is_due = self.nonces.back().is_none_or(|(_, made_ns)| now_ns >= made_ns + NONCE_NS);
        if is_due && !self.receivers.is_empty() {
            self.nonces.push_back((draw(), now_ns));
        }
        let Some(&(nonce, _)) = self.nonces.back() else { return Vec::new() };
        let challenge = |(&session, receiver): (&u64, &LeaseHolder)| RenewalChallenge {
            session,
            run: self.run,
            nonce,
            grants: receiver.leases.keys().copied().collect(),
        };
        self.receivers.iter().map(challenge).collect()
    }

    /// Take a renewal, which is proven to be of the process that it names. Responses to other runs,
    /// and to challenges that are not open, change nothing.
    pub fn renew(&self, renewal: &LeaseRenewal) {
        let Some(receiver) = self.receivers.get(&renewal.session) else { return };
        for answer in renewal.answers.iter().filter(|answer| answer.run == self.run) {
            let Some((_, made_ns)) = self.nonces.iter().find(|(nonce, _)| *nonce == answer.nonce)
            else {
                continue;
            };
            for lease in answer.grants.iter().filter_map(|number| receiver.leases.get(number)) {
                lease.renew_until(made_ns.saturating_add(answer.valid_ns.min(LEASE_NS)));
            }
        }
    }

    /// Whether all leases hold at `now_ns`.
    #[must_use]
    pub fn hold_at(&self, now_ns: u64) -> bool {
        self.receivers
            .values()
            .flat_map(|receiver| receiver.leases.values())
            .all(|lease| lease.holds_at(now_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::{InterfaceIdentity, IpNetwork};
    use ethermeter_net::wire::MacAddress;
    use std::net::IpAddr;

    const MS: u64 = 1_000_000;
    const SESSION: u64 = 0x5E55;

    /// An attachment to the interface with this index.
    fn attachment(index: u32) -> FlowAttachment {
        let address: IpAddr = [10, 0, 0, 2].into();
        let interface = InterfaceIdentity {
            name: "test0".into(),
            index,
            mac: Some(MacAddress([2; 6])),
            is_loopback: false,
        };
        FlowAttachment { address, network: IpNetwork::of(address, 24), interface }
    }

    /// A receiver with grants 1 and 2, and what keeps their ports open.
    fn issued() -> (IssuedGrants, [Arc<()>; 2]) {
        let ports = [Arc::new(()), Arc::new(())];
        let mut issued = IssuedGrants::default();
        issued.add(1, &ports[0], attachment(1), 0);
        issued.add(2, &ports[1], attachment(2), 0);
        (issued, ports)
    }

    /// A run that uses grants 1 and 2, and their leases.
    fn receiver_leases(run: u64) -> (ReceiverLeases, [Arc<ReceiverLease>; 2]) {
        let mut receiver_leases = ReceiverLeases::new(run);
        let leases = [1, 2].map(|number| {
            receiver_leases.lease(SESSION, number, b"certificate").expect("one certificate")
        });
        (receiver_leases, leases)
    }

    fn renewal(answers: Vec<ChallengeAnswer>) -> LeaseRenewal {
        LeaseRenewal { session: SESSION, answers }
    }

    #[test]
    fn a_lease_holds_from_the_challenge_on_and_not_from_its_answer() {
        let ((mut issued, _ports), (mut receiver_leases, leases)) = (issued(), receiver_leases(7));
        assert!(!receiver_leases.hold_at(0), "nothing holds before the first renewal");
        let challenges = receiver_leases.challenges(100 * MS, || 42);
        let answers = issued.renew(&challenges, Some(10_000 * MS), 500 * MS);
        receiver_leases.renew(&renewal(answers));
        assert!(receiver_leases.hold_at(100 * MS + LEASE_NS - 1) && leases[0].holds_at(600 * MS));
        assert!(!receiver_leases.hold_at(100 * MS + LEASE_NS));
    }

    #[test]
    fn a_renewal_counts_for_its_run_its_challenge_and_its_process_only() {
        let (mut issued, _ports) = issued();
        let answered = issued.renew(
            &[RenewalChallenge { session: SESSION, run: 7, nonce: 42, grants: vec![1, 2] }],
            None,
            0,
        );
        let cases = [
            ("another run", 8, 42, SESSION),
            ("another nonce", 7, 43, SESSION),
            ("another process", 7, 42, SESSION + 1),
        ];
        for (what, run, nonce, session) in cases {
            let (mut receiver_leases, _leases) = receiver_leases(run);
            receiver_leases.challenges(0, || nonce);
            receiver_leases.renew(&LeaseRenewal { session, answers: answered.clone() });
            assert!(!receiver_leases.hold_at(1), "{what}");
        }
        let (mut receiver_leases, _leases) = receiver_leases(7);
        receiver_leases.challenges(0, || 42);
        receiver_leases.renew(&renewal(answered.clone()));
        assert!(receiver_leases.hold_at(1));
        // Once the challenge is as old as a lease, it is forgotten: an answer that was kept back
        // renews nothing.
        receiver_leases.challenges(LEASE_NS, || 44);
        receiver_leases.renew(&renewal(answered));
        assert!(!receiver_leases.hold_at(LEASE_NS));
    }

    #[test]
    fn an_answer_that_promises_more_than_a_lease_is_cut() {
        let (mut receiver_leases, leases) = receiver_leases(7);
        receiver_leases.challenges(0, || 42);
        receiver_leases.renew(&renewal(vec![ChallengeAnswer {
            run: 7,
            nonce: 42,
            valid_ns: u64::MAX,
            grants: vec![1],
        }]));
        assert!(leases[0].holds_at(LEASE_NS - 1) && !leases[0].holds_at(LEASE_NS));
        assert!(!leases[1].holds_at(0), "a grant that is not in the answer");
    }

    #[test]
    fn a_grant_is_bound_to_the_first_run_that_asks_for_it() {
        let (mut issued, _ports) = issued();
        let challenge =
            |run, grants| RenewalChallenge { session: SESSION, run, nonce: run, grants };
        let answers = issued.renew(&[challenge(7, vec![1]), challenge(8, vec![1, 2])], None, 0);
        assert_eq!((&answers[0].grants, &answers[1].grants), (&vec![1], &vec![2]));
        let later =
            issued.renew(&[challenge(8, vec![1, 2]), challenge(7, vec![1, 2, 3])], None, 1000 * MS);
        assert_eq!((&later[0].grants, &later[1].grants), (&vec![2], &vec![1]));
    }

    #[test]
    fn nothing_is_renewed_when_the_port_is_closed_or_the_time_is_over() {
        let challenges =
            [RenewalChallenge { session: SESSION, run: 7, nonce: 1, grants: vec![1, 2] }];
        let (mut issued, [first, second]) = issued();
        drop(first);
        assert_eq!(issued.renew(&challenges, None, 0)[0].grants, [2], "a closed port");
        let end_ns = 5000 * MS;
        let last = &issued.renew(&challenges, Some(end_ns), end_ns - 50 * MS)[0];
        assert_eq!(
            (last.grants.as_slice(), last.valid_ns),
            (&[2][..], 150 * MS),
            "no longer than the receiver's own end"
        );
        assert_eq!(issued.renewed_until_ns(), end_ns + 100 * MS);
        assert!(
            issued.renew(&challenges, Some(end_ns), end_ns + 100 * MS)[0].grants.is_empty(),
            "after its end"
        );
        assert_eq!(
            issued.renew(&challenges, None, GRANT_NS - 1)[0].valid_ns,
            1,
            "not started, and its minute is nearly over"
        );
        assert!(
            issued.renew(&challenges, None, GRANT_NS)[0].grants.is_empty(),
            "not started within the minute"
        );
        drop(second);
    }

    #[test]
    fn nothing_is_renewed_for_an_address_that_has_moved_even_if_it_comes_back() {
        let challenges =
            [RenewalChallenge { session: SESSION, run: 7, nonce: 1, grants: vec![1, 2] }];
        let (mut issued, _ports) = issued();
        issued.look(|_| true);
        assert_eq!(issued.renew(&challenges, None, 0)[0].grants, [1, 2]);
        issued.look(|attachment| attachment.interface.index != 1);
        assert_eq!(issued.renew(&challenges, None, 0)[0].grants, [2]);
        issued.look(|_| true);
        assert_eq!(issued.renew(&challenges, None, 0)[0].grants, [2]);
    }

    #[test]
    fn open_challenges_are_few_however_often_is_asked() {
        let (mut receiver_leases, _leases) = receiver_leases(7);
        let mut drawn = 0;
        for step in 0..100_000 {
            receiver_leases.challenges(step * MS / 10, || {
                drawn += 1;
                drawn
            });
            assert!(receiver_leases.nonces.len() <= 15);
        }
        assert_eq!(drawn, 200); // ten seconds, one each 50 ms
    }

    #[test]
    fn grants_of_one_process_come_with_one_certificate() {
        let (mut receiver_leases, _leases) = receiver_leases(7);
        assert!(receiver_leases.lease(SESSION, 3, b"another").is_none());
        assert!(receiver_leases.lease(SESSION + 1, 3, b"another").is_some());
    }
}
