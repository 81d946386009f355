//! Another station's clock, from exchanges on the data path. What is estimated and how:
//! [`ethermeter_traffic::clock`]; here it is used while it is found out.

mod ongoing;

pub use ethermeter_traffic::clock::{ClockError, Exchange, PIECES, Relation};
pub use ongoing::{CachedRelation, SharedRelation};
