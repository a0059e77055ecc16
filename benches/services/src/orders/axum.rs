//! The orders on axum and tokio: a task for each connection, and the asynchronous client of Redis.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use clap::Parser;
use fibre_services::{GRACE, Orders, say};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::{counter::Counter, family::Family};
use prometheus_client::registry::Registry;
use redis::aio::MultiplexedConnection;
use redis::{Client, Cmd, FromRedisValue, RedisResult};
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tracing::{Instrument, info, info_span, warn};

/// Connections to Redis, each for one request at a time.
struct Redis {
    client: Client,
    places: Semaphore,
    idle: Mutex<Vec<MultiplexedConnection>>,
    each: Duration,
}

impl Redis {
    /// Asks Redis. A connection that has failed is not used again.
    async fn ask<T: FromRedisValue>(&self, question: Cmd) -> RedisResult<T> {
        let place = timeout(self.each, self.places.acquire()).await;
        let _place = place.map_err(|_| io::Error::other("all connections are in use"))?;
        let late = |_| io::Error::from(io::ErrorKind::TimedOut);
        let idle = self.idle().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => {
                let opened = self.client.get_multiplexed_async_connection();
                timeout(self.each, opened).await.map_err(late)??
            }
        };
        let asked = question.query_async(&mut connection);
        let answer = timeout(self.each, asked).await.map_err(late)??;
        self.idle().push(connection);
        Ok(answer)
    }

    /// The connections that nobody uses.
    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<MultiplexedConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What requests share.
struct Service {
    options: Orders,
    redis: Redis,
    taken: Counter,
    requests: Family<[(&'static str, u32); 1], Counter>,
    registry: Registry,
}

/// What a request gets, or why Redis has not answered.
type Answer = Result<(StatusCode, String), Unavailable>;

/// An error of Redis.
struct Unavailable(redis::RedisError);

impl From<redis::RedisError> for Unavailable {
    fn from(error: redis::RedisError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Unavailable {
    fn into_response(self) -> Response {
        warn!(error = %self.0, "Redis");
        StatusCode::SERVICE_UNAVAILABLE.into_response()
    }
}

/// The metrics of the program.
async fn metrics(State(service): State<Arc<Service>>) -> String {
    let mut text = String::new();
    // A string takes all that is written.
    let _ = encode(&mut text, &service.registry);
    text
}

/// Whether Redis answers.
async fn ready(State(service): State<Arc<Service>>) -> Answer {
    Ok((StatusCode::OK, service.redis.ask(Cmd::ping()).await?))
}

/// The orders of a name.
async fn list(State(service): State<Arc<Service>>, Path(name): Path<String>) -> Answer {
    let all: Vec<String> = service.redis.ask(Cmd::lrange(name, 0, -1)).await?;
    Ok((StatusCode::OK, all.join("\n")))
}

/// Takes an order, which is text.
async fn take(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    order: axum::body::Bytes,
) -> Answer {
    let Ok(order) = str::from_utf8(&order) else {
        return Ok((StatusCode::BAD_REQUEST, String::new()));
    };
    let count: u64 = service.redis.ask(Cmd::rpush(name, order)).await?;
    service.taken.inc();
    Ok((StatusCode::CREATED, count.to_string()))
}

/// Reads the body of a request within its limits, and answers in a span of its own.
async fn observe(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let Orders {
        client, max_body, ..
    } = service.options;
    let body = match timeout(client, to_bytes(body, max_body)).await {
        Ok(Ok(body)) => Body::from(body),
        Ok(Err(_)) => return StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        Err(_) => return StatusCode::REQUEST_TIMEOUT.into_response(),
    };
    let (method, path) = (head.method.as_str(), head.uri.path());
    let span = info_span!("request", method, path);
    let answering = async {
        let response = next.run(Request::from_parts(head, body)).await;
        let status = response.status().as_u16();
        let label = [("status", status.into())];
        service.requests.get_or_create(&label).inc();
        info!(status, "answered");
        response
    };
    answering.instrument(span).await
}

/// Serves a connection until its end. One that says nothing is closed.
async fn converse(
    stream: TcpStream,
    client: Duration,
    app: Router,
    http: Builder<TokioExecutor>,
    graceful: hyper_util::server::graceful::Watcher,
) {
    let limit = client.as_millis().try_into().unwrap_or(u32::MAX);
    let limited = set_tcp_user_timeout(&stream, limit);
    if limited.is_err() || timeout(client, stream.peek(&mut [0])).await.is_err() {
        return;
    }
    let service = TowerToHyperService::new(app);
    let connection = http.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = graceful.watch(connection.into_owned()).await {
        info!(%error, "a connection");
    }
}

/// Both versions of HTTP, within limits.
fn http(client: Duration) -> Builder<TokioExecutor> {
    let mut http = Builder::new(TokioExecutor::new());
    let mut http1 = http.http1();
    http1.timer(TokioTimer::new());
    http1.header_read_timeout(client);
    let mut http2 = http.http2();
    http2.timer(TokioTimer::new());
    http2.keep_alive_interval(client);
    http2.keep_alive_timeout(client);
    http
}

/// Serves until a signal comes, and then until all requests have been answered.
async fn run(options: Orders) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let redis = Redis {
        client: Client::open(&*options.redis)?,
        places: Semaphore::new(options.pool),
        idle: Mutex::default(),
        each: options.each,
    };
    let (taken, requests) = (Counter::default(), Family::default());
    let mut registry = Registry::default();
    registry.register("orders", "Orders taken", taken.clone());
    registry.register("requests", "Requests answered", requests.clone());
    let service = Arc::new(Service {
        options: options.clone(),
        redis,
        taken,
        requests,
        registry,
    });
    let app = Router::new()
        .route("/metrics", get(metrics))
        .route("/ready", get(ready))
        .route("/orders/{name}", get(list).post(take))
        .layer(from_fn_with_state(service.clone(), observe))
        .with_state(service);
    let http = http(options.client);
    let listener = TcpListener::bind(options.listen).await?;
    say(format_args!("listening on {}", listener.local_addr()?))?;
    let (places, graceful) = (
        Arc::new(Semaphore::new(options.most)),
        GracefulShutdown::new(),
    );
    let accepting = async {
        loop {
            let place = places.clone().acquire_owned().await;
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    warn!(%error, "accepting");
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let (app, http, watcher) = (app.clone(), http.clone(), graceful.watcher());
            tokio::spawn(async move {
                let _place = place;
                converse(stream, options.client, app, http, watcher).await;
            });
        }
    };
    tokio::select! {
        () = accepting => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    drop(listener);
    Ok(timeout(options.drain + GRACE, graceful.shutdown()).await?)
}

fn main() -> anyhow::Result<()> {
    let options = Orders::parse();
    tracing_subscriber::fmt().with_writer(io::stderr).init();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(options.threads.count());
    runtime.enable_all().build()?.block_on(run(options))
}
