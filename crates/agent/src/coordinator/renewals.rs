//! What senders ask receivers, and what these answer: the coordinator carries it from lease to
//! lease.

use crate::protocol::{LeaseReply, LeaseRequest, SignedRenewal};
use ethermeter_station::consent::RenewalChallenge;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// Challenges are passed on no more often than this, so that passing on renewals brings no further
/// ones.
const CHALLENGES_NS: u64 = 150_000_000;

/// What agents have for each other, by their places in the test.
pub(super) struct RenewalRelay(Vec<RenewalQueue>);

struct RenewalQueue {
    session: u64,
    inbox: Mutex<RenewalInbox>,
    ready: Notify,
}

#[derive(Default)]
struct RenewalInbox {
    /// By sender.
    challenges: BTreeMap<usize, RenewalChallenge>,
    /// By receiver.
    renewals: BTreeMap<usize, SignedRenewal>,
    /// When its own challenges were last passed on.
    asked_ns: Option<u64>,
    /// Whether all grants that it sends by are renewed, as far as it has reported since its roles
    /// were prepared.
    is_renewed: bool,
    /// How often roles were prepared. A reply to a call made before says nothing of them.
    prepared: u64,
}

/// What one call for a lease takes along.
pub(super) struct LeaseMessages {
    pub request: LeaseRequest,
    senders: Vec<usize>,
    prepared: u64,
}

impl RenewalRelay {
    /// Nothing yet, between agents of these processes.
    pub fn among(sessions: impl IntoIterator<Item = u64>) -> Self {
        let agent =
            |session| RenewalQueue { session, inbox: Mutex::default(), ready: Notify::new() };
        Self(sessions.into_iter().map(agent).collect())
    }

    fn inbox<T>(&self, agent: usize, act: impl FnOnce(&mut RenewalInbox) -> T) -> T {
        act(&mut self.0[agent].inbox.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ready when there is something for an agent.
    pub async fn ready(&self, agent: usize) {
        self.0[agent].ready.notified().await;
    }

    /// What there is for an agent.
    pub fn take(&self, agent: usize) -> LeaseMessages {
        let (challenges, renewals, prepared) = self.inbox(agent, |inbox| {
            let (challenges, renewals) = (&mut inbox.challenges, &mut inbox.renewals);
            (std::mem::take(challenges), std::mem::take(renewals), inbox.prepared)
        });
        let senders = challenges.keys().copied().collect();
        let request = LeaseRequest {
            challenges: challenges.into_values().collect(),
            renewals: renewals.into_values().collect(),
        };
        LeaseMessages { request, senders, prepared }
    }

    /// Pass on what an agent has replied, at `now_ns`, to a call that took `messages`.
    pub fn put(&self, agent: usize, now_ns: u64, messages: &LeaseMessages, reply: LeaseReply) {
        let is_to_ask = self.inbox(agent, |inbox| {
            inbox.is_renewed = reply.is_renewed && messages.prepared == inbox.prepared;
            let is_due = inbox.asked_ns.is_none_or(|asked_ns| now_ns - asked_ns >= CHALLENGES_NS);
            if is_due && !reply.challenges.is_empty() {
                inbox.asked_ns = Some(now_ns);
            }
            is_due
        });
        for challenge in reply.challenges.into_iter().filter(|_| is_to_ask) {
            // An agent that is not in the test gets no questions.
            let Some(receiver) = self.0.iter().position(|other| other.session == challenge.session)
            else {
                continue;
            };
            self.inbox(receiver, |inbox| inbox.challenges.insert(agent, challenge));
            self.0[receiver].ready.notify_one();
        }
        let Some(renewal) = reply.renewal else { return };
        for &sender in &messages.senders {
            self.inbox(sender, |inbox| inbox.renewals.insert(agent, renewal.clone()));
            self.0[sender].ready.notify_one();
        }
    }

    /// An agent has new roles: it is to say anew whether their grants are renewed.
    pub fn expect(&self, agent: usize) {
        self.inbox(agent, |inbox| {
            inbox.is_renewed = false;
            inbox.prepared += 1;
            inbox.asked_ns = None;
        });
        self.0[agent].ready.notify_one();
    }

    /// The first agent whose grants are not all renewed.
    pub fn first_missing(&self) -> Option<usize> {
        (0..self.0.len()).find(|&agent| !self.inbox(agent, |inbox| inbox.is_renewed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ethermeter_station::consent::LeaseRenewal;

    fn challenge(session: u64) -> RenewalChallenge {
        RenewalChallenge { session, run: 7, nonce: 1, grants: vec![1] }
    }

    #[test]
    fn challenges_go_to_their_receivers_and_renewals_back() {
        let renewals = RenewalRelay::among([10, 11]);
        let nothing = renewals.take(0);
        assert!(nothing.request == LeaseRequest::default());
        renewals.put(
            0,
            0,
            &nothing,
            LeaseReply { challenges: vec![challenge(11), challenge(99)], ..Default::default() },
        );
        let messages = renewals.take(1);
        assert_eq!(messages.request.challenges, [challenge(11)]);
        let renewal = SignedRenewal {
            renewal: LeaseRenewal { session: 11, answers: Vec::new() },
            signature: vec![2],
        };
        renewals.put(
            1,
            0,
            &messages,
            LeaseReply { renewal: Some(renewal.clone()), ..Default::default() },
        );
        assert_eq!(renewals.take(0).request.renewals, [renewal]);
        assert!(renewals.take(0).request.renewals.is_empty(), "once");
        // The call that took the renewal along brings no new question.
        renewals.put(
            0,
            0,
            &nothing,
            LeaseReply { challenges: vec![challenge(11)], ..Default::default() },
        );
        assert!(renewals.take(1).request.challenges.is_empty());
        renewals.expect(0);
        renewals.put(
            0,
            0,
            &nothing,
            LeaseReply { challenges: vec![challenge(11)], ..Default::default() },
        );
        assert_eq!(renewals.take(1).request.challenges.len(), 1, "but new roles do");
    }

    #[test]
    fn a_start_waits_for_all_who_have_new_roles() {
        let renewals = RenewalRelay::among([10, 11]);
        let is_renewed = |is_renewed| LeaseReply { is_renewed, ..Default::default() };
        let nothing = renewals.take(0);
        renewals.put(0, 0, &nothing, is_renewed(true));
        renewals.put(1, 0, &nothing, is_renewed(true));
        assert_eq!(renewals.first_missing(), None);
        renewals.expect(0);
        assert_eq!(renewals.first_missing(), Some(0));
        renewals.put(0, 0, &nothing, is_renewed(false));
        assert_eq!(renewals.first_missing(), Some(0));
        renewals.put(0, 0, &nothing, is_renewed(true));
        assert_eq!(renewals.first_missing(), Some(0), "the call was made before");
        renewals.put(0, 0, &renewals.take(0), is_renewed(true));
        assert_eq!(renewals.first_missing(), None);
    }
}
