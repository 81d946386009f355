//! How calls travel: gRPC, with each body as one JSON text.

use crate::protocol::{
    Call, CollectRequest, HelloReply, HelloRequest, LeaseReply, LeaseRequest, PROTOCOL,
    PrepareRequest, ProgressReport, ProgressRequest, SignedGrant, Stamped, StartRequest,
    StopRequest,
};
use bytes::{Buf, BufMut};
use ethermeter_station::AgentReport;
use ethermeter_station::consent::GrantRequest;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::convert::Infallible;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{NamedService, ServerStreamingService, UnaryService};
use tonic::transport::Channel;
use tonic::{Request, Response, Status, Streaming, client, server};

const SERVICE: &str = "ethermeter.Agent";

/// Bodies as JSON.
struct Json<E, D>(PhantomData<(E, D)>);

impl<E, D> Json<E, D> {
    fn new() -> Self {
        Self(PhantomData)
    }
}

impl<E: Serialize + Send + 'static, D: DeserializeOwned + Send + 'static> Codec for Json<E, D> {
    type Encode = E;
    type Decode = D;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self::new()
    }

    fn decoder(&mut self) -> Self {
        Self::new()
    }
}

impl<E: Serialize, D> Encoder for Json<E, D> {
    type Item = E;
    type Error = Status;

    fn encode(&mut self, body: E, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        serde_json::to_writer(buffer.writer(), &body)
            .map_err(|error| Status::internal(format!("a body as JSON: {error}")))
    }
}

impl<E, D: DeserializeOwned> Decoder for Json<E, D> {
    type Item = D;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<D>, Status> {
        let text = buffer.copy_to_bytes(buffer.remaining());
        let body = serde_json::from_slice(&text);
        body.map(Some).map_err(|error| Status::invalid_argument(format!("body: {error}")))
    }
}

/// What a coordinator calls an agent by.
#[derive(Clone)]
pub struct AgentClient(client::Grpc<Channel>);

impl AgentClient {
    /// One over a connection; no reply is to be longer than `longest_reply` octets.
    #[must_use]
    pub fn new(channel: Channel, longest_reply: usize) -> Self {
        Self(client::Grpc::new(channel).max_decoding_message_size(longest_reply))
    }

    async fn ready(&mut self) -> Result<(), Status> {
        let ready = self.0.ready().await;
        ready.map_err(|error| Status::unknown(format!("the connection is not ready: {error}")))
    }

    /// Make a call and wait for its reply.
    ///
    /// # Errors
    /// If the agent refuses it, fails, or is not reached.
    pub async fn call<C: Call>(&mut self, request: C) -> Result<C::Reply, Status> {
        self.ready().await?;
        let reply = self.0.unary(Request::new(request), path_of(C::NAME), Json::new()).await?;
        Ok(reply.into_inner())
    }

    /// Make a call and take its replies one by one.
    ///
    /// # Errors
    /// As [`AgentClient::call`].
    pub async fn stream<C: Call>(&mut self, request: C) -> Result<Streaming<C::Reply>, Status> {
        self.ready().await?;
        let request = Request::new(request);
        Ok(self.0.server_streaming(request, path_of(C::NAME), Json::new()).await?.into_inner())
    }
}

fn path_of(name: &'static str) -> PathAndQuery {
    let path = PathAndQuery::try_from(format!("/{SERVICE}/{name}"));
    path.unwrap_or_else(|_| unreachable!("names of calls are words"))
}

/// A request with its stamp, and who calls.
pub type StampedRequest<T> = Request<Stamped<T>>;

/// What an agent does.
#[tonic::async_trait]
pub trait Agent: Send + Sync + 'static {
    /// Identity and clock of the agent. The only call without a stamp.
    async fn hello(&self, request: HelloRequest) -> Result<HelloReply, Status>;
    /// As a receiver: open a port, which may take seconds, and grant one sender the right to send to
    /// it. One call at a time opens ports of an experiment.
    async fn grant(&self, request: StampedRequest<GrantRequest>) -> Result<SignedGrant, Status>;
    /// Take up roles.
    async fn prepare(&self, request: StampedRequest<PrepareRequest>) -> Result<(), Status>;
    /// Begin at a scheduled instant.
    async fn start(&self, request: StampedRequest<StartRequest>) -> Result<(), Status>;
    /// Report progress until the experiment ends.
    async fn progress(
        &self,
        request: StampedRequest<ProgressRequest>,
    ) -> Result<ReceiverStream<Result<ProgressReport, Status>>, Status>;
    /// Renew the lease.
    async fn lease(&self, request: StampedRequest<LeaseRequest>) -> Result<LeaseReply, Status>;
    /// End the roles.
    async fn stop(&self, request: StampedRequest<StopRequest>) -> Result<(), Status>;
    /// Return the results.
    async fn collect(&self, request: StampedRequest<CollectRequest>)
    -> Result<AgentReport, Status>;
}

/// Answers calls by an agent.
pub struct AgentServer<A> {
    agent: Arc<A>,
    longest_request: usize,
    longest_reply: usize,
}

impl<A> Clone for AgentServer<A> {
    fn clone(&self) -> Self {
        Self { agent: Arc::clone(&self.agent), ..*self }
    }
}

impl<A> NamedService for AgentServer<A> {
    const NAME: &'static str = SERVICE;
}

impl<A: Agent> AgentServer<A> {
    /// One for `agent`; longer requests and replies, in octets, are refused.
    pub fn new(agent: A, longest_request: usize, longest_reply: usize) -> Self {
        Self { agent: Arc::new(agent), longest_request, longest_reply }
    }

    fn grpc<E, D>(&self) -> server::Grpc<Json<E, D>>
    where
        E: Serialize + Send + 'static,
        D: DeserializeOwned + Send + 'static,
    {
        server::Grpc::new(Json::new())
            .max_decoding_message_size(self.longest_request)
            .max_encoding_message_size(self.longest_reply)
    }

    async fn unary<C: Call, F>(
        self,
        request: http::Request<Body>,
        act: impl FnOnce(Arc<A>, Request<C>) -> F + Send,
    ) -> http::Response<Body>
    where
        F: Future<Output = Result<C::Reply, Status>> + Send + 'static,
    {
        let agent = Arc::clone(&self.agent);
        let once = Once(Some(|request| act(agent, request)));
        self.grpc().unary(once, request).await
    }

    async fn answer(self, request: http::Request<Body>) -> http::Response<Body> {
        let path = request.uri().path().to_owned();
        match path.rsplit('/').next().unwrap_or_default() {
            HelloRequest::NAME => {
                let act = |agent: Arc<A>, request: Request<HelloRequest>| async move {
                    agent.hello(request.into_inner()).await
                };
                self.unary(request, act).await
            }
            Stamped::<GrantRequest>::NAME => {
                self.unary(request, |agent, call| async move { agent.grant(call).await }).await
            }
            Stamped::<PrepareRequest>::NAME => {
                self.unary(request, |agent, call| async move { agent.prepare(call).await }).await
            }
            Stamped::<StartRequest>::NAME => {
                self.unary(request, |agent, call| async move { agent.start(call).await }).await
            }
            Stamped::<LeaseRequest>::NAME => {
                self.unary(request, |agent, call| async move { agent.lease(call).await }).await
            }
            Stamped::<StopRequest>::NAME => {
                self.unary(request, |agent, call| async move { agent.stop(call).await }).await
            }
            Stamped::<CollectRequest>::NAME => {
                self.unary(request, |agent, call| async move { agent.collect(call).await }).await
            }
            Stamped::<ProgressRequest>::NAME => {
                let agent = Arc::clone(&self.agent);
                let once = Once(Some(|call| async move { agent.progress(call).await }));
                self.grpc().server_streaming(once, request).await
            }
            name => Status::unimplemented(format!("no call {name:?}")).into_http(),
        }
    }
}

impl<A: Agent> Service<http::Request<Body>> for AgentServer<A> {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { Ok(server.answer(request).await) })
    }
}

/// Does what one call asks.
struct Once<H>(Option<H>);

impl<H, C, R, F> UnaryService<C> for Once<H>
where
    H: FnOnce(Request<C>) -> F,
    F: Future<Output = Result<R, Status>> + Send + 'static,
{
    type Response = R;
    type Future = BoxFuture<Response<R>, Status>;

    fn call(&mut self, request: Request<C>) -> Self::Future {
        let act = self.0.take().unwrap_or_else(|| unreachable!("a request has one call"));
        let reply = act(request);
        Box::pin(async move { reply.await.map(Response::new) })
    }
}

impl<H, C, R, F> ServerStreamingService<C> for Once<H>
where
    H: FnOnce(Request<C>) -> F,
    F: Future<Output = Result<ReceiverStream<Result<R, Status>>, Status>> + Send + 'static,
    R: Send + 'static,
{
    type Response = R;
    type ResponseStream = ReceiverStream<Result<R, Status>>;
    type Future = BoxFuture<Response<Self::ResponseStream>, Status>;

    fn call(&mut self, request: Request<C>) -> Self::Future {
        let act = self.0.take().unwrap_or_else(|| unreachable!("a request has one call"));
        let replies = act(request);
        Box::pin(async move { replies.await.map(Response::new) })
    }
}

/// Refuses calls of coordinators whose protocol is older than 9, which call another service.
#[derive(Clone, Copy)]
pub struct OlderCalls;

impl NamedService for OlderCalls {
    const NAME: &'static str = "ethermeter.agent.v1.Agent";
}

impl Service<http::Request<Body>> for OlderCalls {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<Body>) -> Self::Future {
        let refused = other_protocol("older than 9").into_http();
        std::future::ready(Ok(refused))
    }
}

/// The refusal of a coordinator of another protocol.
pub(crate) fn other_protocol(of_coordinator: impl std::fmt::Display) -> Status {
    let version = env!("CARGO_PKG_VERSION");
    Status::failed_precondition(format!(
        "protocol {of_coordinator}: must be {PROTOCOL}, that of the agent (ethermeter {version})"
    ))
}
