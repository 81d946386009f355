//! Grants, requested of the receivers of a flow.

use super::error::Error;
use super::link::Link;
use crate::protocol as wire;
use ethermeter_station::consent::Transport;
use std::net::IpAddr;

/// The grant that a flow needs of each receiver.
pub(super) struct Wanted<'a> {
    pub flow: &'a str,
    pub transport: Transport,
    pub number: u16,
    pub rate_bps: u64,
    pub rate_frames_per_s: u64,
    pub longest_frame_octets: u32,
    /// Longest frame of the opposite direction, by the same port.
    pub room_frame_octets: u32,
    pub duration_ns: u64,
}

/// Request a grant for `sender` from the agent of `link`.
pub(super) async fn request_grant(
    link: &Link,
    wanted: &Wanted<'_>,
    sender: IpAddr,
) -> Result<wire::SignedGrant, Error> {
    let request = wire::GrantRequest {
        stamp: None,
        sender: sender.to_string(),
        address: link.entry.address.to_string(),
        port: wanted.number.into(),
        rate_bps: wanted.rate_bps,
        rate_frames_per_s: wanted.rate_frames_per_s,
        duration_ns: wanted.duration_ns,
        flow: wanted.flow.to_owned(),
        longest_frame_octets: wanted.longest_frame_octets,
        room_frame_octets: wanted.room_frame_octets,
        kind: wanted.transport.kind.word().into(),
        cast: wanted.transport.cast.word().into(),
        interface: link.entry.interface.clone().unwrap_or_default(),
    };
    let wire::GrantReply { grant, signature, certificate } = link.grant(request).await?;
    Ok(wire::SignedGrant { grant, signature, certificate })
}
