//! The rules an agent asks before it opens a port or sends a frame. Pure: the time, what is asked
//! and who asks are arguments.
//!
//! ```text
//! receiver:  Grant   ─► admit (session, clock, replay, owner) ─► ceilings ─► a yes, with all that it is for
//! sender:    Prepare ─► admit ─► ceilings ─► the receiver's yes, proven, for exactly this, not spent ─► a permit
//! ```
//!
//! A permit is what the sender's port holds: it lets nothing out to another address, faster, later
//! or longer. There is one for each grant, it cannot be copied, and the receiver renews the grant
//! for as long as it is used ([`Given`], [`Awaited`]).

mod ceilings;
mod fresh;
mod renewal;
mod spent;
mod way;

pub use ceilings::{Ceilings, Network};
pub use fresh::Stamp;
pub use renewal::{Answer, Awaited, Challenge, Given, Renewal, MOST_CHALLENGES};
pub use spent::GrantId;
pub use way::{Cast, PortKind, Way};

use crate::refusal::{require, Refusal, Rule};
use ethermeter_live::port::Address;
use ethermeter_live::wire::Mac;
use fresh::Fresh;
use serde::{Deserialize, Serialize};
use spent::Spent;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

/// What a sender would like to send to a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// By which kind of port, to how many.
    pub way: Way,
    /// Where the sender is.
    pub sender: IpAddr,
    /// Where frames go: a receiver, or the experiment's group. Port 0 until one is open.
    pub target: Address,
    /// Up to how many bits per second, of frames from destination address to FCS.
    pub rate_bps: u64,
    /// Up to how many frames per second.
    pub rate_frames_per_s: u64,
    /// Octets of the longest frame; 0 of octets in bulk, which TCP makes segments of.
    pub longest_frame_octets: u32,
    /// For how long, from the beginning to the end of the drain.
    pub duration_ns: u64,
    /// The own interface, if one is known.
    pub interface: Option<Interface>,
}

/// An interface, as far as rules are concerned with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Whether nothing leaves the host by it.
    pub is_loopback: bool,
}

/// A receiver's yes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The experiment.
    pub experiment: u64,
    /// The receiver's process.
    pub session: u64,
    /// Its number among the grants of that process.
    pub number: u64,
    /// Who may send.
    pub sender: IpAddr,
    /// Who says yes; the signature proves it.
    pub address: IpAddr,
    /// By which kind of port.
    pub kind: PortKind,
    /// Whether to this station only or to the experiment's group, which it listens to.
    pub cast: Cast,
    /// To which port; 0 of raw frames.
    pub port: u16,
    /// The Ethernet address of this station, of raw frames.
    pub mac: Option<Mac>,
    /// Up to how many bits per second.
    pub rate_bps: u64,
    /// Up to how many frames per second.
    pub rate_frames_per_s: u64,
    /// Octets of the longest frame; 0 of octets in bulk, which TCP makes segments of, and then of
    /// nothing else.
    pub longest_frame_octets: u32,
    /// For how long.
    pub duration_ns: u64,
    /// When the yes ends if nothing has begun, by the wall clock, since 1970.
    pub until_unix_s: u64,
}

impl Grant {
    /// What tells it from all other grants.
    #[must_use]
    pub fn id(&self) -> GrantId {
        GrantId { receiver: self.address, session: self.session, number: self.number }
    }

    /// How frames go.
    #[must_use]
    pub fn way(&self) -> Way {
        Way { kind: self.kind, cast: self.cast }
    }

    /// Where frames go by this yes: nowhere but to who says it, or to the experiment's group.
    /// `None` if it is no yes to anything.
    #[must_use]
    pub fn target(&self) -> Option<Address> {
        if self.cast != Cast::Unicast {
            return self.way().group(self.experiment, self.address.is_ipv4(), self.port);
        }
        if self.kind.is_raw() {
            return self.mac.filter(|mac| !mac.is_group()).map(Address::Mac);
        }
        Some(Address::Socket(SocketAddr::new(self.address, self.port)))
    }

    /// Where the station that says it is found as the sender of frames.
    #[must_use]
    pub fn station(&self) -> Address {
        match self.mac.filter(|_| self.kind.is_raw()) {
            Some(mac) => Address::Mac(mac),
            None => Address::Socket(SocketAddr::new(self.address, self.port)),
        }
    }
}

/// How a yes came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Signed with the key of a certificate of our authority that names the address.
    Signed,
    /// Not signed: only believed of the loopback interface, by an agent without TLS.
    None,
}

/// What a sender may do by a grant, or by those of all receivers of a group. It is not to be
/// copied: each grant permits one door to send, once.
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    /// The only place to send to.
    pub target: Address,
    /// At most so many bits per second.
    pub rate_bps: u64,
    /// At most so many frames per second.
    pub rate_frames_per_s: u64,
    /// No frame longer than this, in octets; no frames but TCP's own segments with 0.
    pub longest_frame_octets: u32,
    /// For at most so long.
    pub duration_ns: u64,
    /// Beginning before this, by the own monotonic clock: when the first of the grants expires.
    pub begin_before_ns: u64,
}

/// The time, by both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// By the own monotonic clock.
    pub now_ns: u64,
    /// By the wall clock, since 1970.
    pub unix_s: u64,
}

/// How long a yes holds before it is made use of.
pub const GRANT_S: u64 = 60;
const LEAST_PORT: u16 = 1024;

/// What one agent allows, and what it has allowed.
#[derive(Debug)]
pub struct RuleBook {
    ceilings: Ceilings,
    is_plain: bool,
    session: u64,
    fresh: Fresh,
    booked: BTreeMap<u64, Booked>,
    /// Grants given so far.
    given: u64,
    spent: Spent,
}

/// What a running experiment has been allowed, so that the ceilings hold for all of them together.
#[derive(Clone, Debug, Default)]
struct Booked {
    roles: usize,
    incoming: Rates,
    outgoing: Rates,
    /// Groups that are sent to, and who has granted that.
    groups: Vec<(Address, BTreeSet<IpAddr>)>,
}

/// Rates, as of one flow or as the sum of many.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    bps: u64,
    frames_per_s: u64,
}

impl Rates {
    fn and(self, other: Self) -> Self {
        Self {
            bps: self.bps.saturating_add(other.bps),
            frames_per_s: self.frames_per_s.saturating_add(other.frames_per_s),
        }
    }
}

impl Wish {
    fn rates(&self) -> Rates {
        Rates { bps: self.rate_bps, frames_per_s: self.rate_frames_per_s }
    }
}

impl RuleBook {
    /// The rules of a process, told from others by `session`. An agent that `is_plain` has no TLS.
    #[must_use]
    pub fn new(ceilings: Ceilings, session: u64, is_plain: bool) -> Self {
        let (fresh, spent) = (Fresh::new(session), Spent::default());
        Self { ceilings, is_plain, session, fresh, booked: BTreeMap::new(), given: 0, spent }
    }

    /// The operator's ceilings.
    #[must_use]
    pub fn ceilings(&self) -> &Ceilings {
        &self.ceilings
    }

    /// Whether a request that may begin an experiment is fresh, and there is room for it.
    ///
    /// # Errors
    /// By [`Rule::Session`], [`Rule::Clock`], [`Rule::Replay`], [`Rule::Ended`], [`Rule::Owner`],
    /// [`Rule::TestsAtOnce`].
    pub fn admit_beginning(
        &mut self,
        stamp: &Stamp,
        caller: &str,
        now_ns: u64,
    ) -> Result<(), Refusal> {
        self.fresh.check(stamp, now_ns)?;
        if !self.fresh.knows(stamp.experiment) {
            let most = self.ceilings.tests_at_once;
            let running = self.fresh.running();
            require(
                running < most,
                Rule::TestsAtOnce,
                format_args!("experiment {}", running + 1),
                format_args!("{most} at once"),
            )?;
        }
        self.fresh.take(stamp, caller)
    }

    /// Whether a request of a running experiment is fresh.
    ///
    /// # Errors
    /// As [`RuleBook::admit_beginning`], and by [`Rule::Unknown`].
    pub fn admit(&mut self, stamp: &Stamp, caller: &str, now_ns: u64) -> Result<(), Refusal> {
        self.fresh.check(stamp, now_ns)?;
        let is_known = self.fresh.knows(stamp.experiment);
        require(
            is_known,
            Rule::Unknown,
            format_args!("experiment {:016x}", stamp.experiment),
            "an experiment that has begun here",
        )?;
        self.fresh.take(stamp, caller)
    }

    /// The experiment has ended and will not begin again.
    pub fn end(&mut self, experiment: u64, now_ns: u64) {
        self.fresh.end(experiment, now_ns);
        self.booked.remove(&experiment);
    }

    /// As a receiver at the own address `own`, on an interface with the address `mac`: say yes, or
    /// why not. The port of the yes is still the one wished for.
    ///
    /// # Errors
    /// By the operator's ceilings, or because the target is neither our own nor the experiment's
    /// group.
    pub fn grant(
        &mut self,
        experiment: u64,
        own: IpAddr,
        mac: Option<Mac>,
        wish: &Wish,
        now_unix_s: u64,
    ) -> Result<Grant, Refusal> {
        self.check_wish(wish, self.booked(|booked| booked.incoming))?;
        self.check_stations(own, wish.sender)?;
        let port = match wish.target {
            Address::Socket(target) => target.port(),
            Address::Mac(_) => 0,
        };
        require(
            port == 0 || port >= LEAST_PORT,
            Rule::Port,
            port,
            format_args!("0 or {LEAST_PORT} to 65535"),
        )?;
        let grant = Grant {
            experiment,
            session: self.session,
            number: self.given + 1,
            sender: wish.sender,
            address: own,
            kind: wish.way.kind,
            cast: wish.way.cast,
            port,
            mac: mac.filter(|_| wish.way.kind.is_raw()),
            rate_bps: wish.rate_bps,
            rate_frames_per_s: wish.rate_frames_per_s,
            longest_frame_octets: wish.longest_frame_octets,
            duration_ns: wish.duration_ns,
            until_unix_s: now_unix_s.saturating_add(GRANT_S),
        };
        check_target(&grant, wish)?;
        self.book(experiment, |booked| booked.incoming = booked.incoming.and(wish.rates()))?;
        self.given += 1;
        Ok(grant)
    }

    /// As a sender: whether this may be sent, given the yes of every receiver; of a group there may
    /// be several. The grants are spent by it.
    ///
    /// # Errors
    /// By the own operator's ceilings, or because a yes is not for this, or has been used.
    pub fn permit(
        &mut self,
        experiment: u64,
        wish: &Wish,
        consents: &[(Grant, Proof)],
        moment: Moment,
    ) -> Result<Permit, Refusal> {
        self.check_wish(wish, self.booked(|booked| booked.outgoing))?;
        if consents.is_empty() {
            return Err(Refusal::new(
                Rule::ConsentMissing,
                wish.target,
                "a station that has said yes in this experiment",
            ));
        }
        for (grant, proof) in consents {
            self.check_consent(experiment, wish, grant, *proof, moment.unix_s)?;
        }
        let receivers: BTreeSet<IpAddr> = consents.iter().map(|(grant, _)| grant.address).collect();
        self.check_group(experiment, wish, &receivers)?;
        let ids: Vec<GrantId> = consents.iter().map(|(grant, _)| grant.id()).collect();
        self.spent.check(&ids, moment.now_ns)?;
        let lifetimes_s =
            consents.iter().map(|(grant, _)| grant.until_unix_s.saturating_sub(moment.unix_s));
        let lifetime_ns = lifetimes_s.min().unwrap_or(0).saturating_mul(1_000_000_000);
        self.book(experiment, |booked| {
            booked.outgoing = booked.outgoing.and(wish.rates());
            if wish.way.is_group() {
                booked.groups.push((wish.target, receivers));
            }
        })?;
        // No grant is accepted that lives longer; one that the wall clock makes live again, by a
        // step back, is still known.
        self.spent.spend(&ids, moment.now_ns.saturating_add(2 * GRANT_S * 1_000_000_000));
        Ok(Permit {
            target: wish.target,
            rate_bps: wish.rate_bps,
            rate_frames_per_s: wish.rate_frames_per_s,
            longest_frame_octets: wish.longest_frame_octets,
            duration_ns: wish.duration_ns,
            begin_before_ns: moment.now_ns.saturating_add(lifetime_ns),
        })
    }

    /// Whether those who grant this are all who hear it: each receiver of a group hears all roles
    /// that send to it, so each of these needs a grant of each.
    fn check_group(
        &self,
        experiment: u64,
        wish: &Wish,
        receivers: &BTreeSet<IpAddr>,
    ) -> Result<(), Refusal> {
        let mut groups = self.booked.get(&experiment).into_iter().flat_map(|booked| &booked.groups);
        let Some((_, others)) =
            groups.find(|(target, others)| *target == wish.target && others != receivers)
        else {
            return Ok(());
        };
        let list = |receivers: &BTreeSet<IpAddr>| {
            receivers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        Err(Refusal::new(
            Rule::ConsentMissing,
            format_args!("{} granted by {}", wish.target, list(receivers)),
            format_args!("grants of the receivers of its other roles: {}", list(others)),
        ))
    }

    /// Whether one receiver's yes is for this.
    fn check_consent(
        &self,
        experiment: u64,
        wish: &Wish,
        grant: &Grant,
        proof: Proof,
        now_unix_s: u64,
    ) -> Result<(), Refusal> {
        self.check_stations(wish.sender, grant.address)?;
        let is_proven = proof == Proof::Signed || (self.is_plain && grant.address.is_loopback());
        require(
            is_proven,
            Rule::ConsentUnproven,
            grant.address,
            "a yes signed with a certificate that names the address",
        )?;
        let (asked, granted) = (experiment, grant.experiment);
        require(
            asked == granted,
            Rule::ConsentExperiment,
            format_args!("{asked:016x}"),
            format_args!("{granted:016x}"),
        )?;
        require(wish.sender == grant.sender, Rule::ConsentSender, wish.sender, grant.sender)?;
        require(wish.way == grant.way(), Rule::ConsentTarget, wish.way, grant.way())?;
        check_target(grant, wish)?;
        let needs_port = !grant.kind.is_raw();
        let is_fine = !needs_port || grant.port >= LEAST_PORT;
        require(is_fine, Rule::Port, grant.port, format_args!("{LEAST_PORT} to 65535"))?;
        let is_within =
            wish.rate_bps <= grant.rate_bps && wish.rate_frames_per_s <= grant.rate_frames_per_s;
        let rates = |bps: u64, frames: u64| format!("{bps} bit/s and {frames} frames/s");
        let granted = rates(grant.rate_bps, grant.rate_frames_per_s);
        require(
            is_within,
            Rule::ConsentRate,
            rates(wish.rate_bps, wish.rate_frames_per_s),
            granted,
        )?;
        let (asked, granted) = (wish.longest_frame_octets, grant.longest_frame_octets);
        // Octets in bulk are something else than frames of no octets.
        let is_within = if granted == 0 { asked == 0 } else { (1..=granted).contains(&asked) };
        let (asked, granted) = (length(asked), length(granted));
        require(is_within, Rule::ConsentLength, asked, granted)?;
        let (asked, granted) = (wish.duration_ns, grant.duration_ns);
        require(
            asked <= granted,
            Rule::ConsentDuration,
            format_args!("{asked} ns"),
            format_args!("{granted} ns"),
        )?;
        let until = grant.until_unix_s;
        let is_valid = now_unix_s < until && until <= now_unix_s.saturating_add(2 * GRANT_S);
        require(
            is_valid,
            Rule::ConsentExpired,
            format_args!("now {now_unix_s} s"),
            format_args!("before {until} s, given in the last minute"),
        )
    }

    /// What all running experiments have been allowed in one direction.
    fn booked(&self, direction: fn(&Booked) -> Rates) -> Rates {
        self.booked.values().map(direction).fold(Rates::default(), Rates::and)
    }

    fn check_wish(&self, wish: &Wish, booked: Rates) -> Result<(), Refusal> {
        self.ceilings.check_rates(wish.rates(), booked)?;
        self.ceilings.check_duration(wish.duration_ns)?;
        self.ceilings
            .check_interface(wish.interface.as_ref().map(|interface| interface.name.as_str()))?;
        self.ceilings.check_cast(wish.way)?;
        // Raw frames and groups go out by an interface and not to an address: that must be known,
        // and stay on the host without certificates.
        let is_bound = wish.way.kind.is_raw() || wish.way.is_group();
        match &wish.interface {
            None => require(
                !is_bound,
                Rule::Interface,
                "none",
                "an interface, for raw frames and groups",
            ),
            Some(interface) => {
                let is_allowed = !self.is_plain || interface.is_loopback;
                require(
                    is_allowed,
                    Rule::PlainBeyondLoopback,
                    &interface.name,
                    "the loopback interface",
                )
            }
        }
    }

    fn check_stations(&self, own: IpAddr, other: IpAddr) -> Result<(), Refusal> {
        for address in [own, other] {
            let is_allowed = !self.is_plain || address.is_loopback();
            require(
                is_allowed,
                Rule::PlainBeyondLoopback,
                address,
                "loopback addresses, for an agent without certificates",
            )?;
            self.ceilings.check_address(address)?;
        }
        Ok(())
    }

    fn book(&mut self, experiment: u64, allow: impl FnOnce(&mut Booked)) -> Result<(), Refusal> {
        let most = self.ceilings.roles;
        let booked = self.booked.entry(experiment).or_default();
        require(
            booked.roles < most,
            Rule::Roles,
            format_args!("role {}", booked.roles + 1),
            format_args!("{most} in an experiment"),
        )?;
        booked.roles += 1;
        allow(booked);
        Ok(())
    }
}

/// Whether frames go where the yes says: to one station, which is the one that says it, or to the
/// experiment's group.
fn check_target(grant: &Grant, wish: &Wish) -> Result<(), Refusal> {
    let Some(target) = grant.target() else {
        return Err(Refusal::new(
            Rule::Address,
            grant.way(),
            "the address of one station, or a group that there is",
        ));
    };
    require(wish.target == target, Rule::ConsentTarget, wish.target, target)
}

fn length(longest_frame_octets: u32) -> String {
    match longest_frame_octets {
        0 => "octets in bulk".into(),
        octets => format!("frames of up to {octets} octets"),
    }
}

#[cfg(test)]
mod tests;
