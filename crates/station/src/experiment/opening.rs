//! Ports that an experiment opens.
//!
//! The system may let the opening of a port wait for seconds, and a lease lasts less than one. So an
//! experiment only describes what is to be opened; its caller opens it while other experiments go on,
//! and hands it back.

use super::endpoint::{LocalEndpoint, OpenedEndpoint};
use super::role::RolePlan;
use crate::consent::{FlowAttachment, Grant};
use crate::interfaces::{PacketPath, is_there};
use crate::refusal::{ConsentRule, Refusal, require};
use ethermeter_net::Timeline;
use std::sync::{Arc, Weak};

/// A port that was opened for a sender.
pub(super) struct OpenReceiver {
    pub(super) opened: OpenedEndpoint,
    pub(super) endpoint: LocalEndpoint,
    /// One of each sender.
    pub(super) grants: Vec<Grant>,
    /// Kept for as long as the port is open.
    pub(super) open: Arc<()>,
}

/// Held while an experiment opens ports. It opens nothing else meanwhile, is not started, and stays
/// known: so there is one opening in flight for each experiment, at most.
#[derive(Debug)]
pub struct OpeningMark {
    _held: Arc<()>,
}

impl OpeningMark {
    /// A mark that is there for as long as it can be had from `opening`.
    pub(super) fn of(opening: &mut Weak<()>) -> Self {
        let held = Arc::new(());
        *opening = Arc::downgrade(&held);
        Self { _held: held }
    }
}

/// A port to be opened for a grant.
pub struct PortOpening {
    pub(super) flow: String,
    pub(super) endpoint: LocalEndpoint,
    pub(super) attachment: FlowAttachment,
    pub(super) grant: Grant,
    pub(super) granted_ns: u64,
    /// Length of frames that there is room for, beside those of the grant.
    pub(super) room_frame_octets: u32,
    /// Whether the port of the flow's other senders is used.
    pub(super) is_shared: bool,
}

/// A port that was opened for a grant.
pub struct OpenedPort {
    pub(super) opening: PortOpening,
    /// `None` of the port of the flow's other senders.
    pub(super) opened: Option<OpenedEndpoint>,
}

impl PortOpening {
    /// Open the port, and write its number in the grant.
    ///
    /// # Errors
    /// If the system refuses, or the host no longer has the address.
    pub fn open(mut self, time: &impl Timeline) -> Result<OpenedPort, Refusal> {
        if self.is_shared {
            return Ok(OpenedPort { opening: self, opened: None });
        }
        let opened = self.endpoint.to_receive(&mut self.grant, self.room_frame_octets, time)?;
        check_is_there(&self.attachment)?;
        Ok(OpenedPort { opening: self, opened: Some(opened) })
    }
}

/// A role whose port is to be opened, or made fit for it.
pub struct RoleOpening {
    pub(super) plan: RolePlan,
    /// What was opened when the flow was granted, of a role that uses it.
    pub(super) receiver: Option<OpenReceiver>,
}

/// A role with its port.
pub struct OpenedRole {
    pub(super) plan: RolePlan,
    pub(super) opened: OpenedEndpoint,
    /// Kept for as long as the port is open.
    pub(super) open: Option<Arc<()>>,
}

impl RoleOpening {
    /// Open the port.
    ///
    /// # Errors
    /// If the system refuses, or the way to a receiver is another one than was permitted.
    pub fn open(self, time: &impl Timeline) -> Result<OpenedRole, Refusal> {
        let Self { plan, receiver } = self;
        let (opened, open) = match receiver {
            Some(OpenReceiver { opened, endpoint, grants, open }) => {
                let sender = grants.first().map(|grant| grant.sender);
                (plan.fit(opened, &endpoint, sender)?, Some(open))
            }
            None => (plan.open(time)?, None),
        };
        if let Some(permitted) = &plan.permitted {
            opened.keep_to(&permitted.path.interface().map_err(|error| lost(&error))?)?;
            // What has changed while the port was opened is seen now; later changes are seen at the
            // start, and then by those who watch paths.
            check_path(&permitted.path)?;
        }
        Ok(OpenedRole { plan, opened, open })
    }
}

fn lost(fault: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(ConsentRule::Route, fault, "the way that was there when the grant was given")
}

/// Whether the way to the receivers is the one that was there when it was permitted.
///
/// # Errors
/// If it is another one.
pub fn check_path(path: &PacketPath) -> Result<(), Refusal> {
    path.fault().map_or(Ok(()), |fault| Err(lost(&fault)))
}

fn check_is_there(attachment: &FlowAttachment) -> Result<(), Refusal> {
    let FlowAttachment { address, interface, .. } = attachment;
    let value = format_args!("{}, which has not {address} any more", interface.name);
    require(
        is_there(attachment),
        ConsentRule::Interface,
        value,
        "the interface that has the own address",
    )
}
