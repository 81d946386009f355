//! The reflector and the sender of the crate `twamp-rs`, without TWAMP's control connection.
//!
//! `twamp-peer reflect LOCAL SECONDS` answers the sender of the first test packet, until none came for
//! so long.
//! `twamp-peer send LOCAL COUNT PEER PADDING` sends test packets, one after the answer to the other,
//! and prints the fields of each answer. `twamp-peer blind LOCAL COUNT PEER` sends unpadded ones as
//! the crate's session sender does.

use anyhow::{bail, Context, Result};
use deku::prelude::*;
use std::env::args;
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::timeout;
use twamp_rs::session_reflector::SessionReflector;
use twamp_rs::session_sender::SessionSender;
use twamp_rs::twamp_test::twamp_test_unauth::TwampTestPacketUnauth;
use twamp_rs::twamp_test::twamp_test_unauth_reflected::TwampTestPacketUnauthReflected;

const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let words: Vec<String> = args().skip(1).collect();
    let [what, local, number, rest @ ..] = words.as_slice() else {
        bail!("twamp-peer reflect|send|blind LOCAL NUMBER …");
    };
    let socket = UdpSocket::bind(local).await?;
    let number: u16 = number.parse()?;
    if what == "reflect" {
        println!("listening");
        let (_, peer) = socket.peek_from(&mut [0; 64]).await?;
        socket.connect(peer).await?;
        // It ends with an error when nothing comes any more.
        let _ = SessionReflector::new(socket, number).await.do_reflect().await;
        return Ok(());
    }
    let peer: SocketAddrV4 = rest.first().context("PEER is missing")?.parse()?;
    socket.connect(peer).await?;
    match rest.get(1) {
        Some(padding) if what == "send" => send(&socket, number.into(), padding.parse()?).await,
        None if what == "blind" => {
            SessionSender::new(Arc::new(socket), peer).await.send_it(number.into()).await
        }
        _ => bail!("unknown: {what}, or PADDING is missing"),
    }
}

async fn send(socket: &UdpSocket, count: u32, padding: u8) -> Result<()> {
    for sequence in 0..count {
        let packet = TwampTestPacketUnauth::new(sequence, padding, true).to_bytes()?;
        socket.send(&packet).await?;
        let mut room = [0; 1024];
        let octets =
            timeout(ANSWERED_WITHIN, socket.recv(&mut room)).await.context("no answer")??;
        let (_, answer) = TwampTestPacketUnauthReflected::from_bytes((&room, 0))?;
        let received: f64 = answer.receive_timestamp.into();
        let sent: f64 = answer.timestamp.into();
        println!(
            "{octets} {} {} {} {received:.9} {sent:.9}",
            answer.sequence_number, answer.sender_sequence_number, answer.sender_ttl
        );
    }
    Ok(())
}
