//! Grants that have been used: each is for one role of one run.

use crate::refusal::{ConsentRule, Refusal, require};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Identifies a grant among those of all receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GrantId {
    /// The receiver's address, which its certificate proves.
    pub receiver: IpAddr,
    /// The receiver's process.
    pub session: u64,
    /// The grant's number in that process.
    pub number: u64,
}

/// Spent grants that are remembered. 64 roles twice a second for two minutes are 15 360; with more,
/// grants are refused and none is forgotten.
pub(super) const MOST_SPENT: usize = 16_384;

/// Spent grants, each until it has expired.
#[derive(Debug, Default)]
pub(super) struct SpentGrants {
    until_ns: BTreeMap<GrantId, u64>,
}

impl SpentGrants {
    /// Whether none of `grants` has been spent or is named twice, and there is room to remember
    /// them.
    pub fn check(&mut self, grants: &[GrantId], now_ns: u64) -> Result<(), Refusal> {
        self.until_ns.retain(|_, until_ns| now_ns < *until_ns);
        let mut named = BTreeSet::new();
        for grant in grants {
            let is_new = named.insert(grant) && !self.until_ns.contains_key(grant);
            let GrantId { receiver, session, number } = grant;
            require(
                is_new,
                ConsentRule::ConsentSpent,
                format_args!("grant {number} of {receiver}, process {session:016x}"),
                "a grant that no role has used: one for each role and run",
            )?;
        }
        let remembered = self.until_ns.len() + grants.len();
        require(
            remembered <= MOST_SPENT,
            ConsentRule::ConsentSpent,
            format_args!("{remembered} grants within their lifetimes"),
            format_args!("{MOST_SPENT} until some expire"),
        )
    }

    /// Remember `grants` until `until_ns`.
    pub fn spend(&mut self, grants: &[GrantId], until_ns: u64) {
        self.until_ns.extend(grants.iter().map(|grant| (*grant, until_ns)));
    }
}
