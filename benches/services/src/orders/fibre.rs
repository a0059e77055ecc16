//! The orders on fibres: one for each connection, and the blocking client of Redis as it is.

use std::io;
use std::process;
use std::time::Duration;

use clap::Parser;
use fibre::net::{self, TcpListener};
use fibre::signal::{SIGINT, SIGTERM, Signals};
use fibre::sync::{Mutex, Semaphore};
use fibre::{CancelToken, Cluster};
use fibre_hyper::{Server, handler};
use fibre_libc as _;
use fibre_services::{GRACE, Orders, say};
use hyper::body::Bytes;
use hyper::{Request, Response, StatusCode};
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::metrics::{counter::Counter, family::Family};
use prometheus_client::registry::Registry;
use redis::{Client, Cmd, Connection, FromRedisValue, RedisResult};
use tracing::{error, info, info_span, warn};
use tracing_subscriber::{fmt, prelude::*};

/// Connections to Redis, each for one request at a time.
struct Redis {
    client: Client,
    places: Semaphore,
    idle: Mutex<Vec<Connection>>,
    each: Duration,
}

impl Redis {
    /// Asks Redis. Blocks the fibre. A connection that has failed is not used again.
    fn ask<T: FromRedisValue>(&self, question: &Cmd) -> RedisResult<T> {
        let place = self.places.permit_timeout(self.each);
        let _place = place.ok_or_else(|| io::Error::other("all connections are in use"))?;
        let idle = self.idle.lock().pop();
        let mut connection = idle.map_or_else(|| self.open(), Ok)?;
        let answer = question.query(&mut connection)?;
        self.idle.lock().push(connection);
        Ok(answer)
    }

    /// Opens a connection.
    fn open(&self) -> RedisResult<Connection> {
        let connection = self.client.get_connection_with_timeout(self.each)?;
        connection.set_read_timeout(Some(self.each))?;
        connection.set_write_timeout(Some(self.each))?;
        Ok(connection)
    }
}

/// What requests share.
struct Service {
    redis: Redis,
    taken: Counter,
    requests: Family<[(&'static str, u32); 1], Counter>,
}

impl Service {
    /// What a request gets.
    fn answer(&self, request: &Request<Bytes>) -> RedisResult<(StatusCode, String)> {
        let path: Vec<&str> = request.uri().path().split('/').skip(1).collect();
        let empty = |status| Ok((status, String::new()));
        match (request.method().as_str(), &path[..]) {
            ("GET" | "HEAD", ["metrics"]) => Ok((StatusCode::OK, fibre::exposition())),
            ("GET" | "HEAD", ["ready"]) => Ok((StatusCode::OK, self.redis.ask(&Cmd::ping())?)),
            (_, ["orders", ""]) => empty(StatusCode::NOT_FOUND),
            ("GET" | "HEAD", ["orders", name]) => {
                let all: Vec<String> = self.redis.ask(&Cmd::lrange(*name, 0, -1))?;
                Ok((StatusCode::OK, all.join("\n")))
            }
            ("POST", ["orders", name]) => {
                let Ok(order) = str::from_utf8(request.body()) else {
                    return empty(StatusCode::BAD_REQUEST);
                };
                let count: u64 = self.redis.ask(&Cmd::rpush(*name, order))?;
                self.taken.inc();
                Ok((StatusCode::CREATED, count.to_string()))
            }
            (_, ["metrics" | "ready"] | ["orders", _]) => empty(StatusCode::METHOD_NOT_ALLOWED),
            _ => empty(StatusCode::NOT_FOUND),
        }
    }

    /// Answers a request in a span of its own.
    fn respond(&self, request: &Request<Bytes>) -> Response<String> {
        let (method, path) = (request.method().as_str(), request.uri().path());
        let _span = info_span!("request", method, path).entered();
        let (status, text) = self.answer(request).unwrap_or_else(|error| {
            warn!(%error, "Redis");
            (StatusCode::SERVICE_UNAVAILABLE, String::new())
        });
        let label = [("status", status.as_u16().into())];
        self.requests.get_or_create(&label).inc();
        info!(status = status.as_u16(), "answered");
        let mut response = Response::new(text);
        *response.status_mut() = status;
        response
    }
}

fn main() -> anyhow::Result<()> {
    // SAFETY: no code of this program keeps what belongs to a kernel thread while it waits.
    unsafe { fibre_libc::install() };
    let spans = tracing_subscriber::registry().with(fibre::tracing::layer()?);
    spans.with(fmt::layer().with_writer(io::stderr)).init();
    let options = Orders::parse();
    let signals = Signals::new([SIGTERM, SIGINT])?;
    let threads = options.threads.count();
    let cluster = Cluster::builder().processors(threads).build()?;
    let service = Service {
        redis: Redis {
            client: Client::open(options.redis)?,
            places: Semaphore::new(options.pool),
            idle: Mutex::default(),
            each: options.each,
        },
        taken: Counter::default(),
        requests: Family::default(),
    };
    let mut registry = Registry::default();
    registry.register("orders", "Orders taken", service.taken.clone());
    registry.register("requests", "Requests answered", service.requests.clone());
    fibre::add_exposition(move |mut text| encode_registry(&mut text, &registry));
    let server = Server::new()
        .connections(net::Server::new().max_connections(options.most))
        .max_body(options.max_body as u64)
        .head_timeout(options.client)
        .body_timeout(options.client)
        .write_timeout(options.client);
    let listener = TcpListener::bind(options.listen)?;
    say(format_args!("listening on {}", listener.local_addr()?))?;
    let stop = CancelToken::new();
    let token = stop.clone();
    cluster.spawn(move || {
        let service = handler(move |request| service.respond(&request));
        if let Err(error) = server.serve(listener, service, &token) {
            error!(%error, "accepting");
            process::exit(1);
        }
    });
    signals.wait()?;
    stop.cancel_within(options.drain)?;
    Ok(cluster.stop_within(options.drain, GRACE)?)
}
