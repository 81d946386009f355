//! Sockets, TLS, and limits that keep strangers from using up an agent.

use crate::attest::{Credentials, Notary};
use crate::consent::Ceilings;
use crate::coordinator::asked;
use crate::protocol::agent_server::AgentServer;
use crate::service::Service;
use ethermeter_live::Face;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, Instant, Sleep};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::{Connected, TcpConnectInfo};
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};

/// Connections at once; further ones are closed at once.
pub const MOST_CONNECTIONS: usize = 32;
/// Calls at once on a connection.
const MOST_CALLS: u16 = 16;
/// Octets of the longest request.
pub const LONGEST_REQUEST: u32 = 256 << 10;
/// A connection on which nothing arrives for so long is closed. Those of coordinators answer a ping each second.
pub const QUIET: Duration = Duration::from_secs(5);
const PING: Duration = Duration::from_secs(1);

/// Why an agent does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Without certificates it only listens on a loopback address.
    #[error("listen = {0}: without certificate, key and authority it must be a loopback address")]
    Plain(SocketAddr),
    /// The credentials are of no use.
    #[error("{0}")]
    Credentials(String),
    /// The system refused.
    #[error("listen = {at}: {source}")]
    System {
        /// Where it was to listen.
        at: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The server failed.
    #[error("serving: {0}")]
    Serve(#[from] tonic::transport::Error),
}

/// An agent that has its address and does not yet answer.
pub struct Listening {
    listener: TcpListener,
    server: Server,
    service: Service,
}

/// Take up an address, for an agent whose frames show the time of `face`.
///
/// # Errors
/// If it is beyond loopback without credentials, they are of no use, or the system refuses.
pub async fn listen(
    at: SocketAddr,
    ceilings: Ceilings,
    credentials: Option<&Credentials>,
    face: Face,
) -> Result<Listening, ListenError> {
    if credentials.is_none() && !at.ip().is_loopback() {
        return Err(ListenError::Plain(at));
    }
    let mut server = Server::builder()
        .max_concurrent_streams(u32::from(MOST_CALLS))
        .concurrency_limit_per_connection(usize::from(MOST_CALLS))
        .initial_stream_window_size(LONGEST_REQUEST)
        .initial_connection_window_size(2 * LONGEST_REQUEST)
        .http2_max_header_list_size(16 << 10)
        .http2_max_pending_accept_reset_streams(Some(16))
        .http2_keepalive_interval(Some(PING))
        .http2_keepalive_timeout(Some(QUIET));
    if let Some(credentials) = credentials {
        let Credentials { certificate, key, authority } = credentials;
        let tls = ServerTlsConfig::new()
            .identity(Identity::from_pem(certificate, key))
            .client_ca_root(Certificate::from_pem(authority))
            .timeout(QUIET);
        server = server.tls_config(tls).map_err(|error| ListenError::Credentials(whole(&error)))?;
    }
    let notary = credentials.map(Notary::new).transpose().map_err(ListenError::Credentials)?;
    let listener = TcpListener::bind(at).await.map_err(|source| ListenError::System { at, source })?;
    Ok(Listening { listener, server, service: Service::new(ceilings, notary, face) })
}

/// Listen and answer, for callers without a runtime of their own: `ready` is told where, `should_stop` is asked every 50 ms.
///
/// # Errors
/// As [`listen`] and [`Listening::serve`], and if the system has no means for it.
pub fn serve_blocking(
    at: SocketAddr,
    ceilings: Ceilings,
    credentials: Option<&Credentials>,
    face: Face,
    ready: impl FnOnce(SocketAddr),
    should_stop: impl FnMut() -> bool,
) -> Result<(), ListenError> {
    let failed = |source| ListenError::System { at, source };
    // Threads that wait for roles to end go away after a second.
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.thread_keep_alive(Duration::from_secs(1)).enable_all().build().map_err(failed)?;
    runtime.block_on(async {
        let listening = listen(at, ceilings, credentials, face).await?;
        ready(listening.local().map_err(failed)?);
        listening.serve(asked(should_stop)).await
    })
}

/// An error with all that caused it.
pub(crate) fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let further = error.to_string();
        if !text.contains(&further) {
            text = format!("{text}: {further}");
        }
        cause = error.source();
    }
    text
}

impl Listening {
    /// Where it listens.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answer until `end`; then stop all experiments.
    ///
    /// # Errors
    /// If the server fails.
    ///
    /// # Panics
    /// If the system has no thread left for the watch over leases.
    pub async fn serve(mut self, end: impl Future<Output = ()>) -> Result<(), ListenError> {
        let watching = self.service.clone();
        std::thread::Builder::new()
            .name("watch".into())
            .spawn(move || watching.watch())
            .expect("a thread for the watch: without it no lease would end");
        let (accepted, incoming) = mpsc::channel(1);
        let accepting = tokio::spawn(accept(self.listener, accepted));
        let calls = AgentServer::new(self.service.clone())
            .max_decoding_message_size(LONGEST_REQUEST as usize)
            .max_encoding_message_size(LONGEST_RESULT);
        let served = self.server.add_service(calls).serve_with_incoming(ReceiverStream::new(incoming));
        let outcome = tokio::select! {
            served = served => served.map_err(ListenError::Serve),
            () = end => Ok(()),
        };
        accepting.abort();
        let service = self.service.clone();
        // Joining threads would block the others that are still to end.
        let _ = tokio::task::spawn_blocking(move || service.shut_down()).await;
        outcome
    }
}

/// Octets of the longest result: 64 roles with two histograms each.
pub(crate) const LONGEST_RESULT: usize = 64 << 20;

async fn accept(listener: TcpListener, accepted: mpsc::Sender<io::Result<Connection>>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Without room it is closed at once: who waits in vain would learn less.
                let Ok(permit) = Arc::clone(&room).try_acquire_owned() else { continue };
                let _ = stream.set_nodelay(true);
                let connection = Connection { stream, quiet: Box::pin(sleep(QUIET)), _permit: permit };
                if accepted.send(Ok(connection)).await.is_err() {
                    return;
                }
            }
            // Out of descriptors, or a connection that was gone at once: neither is for ever.
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

/// A connection that ends when nothing arrives on it.
struct Connection {
    stream: TcpStream,
    quiet: Pin<Box<Sleep>>,
    _permit: OwnedSemaphorePermit,
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(context, buffer);
        if polled.is_ready() && buffer.filled().len() > before {
            this.quiet.as_mut().reset(Instant::now() + QUIET);
        } else if polled.is_pending() && this.quiet.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        polled
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
