//! The reflector and the sender of the crate `twamp-rs`, without TWAMP's control connection.
//!
//! `twamp-peer reflect LOCAL PEER SECONDS` answers test packets until none came for so long.
//! `twamp-peer send LOCAL PEER COUNT PADDING` sends test packets, one after the answer to the other,
//! and prints the fields of each answer. `twamp-peer blind LOCAL PEER COUNT` sends unpadded ones as
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

const ANSWERED_WITHIN: Duration = Duration::from_secs(1);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let words: Vec<String> = args().skip(1).collect();
    let [what, local, peer, numbers @ ..] = words.as_slice() else {
        bail!("twamp-peer reflect|send|blind LOCAL PEER NUMBERS…");
    };
    let peer: SocketAddrV4 = peer.parse()?;
    let socket = UdpSocket::bind(local).await?;
    socket.connect(peer).await?;
    let number = |at: usize| numbers.get(at).context("a number is missing");
    match what.as_str() {
        "reflect" => {
            println!("listening");
            let reflector = SessionReflector::new(socket, number(0)?.parse()?).await;
            // It ends with an error when nothing comes any more.
            let _ = reflector.do_reflect().await;
        }
        "send" => send(&socket, number(0)?.parse()?, number(1)?.parse()?).await?,
        "blind" => {
            let sender = SessionSender::new(Arc::new(socket), peer).await;
            sender.send_it(number(0)?.parse()?).await?;
        }
        _ => bail!("unknown: {what}"),
    }
    Ok(())
}

async fn send(socket: &UdpSocket, count: u32, padding: u8) -> Result<()> {
    for sequence in 0..count {
        let packet = TwampTestPacketUnauth::new(sequence, padding, true).to_bytes()?;
        socket.send(&packet).await?;
        let mut room = [0; 1024];
        let octets = timeout(ANSWERED_WITHIN, socket.recv(&mut room)).await.context("no answer")??;
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
