//! Servers and clients of hyper on fibres: loads of requests, ends, panics, time-outs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use fibre::net::{AsyncStream, TcpListener, TcpStream};
use fibre::{Cluster, block_on};
use fibre_hyper::{FibreExecutor, FibreIo, FibreTimer};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, client, server};
use std::convert::Infallible;
use std::future::{Future, pending, poll_fn};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

/// How long anything may take before a test counts as hanging.
const LONG: Duration = Duration::from_secs(60);

/// Runs `body` as a fibre of clusters with 1, 2 and 4 processors, each stopped afterwards.
fn for_each_cluster(body: fn(&Cluster)) {
    for processors in [1, 2, 4] {
        let cluster = Cluster::builder().processors(processors).build().unwrap();
        let inside = cluster.clone();
        let root = cluster.spawn(move || body(&inside));
        let ended = root.join_timeout(LONG).expect("it hangs");
        ended.expect("a test's fibre panicked");
        cluster.stop_within(LONG, LONG).unwrap();
    }
}

/// Answers by the path: `/echo` with the body, `/slow` after a while, `/panic` and `/never` not.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = match request.uri().path() {
        "/echo" => request.into_body().collect().await.unwrap().to_bytes(),
        "/slow" => {
            fibre::sleep(Duration::from_millis(5));
            Bytes::from_static(b"slow")
        }
        "/panic" => std::panic::resume_unwind(Box::new("on purpose")),
        "/never" => pending().await,
        path => Bytes::copy_from_slice(path.as_bytes()),
    };
    Ok(Response::new(Full::new(body)))
}

/// Which protocol is spoken.
#[derive(Clone, Copy, Debug)]
enum Version {
    One,
    Two,
}

/// Serves one connection; what has come of it is of no interest. Blocks the fibre.
fn serve(version: Version, connection: TcpStream) {
    let io = FibreIo::new(connection);
    match version {
        Version::One => {
            let mut builder = server::conn::http1::Builder::new();
            builder.timer(FibreTimer::new());
            let _ = block_on(builder.serve_connection(io, service_fn(answer)));
        }
        Version::Two => {
            let mut builder = server::conn::http2::Builder::new(FibreExecutor::new());
            builder.timer(FibreTimer::new());
            let _ = block_on(builder.serve_connection(io, service_fn(answer)));
        }
    }
}

/// A server with a fibre for each connection; until its listener is closed.
struct Server {
    listener: Arc<TcpListener>,
    address: SocketAddr,
}

impl Server {
    fn start(version: Version) -> Self {
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
        let address = listener.local_addr().unwrap();
        let accepting = Arc::clone(&listener);
        fibre::spawn(move || {
            while let Ok((connection, _)) = accepting.accept() {
                fibre::spawn(move || serve(version, connection));
            }
        });
        Self { listener, address }
    }

    /// A client's connection.
    fn connect(&self) -> FibreIo<TcpStream> {
        FibreIo::new(TcpStream::connect(self.address).unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listener.close();
    }
}

/// A request to echo these words, or for this path.
fn request(path: &str, body: &str) -> Request<Full<Bytes>> {
    let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
    let request = Request::post(format!("http://server{path}")).header("host", "server");
    request.body(body).unwrap()
}

/// The body of an answer.
async fn text(response: Response<Incoming>) -> String {
    assert_eq!(response.status(), 200);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

/// Many connections, each with many requests, one after the other; small and large bodies.
fn load_of_version_one(_: &Cluster) {
    let server = Arc::new(Server::start(Version::One));
    let clients = (0..20).map(|client| {
        let server = Arc::clone(&server);
        fibre::spawn(move || {
            block_on(async {
                let handshake = client::conn::http1::handshake(server.connect()).await;
                let (mut sender, connection) = handshake.unwrap();
                let driver = fibre::spawn(move || block_on(connection).is_ok());
                for number in 0..50 {
                    let size = if number % 10 == 0 { 200_000 } else { 10 };
                    let words = format!("{client} {number} {}", "x".repeat(size));
                    sender.ready().await.unwrap();
                    let answer = sender.send_request(request("/echo", &words)).await;
                    assert_eq!(text(answer.unwrap()).await, words);
                }
                drop(sender);
                assert!(driver.await.unwrap());
            });
        })
    });
    let clients: Vec<_> = clients.collect();
    clients
        .into_iter()
        .for_each(|client| client.join().unwrap());
}

#[test]
fn many_clients_of_version_one() {
    for_each_cluster(load_of_version_one);
}

/// Many streams at the same time in each of some connections. A handler that blocks its fibre keeps
/// no other stream waiting.
fn load_of_version_two(_: &Cluster) {
    let server = Arc::new(Server::start(Version::Two));
    let clients = (0..5).map(|client| {
        let server = Arc::clone(&server);
        fibre::spawn(move || {
            let executor = FibreExecutor::new();
            let handshake = client::conn::http2::handshake(executor, server.connect());
            let (sender, connection) = block_on(handshake).unwrap();
            let driver = fibre::spawn(move || block_on(connection).is_ok());
            let streams = (0..40).map(|number| {
                let mut sender = sender.clone();
                fibre::spawn(move || {
                    block_on(async {
                        let size = if number % 10 == 0 { 100_000 } else { 10 };
                        let words = format!("{client} {number} {}", "x".repeat(size));
                        let (path, expected) = match number % 4 {
                            0 => ("/slow", "slow".to_owned()),
                            _ => ("/echo", words.clone()),
                        };
                        let answer = sender.send_request(request(path, &words)).await;
                        assert_eq!(text(answer.unwrap()).await, expected);
                    });
                })
            });
            let streams: Vec<_> = streams.collect();
            streams
                .into_iter()
                .for_each(|stream| stream.join().unwrap());
            drop(sender);
            let _ = driver.join().unwrap();
        })
    });
    let clients: Vec<_> = clients.collect();
    clients
        .into_iter()
        .for_each(|client| client.join().unwrap());
}

#[test]
fn many_streams_of_version_two() {
    for_each_cluster(load_of_version_two);
}

/// A panic in a handler ends its connection, and no other.
fn panic_in_a_handler(_: &Cluster) {
    let server = Server::start(Version::One);
    let ask = |path: &'static str| {
        let io = server.connect();
        block_on(async {
            let (mut sender, connection) = client::conn::http1::handshake(io).await.unwrap();
            let driver = fibre::spawn(move || block_on(connection).is_ok());
            let answer = sender.send_request(request(path, "")).await;
            drop(sender);
            let answer = match answer {
                Ok(answer) => Some(text(answer).await),
                Err(_) => None,
            };
            let _ = driver.await;
            answer
        })
    };
    assert_eq!(ask("/panic"), None);
    assert_eq!(ask("/well"), Some("/well".to_owned()));
}

#[test]
fn a_panic_ends_one_connection() {
    for_each_cluster(panic_in_a_handler);
}

/// A client that waits for an answer that never comes, within a time-out.
fn never_answered(_: &Cluster) {
    let server = Server::start(Version::One);
    let (mut sender, connection) =
        block_on(client::conn::http1::handshake(server.connect())).unwrap();
    let driver = fibre::spawn(move || block_on(connection).is_ok());
    let ended = fibre::timeout(Duration::from_millis(20), || {
        block_on(sender.send_request(request("/never", ""))).is_ok()
    });
    assert!(ended.is_err());
    drop(sender);
    let _ = driver.join().unwrap();
}

#[test]
fn a_timeout_ends_a_client() {
    for_each_cluster(never_answered);
}

/// A client that never sends the end of its request's head is thrown out when hyper's time-out is
/// over; the time passes by a fibre.
fn slow_head(_: &Cluster) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (connection, _) = listener.accept().unwrap();
    let server = fibre::spawn(move || {
        let mut builder = server::conn::http1::Builder::new();
        builder.timer(FibreTimer::new());
        builder.header_read_timeout(Duration::from_millis(20));
        let service = service_fn(answer);
        block_on(builder.serve_connection(FibreIo::new(connection), service)).is_err()
    });
    client.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    let _ = client.read_to_end(&mut Vec::new());
    assert!(server.join().unwrap());
}

#[test]
fn a_time_out_of_hypers_passes() {
    for_each_cluster(slow_head);
}

/// A connection that is told to end finishes the request that it is at.
fn graceful_end(_: &Cluster) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = fibre::channel::bounded::<()>(1);
    let (begun, begins) = fibre::channel::bounded::<()>(1);
    let server = fibre::spawn(move || {
        let (connection, _) = listener.accept().unwrap();
        let (stopping, begun) = (stopped.clone(), begun);
        let service = service_fn(move |_: Request<Incoming>| {
            let (stopped, begun) = (stopped.clone(), begun.clone());
            async move {
                begun.send_async(()).await.unwrap();
                // It answers when it has been told to end.
                let _ = stopped.recv_async().await;
                Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
            }
        });
        let builder = server::conn::http1::Builder::new();
        let mut serving = pin!(builder.serve_connection(FibreIo::new(connection), service));
        block_on(async {
            let mut stopped = pin!(stopping.recv_async());
            let mut stops = false;
            poll_fn(|context| {
                if !stops && stopped.as_mut().poll(context).is_ready() {
                    stops = true;
                    serving.as_mut().graceful_shutdown();
                }
                serving.as_mut().poll(context)
            })
            .await
        })
    });
    let mut client = TcpStream::connect(address).unwrap();
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    begins.recv().unwrap();
    drop(stop);
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    server.join().unwrap().unwrap();
}

#[test]
fn a_connection_ends_gracefully() {
    for_each_cluster(graceful_end);
}

/// Streams are polled by tasks of tokio's, by plain threads, and by fibres, against each other.
fn any_executor(_: &Cluster) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let echo = |stream: TcpStream| async move {
        let mut stream = AsyncStream::new(stream);
        let mut buffer = vec![0; 10_000];
        loop {
            let count = poll_fn(|context| stream.poll_read(context, &mut buffer)).await?;
            if count == 0 {
                return stream.shut_down();
            }
            let mut rest = &buffer[..count];
            while !rest.is_empty() {
                let written = poll_fn(|context| stream.poll_write(context, rest)).await?;
                rest = &rest[written..];
            }
        }
    };
    for kind in 0..3 {
        let mut client = TcpStream::connect(address).unwrap();
        let (stream, _) = listener.accept().unwrap();
        match kind {
            0 => drop(runtime.spawn(echo(stream))),
            1 => drop(thread::spawn(move || block_on(echo(stream)))),
            _ => drop(fibre::spawn(move || block_on(echo(stream)))),
        }
        let noise: Vec<u8> = (0..1_000_000_u32).map(|at| (at % 251) as u8).collect();
        let mut writing = client.try_clone().unwrap();
        let sent = noise.clone();
        let writer = fibre::spawn(move || {
            writing.write_all(&sent).unwrap();
            writing.shutdown(std::net::Shutdown::Write).unwrap();
        });
        let mut received = Vec::new();
        client.read_to_end(&mut received).unwrap();
        writer.join().unwrap();
        assert!(received == noise, "{kind}");
    }
    fibre::blocking(move || drop(runtime));
}

#[test]
fn streams_are_polled_by_any_executor() {
    for_each_cluster(any_executor);
}

/// A stream that is always ready lets others of its processor run.
#[test]
fn a_busy_stream_lets_others_run() {
    let cluster = Cluster::builder().processors(1).max_spare_processors(0);
    let cluster = cluster.build().unwrap();
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&turns);
    let busy = cluster.spawn(move || {
        let (mut client, stream) = {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (client, listener.accept().unwrap().0)
        };
        client.write_all(&[7; 10_000]).unwrap();
        fibre::spawn(move || {
            for _ in 0..3 {
                counted.fetch_add(1, Ordering::Relaxed);
                fibre::yield_now();
            }
        });
        let mut stream = AsyncStream::new(stream);
        let mut byte = [0];
        for _ in 0..10_000 {
            let count = block_on(poll_fn(|context| stream.poll_read(context, &mut byte)));
            assert_eq!(count.unwrap(), 1);
        }
    });
    busy.join().unwrap();
    cluster.stop();
    assert!(turns.load(Ordering::Relaxed) > 0);
}

/// A task that is dropped while it waits leaves the line; one that was woken passes the event on.
fn dropped_in_the_line(_: &Cluster) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let stream = listener.accept().unwrap().0;
    // Both have descriptors of their own, so each has gates of its own; the fibre shares one's.
    let mut task = AsyncStream::new(stream);
    let mut byte = [0];
    let first = block_on(poll_fn(|context| {
        Poll::Ready(task.poll_read(context, &mut byte).is_pending())
    }));
    assert!(first);
    client.write_all(b"a").unwrap();
    fibre::sleep(Duration::from_millis(2));
    // Woken by now, most likely, and dropped: what it was woken for is there.
    let mut stream = task.into_inner();
    stream.read_exact(&mut byte).unwrap();
    assert_eq!(byte, *b"a");
    let mut task = AsyncStream::new(stream);
    let waits = block_on(poll_fn(|context| {
        Poll::Ready(task.poll_read(context, &mut byte).is_pending())
    }));
    assert!(waits);
    task.get_ref().close();
    let closed = block_on(poll_fn(|context| task.poll_read(context, &mut byte)));
    assert!(closed.is_err());
}

#[test]
fn a_dropped_task_leaves_the_gate() {
    for_each_cluster(dropped_in_the_line);
}
