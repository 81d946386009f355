//! A relation between clocks that is used while it is still being found out.

use ethermeter_traffic::clock::Relation;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The best known relation, published by one thread and read by others.
#[derive(Debug, Default)]
pub struct SharedRelation {
    latest: Mutex<Option<Arc<Relation>>>,
    version: AtomicU64,
}

impl SharedRelation {
    /// Publish a newer relation between the clocks.
    pub fn publish(&self, relation: Arc<Relation>) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(relation);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Look again if there is something newer than `known`.
    #[inline]
    pub fn refresh(&self, cached: &mut CachedRelation) {
        let version = self.version.load(Ordering::Acquire);
        if version != cached.version {
            cached.relation.clone_from(&self.latest.lock().unwrap_or_else(PoisonError::into_inner));
            cached.version = version;
        }
    }
}

/// What a user of a relation knows of it.
#[derive(Clone, Debug, Default)]
pub struct CachedRelation {
    relation: Option<Arc<Relation>>,
    version: u64,
}

impl CachedRelation {
    /// The relation, if there is one yet.
    #[inline]
    #[must_use]
    pub fn relation(&self) -> Option<&Relation> {
        self.relation.as_deref()
    }
}
