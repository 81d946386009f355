//! Sockets, TLS, and limits that keep strangers from using up an agent.

use crate::attest::{Credentials, Notary, check_coordinator};
use crate::calls::{AgentServer, OlderCalls};
use crate::pending::PendingConnections;
use crate::service::AgentService;
use crate::time::{RealTime, after, sleep, unix_time};
use ethermeter_net::SkewedClock;
use ethermeter_net::pacing::PriorityGuard;
use ethermeter_station::consent::{Ceilings, CertificateSerial};
use ethermeter_station::interfaces::interfaces;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::AbortHandle;
use tokio::time::{Sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::client::danger::HandshakeSignatureValid;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error as TlsError, OtherError,
    RootCertStore, ServerConfig, SignatureScheme,
};
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// Authenticated connections; further ones are closed at once. Those that
/// have not are held by `PendingConnections`.
pub const MOST_CONNECTIONS: usize = 32;
/// Timeout of authentication.
const HANDSHAKE: Duration = Duration::from_secs(2);
/// Calls at once on a connection.
const MOST_CALLS: u16 = 16;
/// Octets of the longest request.
pub const LONGEST_REQUEST: u32 = 256 << 10;
/// A connection on which nothing arrives for so long is closed. Those of coordinators answer a ping
/// each second.
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
pub struct BoundAgent {
    listener: TcpListener,
    server: Server,
    tls: Option<TlsAcceptor>,
    service: AgentService,
    /// What its operator should know.
    pub warnings: Vec<String>,
}

/// Take up an address, for an agent whose frames show the time of `own_clock`.
///
/// # Errors
/// If it is beyond loopback without credentials, they are of no use, or the system refuses.
pub async fn listen(
    at: SocketAddr,
    ceilings: Ceilings,
    credentials: Option<&Credentials>,
    own_clock: SkewedClock,
) -> Result<BoundAgent, ListenError> {
    if credentials.is_none() && !at.ip().is_loopback() {
        return Err(ListenError::Plain(at));
    }
    let server = Server::builder()
        .max_concurrent_streams(u32::from(MOST_CALLS))
        .concurrency_limit_per_connection(usize::from(MOST_CALLS))
        .initial_stream_window_size(LONGEST_REQUEST)
        .initial_connection_window_size(2 * LONGEST_REQUEST)
        .http2_max_header_list_size(16 << 10)
        .http2_max_pending_accept_reset_streams(Some(16))
        .http2_keepalive_interval(Some(PING))
        .http2_keepalive_timeout(Some(QUIET));
    let revoked = || ceilings.revoked.clone();
    let tls = credentials.map(|credentials| acceptor(credentials, revoked())).transpose();
    let tls = tls.map_err(ListenError::Credentials)?;
    let notary = credentials.map(|credentials| Notary::new(credentials, revoked())).transpose();
    let notary = notary.map_err(ListenError::Credentials)?;
    let own: Vec<IpAddr> = interfaces()
        .iter()
        .flat_map(|interface| interface.addresses().collect::<Vec<_>>())
        .collect();
    let warnings = notary.as_ref().map(|notary| notary.check(&own, unix_time())).transpose();
    let warnings = warnings.map_err(ListenError::Credentials)?.unwrap_or_default();
    let listener =
        TcpListener::bind(at).await.map_err(|source| ListenError::System { at, source })?;
    let service = AgentService::new(ceilings, notary, own_clock, RealTime::default());
    Ok(BoundAgent { listener, server, tls, service, warnings })
}

/// Who may be a coordinator: a certificate of the authority is proven as for any client, and then
/// looked at for what it is for.
#[derive(Debug)]
struct CoordinatorVerifier {
    clients: Arc<dyn ClientCertVerifier>,
    authority: CertificateDer<'static>,
    revoked: Vec<CertificateSerial>,
}

impl ClientCertVerifier for CoordinatorVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.clients.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        further: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, TlsError> {
        let verified = self.clients.verify_client_cert(certificate, further, now)?;
        let checked = check_coordinator(certificate, &self.authority, &self.revoked, now);
        let other =
            |fault: String| CertificateError::Other(OtherError(Arc::from(Box::from(fault))));
        checked.map_err(other)?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.clients.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.clients.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.clients.supported_verify_schemes()
    }
}

/// TLS with a certificate at both ends, each of the authority.
fn acceptor(
    credentials: &Credentials,
    revoked: Vec<CertificateSerial>,
) -> Result<TlsAcceptor, String> {
    let Credentials { certificate, key, authority } = credentials;
    let read = |pem: &[u8], what: &str| -> Result<Vec<CertificateDer<'static>>, String> {
        CertificateDer::pem_slice_iter(pem)
            .collect::<Result<_, _>>()
            .map_err(|error| format!("{what}: {error}"))
    };
    let mut roots = RootCertStore::empty();
    let authority =
        CertificateDer::from_pem_slice(authority).map_err(|error| format!("authority: {error}"))?;
    roots.add(authority.clone()).map_err(|error| format!("authority: {error}"))?;
    let clients = WebPkiClientVerifier::builder(Arc::new(roots))
        .build()
        .map_err(|error| format!("authority: {error}"))?;
    let clients = Arc::new(CoordinatorVerifier { clients, authority, revoked });
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| format!("key: {error}"))?;
    let mut config = ServerConfig::builder_with_protocol_versions(&[&TLS13])
        .with_client_cert_verifier(clients)
        .with_single_cert(read(certificate, "certificate")?, key)
        .map_err(|error| format!("certificate: {error}"))?;
    config.alpn_protocols.push(b"h2".to_vec());
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Listen and answer, for callers without a runtime of their own: `ready` is called with the
/// address and what the operator should know, `should_stop` every 50 ms.
///
/// # Errors
/// As [`listen`] and [`BoundAgent::serve`], and if the system refuses a runtime.
pub fn serve_blocking(
    at: SocketAddr,
    ceilings: Ceilings,
    credentials: Option<&Credentials>,
    own_clock: SkewedClock,
    ready: impl Fn(SocketAddr, &[String]),
    should_stop: impl Fn() -> bool,
) -> Result<(), ListenError> {
    let failed = |source| ListenError::System { at, source };
    // Threads that wait for roles to end go away after a second.
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime =
        builder.thread_keep_alive(Duration::from_secs(1)).enable_all().build().map_err(failed)?;
    runtime.block_on(async {
        let listening = listen(at, ceilings, credentials, own_clock).await?;
        ready(listening.local().map_err(failed)?, &listening.warnings);
        listening.serve(stop_requested(should_stop)).await
    })
}

/// Ready when `should_stop`, called every 50 ms, returns true.
pub(crate) async fn stop_requested(should_stop: impl Fn() -> bool) {
    while !should_stop() {
        sleep(Duration::from_millis(50)).await;
    }
}

/// An error with all that caused it.
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
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

impl BoundAgent {
    /// Where it listens.
    ///
    /// # Errors
    /// If the operating system does not report it.
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
    pub async fn serve(self, end: impl Future<Output = ()>) -> Result<(), ListenError> {
        // The runtime has this one thread. On a host that is busy with roles it is the thread that
        // keeps their leases.
        let _priority = PriorityGuard::above_roles_where_allowed();
        let watching = self.service.clone();
        std::thread::Builder::new()
            .name("watch".into())
            .spawn(move || watching.watch())
            .expect("a thread for the watch: without it no lease would end");
        let watching = self.service.clone();
        std::thread::Builder::new()
            .name("ways".into())
            .spawn(move || watching.watch_paths())
            .expect("a thread for the watch: without it no change of routes would be seen");
        let Self { listener, server, tls, service, warnings: _ } = self;
        let outcome = match tls {
            Some(tls) => serve(listener, server, &service, tls, end).await,
            None => serve(listener, server, &service, PlainHandshake, end).await,
        };
        // Joining threads would block the others that are still to end.
        let _ = tokio::task::spawn_blocking(move || service.shut_down()).await;
        outcome
    }
}

async fn serve<H: PeerHandshake>(
    listener: TcpListener,
    mut server: Server,
    service: &AgentService,
    handshake: H,
    end: impl Future<Output = ()>,
) -> Result<(), ListenError> {
    let (accepted, incoming) = mpsc::channel(1);
    let accepting = tokio::spawn(accept(listener, handshake, accepted));
    let calls = AgentServer::new(service.clone(), LONGEST_REQUEST as usize, LONGEST_RESULT);
    let serving = server
        .add_service(calls)
        .add_service(OlderCalls)
        .serve_with_incoming(ReceiverStream::new(incoming));
    let outcome = tokio::select! {
        outcome = serving => outcome.map_err(ListenError::Serve),
        () = end => Ok(()),
    };
    accepting.abort();
    outcome
}

/// Octets of the longest result: 64 roles with two histograms each.
pub(crate) const LONGEST_RESULT: usize = 64 << 20;

/// Authentication of a peer.
trait PeerHandshake: Clone + Send + 'static {
    /// A connection whose other end has done so.
    type Stream: AsyncRead
        + AsyncWrite
        + Connected<ConnectInfo: Clone + Send + Sync>
        + Unpin
        + Send
        + 'static;

    /// Wait for the proof.
    fn shake(
        &self,
        connection: TimedConnection,
    ) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// The connection beneath.
    fn connection(stream: &mut Self::Stream) -> &mut TimedConnection;
}

impl PeerHandshake for TlsAcceptor {
    type Stream = TlsStream<TimedConnection>;

    async fn shake(&self, connection: TimedConnection) -> io::Result<Self::Stream> {
        self.accept(connection).await
    }

    fn connection(stream: &mut Self::Stream) -> &mut TimedConnection {
        stream.get_mut().0
    }
}

/// Without TLS: all peers are of this host, and a coordinator begins with the preface of HTTP/2.
#[derive(Clone, Copy)]
struct PlainHandshake;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

impl PeerHandshake for PlainHandshake {
    type Stream = TimedConnection;

    async fn shake(&self, connection: TimedConnection) -> io::Result<Self::Stream> {
        let mut first = [0; PREFACE.len()];
        loop {
            let octets = connection.stream.peek(&mut first).await?;
            if octets == 0 || first[..octets] != PREFACE[..octets] {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if octets == PREFACE.len() {
                return Ok(connection);
            }
            // What was looked at is still there, so the socket stays readable.
            sleep(Duration::from_millis(5)).await;
        }
    }

    fn connection(stream: &mut Self::Stream) -> &mut TimedConnection {
        stream
    }
}

/// Handshakes under way, and a handle to abort each.
#[derive(Default)]
struct PendingHandshakes {
    pending: PendingConnections,
    ends: BTreeMap<u64, AbortHandle>,
}

fn lock(handshakes: &Mutex<PendingHandshakes>) -> MutexGuard<'_, PendingHandshakes> {
    handshakes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes a pending handshake when it ends, however it ends.
struct PendingGuard {
    handshakes: Arc<Mutex<PendingHandshakes>>,
    number: u64,
}

impl Drop for PendingGuard {
    fn drop(&mut self) {
        let mut handshakes = lock(&self.handshakes);
        handshakes.pending.leave(self.number);
        handshakes.ends.remove(&self.number);
    }
}

async fn accept<H: PeerHandshake>(
    listener: TcpListener,
    handshake: H,
    accepted: mpsc::Sender<io::Result<H::Stream>>,
) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let handshakes = Arc::new(Mutex::new(PendingHandshakes::default()));
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // Out of descriptors, or a connection that was gone at once: neither is for ever.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let connection = TimedConnection { stream, quiet: Box::pin(sleep(QUIET)), permit: None };
        let mut pending = lock(&handshakes);
        let (number, gone) = pending.pending.admit(peer.ip());
        if let Some(end) = gone.and_then(|gone| pending.ends.remove(&gone)) {
            end.abort();
        }
        let guard = PendingGuard { handshakes: Arc::clone(&handshakes), number };
        let (handshake, room, accepted) = (handshake.clone(), Arc::clone(&room), accepted.clone());
        let handshaking = tokio::spawn(async move {
            let outcome = timeout(HANDSHAKE, handshake.shake(connection)).await;
            let Ok(Ok(mut stream)) = outcome else { return };
            drop(guard);
            // Without room it is closed at once, so that the peer learns of it.
            let Ok(permit) = room.try_acquire_owned() else { return };
            H::connection(&mut stream).permit = Some(permit);
            let _ = accepted.send(Ok(stream)).await;
        });
        pending.ends.insert(number, handshaking.abort_handle());
    }
}

/// A connection that ends when nothing arrives on it.
struct TimedConnection {
    stream: TcpStream,
    quiet: Pin<Box<Sleep>>,
    /// Slot of the connection among authenticated ones.
    permit: Option<OwnedSemaphorePermit>,
}

impl Connected for TimedConnection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for TimedConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(context, buffer);
        if polled.is_ready() && buffer.filled().len() > before {
            this.quiet.as_mut().reset(after(QUIET));
        } else if polled.is_pending() && this.quiet.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        polled
    }
}

impl AsyncWrite for TimedConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
