//! One connection, from its first bytes to its end.

use super::body::RequestBody;
use super::prefix::{Prefix, Prefixed};
use super::streams::{StreamExecutor, Streams, to_the_end};
use crate::FibreTimer;
use fibre_core::timeout;
use fibre_io::net::Connection;
use fibre_sync::block_on;
use fibre_sync::channel::Receiver;
use hyper::body::{Body, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use rustix::net::sockopt::{set_tcp_nodelay, set_tcp_user_timeout};
use std::error::Error;
use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::AsFd;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

/// The limits of a server.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) max_body: u64,
    pub(super) head_timeout: Duration,
    pub(super) body_timeout: Duration,
    pub(super) write_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_body: 2 << 20,
            head_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
        }
    }
}

/// Serves a connection until its client leaves, or it has finished what it is at once `draining`
/// is closed, or the fibre is cancelled. Blocks the fibre.
///
/// What befalls a connection is its client's doing and no concern of the server's.
pub(super) fn serve<C, S, B>(
    settings: &Settings,
    mut stream: C,
    service: S,
    draining: &Receiver<()>,
) where
    C: Connection + io::Read + AsFd + Unpin + Send + 'static,
    S: Service<Request<RequestBody>, Response = Response<B>> + Send + 'static,
    S::Future: Future<Output = Result<Response<B>, S::Error>> + Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    set_options(settings, &stream);
    let Ok(Ok(Some(prefix))) = timeout(settings.head_timeout, || Prefix::read(&mut stream)) else {
        return;
    };
    let (max_body, time) = (settings.max_body, settings.body_timeout);
    let limited = service_fn(move |request: Request<Incoming>| {
        service.call(request.map(|body| RequestBody::new(body, max_body, time)))
    });
    let is_http2 = prefix.is_http2();
    let io = Prefixed::new(prefix, stream);
    if is_http2 {
        let streams = Arc::new(Streams::default());
        let mut builder = http2::Builder::new(StreamExecutor(Arc::clone(&streams)));
        builder
            .timer(FibreTimer::new())
            .keep_alive_interval(settings.head_timeout)
            .keep_alive_timeout(settings.head_timeout);
        let connection = builder.serve_connection(io, limited);
        let driven = to_the_end(|| drive(connection, |one| one.graceful_shutdown(), draining));
        streams.end(driven.is_err());
    } else {
        let connection = http1::Builder::new()
            .timer(FibreTimer::new())
            .header_read_timeout(settings.head_timeout)
            .serve_connection(io, limited)
            .with_upgrades();
        let _ = to_the_end(|| drive(connection, |one| one.graceful_shutdown(), draining));
    }
}

/// Answers go out at once, and not to clients that do not read them for ever.
fn set_options(settings: &Settings, stream: &impl AsFd) {
    // Unix sockets have neither.
    let _ = set_tcp_nodelay(stream, true);
    let limit = settings.write_timeout.as_millis();
    let _ = set_tcp_user_timeout(stream, limit.try_into().unwrap_or(u32::MAX));
}

/// Polls a connection until it ends; once `draining` is closed, `shut_down` has it end when it has
/// nothing more to do. Blocks the fibre.
fn drive<C: Future>(connection: C, shut_down: impl Fn(Pin<&mut C>), draining: &Receiver<()>) {
    let mut connection = pin!(connection);
    let mut drained = pin!(draining.recv_async());
    let mut drains = false;
    block_on(poll_fn(|context| {
        if !drains && drained.as_mut().poll(context).is_ready() {
            drains = true;
            shut_down(connection.as_mut());
        }
        connection.as_mut().poll(context).map(drop)
    }));
}
