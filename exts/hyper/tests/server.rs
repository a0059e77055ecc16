//! A server in one call: both protocols, limits, hostile clients, and its end.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use fibre::net::{self, TcpListener, TcpStream};
use fibre::sync::Semaphore;
use fibre::{CancelToken, Cluster, JoinHandle, block_on};
use fibre_hyper::{FibreExecutor, FibreIo, Server, handler};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Request, Response, StatusCode, client};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long anything may take before a test counts as hanging.
const LONG: Duration = Duration::from_secs(60);

/// A limit that a test waits for.
const SHORT: Duration = Duration::from_millis(30);

/// Runs `body` as a fibre of clusters with 1, 2 and 4 processors, each stopped afterwards.
fn for_each_cluster(body: fn()) {
    for processors in [1, 2, 4] {
        let cluster = Cluster::builder().processors(processors).build().unwrap();
        let ended = cluster
            .spawn(body)
            .join_timeout(LONG)
            .unwrap_or_else(|_| panic!("it hangs on {processors} processors"));
        ended.expect("a test's fibre panicked");
        cluster.stop_within(LONG, LONG).unwrap();
    }
}

/// A server in a fibre, and what its handlers do.
struct Serving {
    address: SocketAddr,
    stop: CancelToken,
    /// Handlers of `/wait` wait for it.
    permits: Arc<Semaphore>,
    /// How many requests have been begun.
    begun: Arc<AtomicUsize>,
    /// How many handlers have been left, in whatever way.
    left: Arc<AtomicUsize>,
    fibre: JoinHandle<io::Result<()>>,
}

/// Counts when it is dropped.
struct Left<'a>(&'a AtomicUsize);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Serving {
    /// Starts a server that echoes bodies; at `/wait` once there is a permit, at `/panic` not.
    fn start(server: Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancelToken::new();
        let permits = Arc::new(Semaphore::new(0));
        let [begun, left] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let (token, wait) = (stop.clone(), Arc::clone(&permits));
        let (begins, leaves) = (Arc::clone(&begun), Arc::clone(&left));
        let answer = move |request: Request<Bytes>| {
            begins.fetch_add(1, Ordering::SeqCst);
            let _left = Left(&leaves);
            match request.uri().path() {
                "/wait" => wait.acquire(),
                "/panic" => std::panic::resume_unwind(Box::new("on purpose")),
                _ => {}
            }
            Response::new(request.into_body())
        };
        let fibre = fibre::spawn(move || server.serve(listener, handler(answer), &token));
        Self {
            address,
            stop,
            permits,
            begun,
            left,
            fibre,
        }
    }

    /// A connection.
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream
    }

    /// Waits until so many requests have been begun.
    fn until_begun(&self, count: usize) {
        until(|| self.begun.load(Ordering::SeqCst) == count);
    }

    /// Ends the server at once, and waits for its end.
    fn end(self) {
        self.stop.cancel();
        self.fibre.join().unwrap().unwrap();
    }
}

/// Waits until something is so.
#[track_caller]
fn until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG, "it has not come true");
        fibre::sleep(Duration::from_millis(1));
    }
}

/// A request of HTTP/1.1 by hand.
fn request(path: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// Sends a request, and reads its answer to the end of a body of `length` bytes.
fn ask(stream: &mut TcpStream, path: &str, body: &str) -> String {
    stream.write_all(request(path, body).as_bytes()).unwrap();
    read_answer(stream, body)
}

/// Reads an answer up to this body.
fn read_answer(stream: &mut TcpStream, body: &str) -> String {
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(format!("\r\n\r\n{body}").as_bytes()) {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "{answer:?}");
        answer.push(byte[0]);
    }
    String::from_utf8(answer).unwrap()
}

/// What a server sends before it closes a connection.
fn rest(mut stream: &TcpStream) -> String {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("{error}"),
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What sends requests of HTTP/2.
type Sender = client::conn::http2::SendRequest<Full<Bytes>>;

/// A client of HTTP/2.
fn version_two(server: &Serving) -> Sender {
    let io = FibreIo::new(TcpStream::connect(server.address).unwrap());
    let handshake = client::conn::http2::handshake(FibreExecutor::new(), io);
    let (sender, connection) = block_on(handshake).unwrap();
    fibre::spawn(move || block_on(connection).is_ok());
    sender
}

/// A request by that, in a fibre of its own.
fn ask_two(sender: &Sender, path: &str, body: &str) -> JoinHandle<Option<(StatusCode, Bytes)>> {
    let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
    let request = Request::post(format!("http://x{path}")).body(body).unwrap();
    let mut sender = sender.clone();
    fibre::spawn(move || {
        block_on(async move {
            sender.ready().await.ok()?;
            let answer = sender.send_request(request).await.ok()?;
            let status = answer.status();
            Some((status, answer.into_body().collect().await.ok()?.to_bytes()))
        })
    })
}

#[test]
fn both_protocols_are_served() {
    for_each_cluster(|| {
        let server = Serving::start(Server::new());
        let mut one = server.connect();
        let two = version_two(&server);
        for number in 0..20 {
            let body = format!("number {number}");
            assert!(ask(&mut one, "/", &body).starts_with("HTTP/1.1 200"));
            let answer = ask_two(&two, "/", &body).join().unwrap();
            assert_eq!(answer, Some((StatusCode::OK, body.into())));
        }
        server.end();
        assert_eq!(rest(&one), "");
    });
}

#[test]
fn requests_that_have_come_are_answered() {
    for_each_cluster(|| {
        let server = Serving::start(Server::new());
        let (mut one, mut idle) = (server.connect(), server.connect());
        let two = version_two(&server);
        ask(&mut idle, "/", "first");
        one.write_all(request("/wait", "one").as_bytes()).unwrap();
        let waits = ask_two(&two, "/wait", "two");
        server.until_begun(3);
        server.stop.cancel_within(LONG).unwrap();
        assert_eq!(rest(&idle), "");
        let refused = TcpStream::connect(server.address).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        assert!(!server.fibre.is_finished());
        server.permits.release_many(2);
        let answer = rest(&one);
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\none"),
            "{answer}"
        );
        let answer = waits.join().unwrap();
        assert_eq!(answer, Some((StatusCode::OK, "two".into())));
        server.fibre.join().unwrap().unwrap();
    });
}

/// Handlers that wait for ever are ended: at once, or at the limit.
fn handlers_end(stop: fn(&CancelToken)) {
    let server = Serving::start(Server::new());
    let mut one = server.connect();
    let two = version_two(&server);
    one.write_all(request("/wait", "one").as_bytes()).unwrap();
    let waits = [0, 1].map(|_| ask_two(&two, "/wait", "two"));
    server.until_begun(3);
    stop(&server.stop);
    server.fibre.join().unwrap().unwrap();
    assert_eq!(server.left.load(Ordering::SeqCst), 3);
    assert_eq!(rest(&one), "");
    for answer in waits {
        assert_eq!(answer.join().unwrap(), None);
    }
}

#[test]
fn cancellation_ends_handlers_that_wait() {
    for_each_cluster(|| handlers_end(CancelToken::cancel));
}

#[test]
fn the_limit_ends_handlers_that_wait() {
    for_each_cluster(|| handlers_end(|token| token.cancel_within(SHORT).unwrap()));
}

#[test]
fn a_cluster_that_stops_has_requests_answered() {
    for processors in [1, 2, 4] {
        let cluster = Cluster::builder().processors(processors).build().unwrap();
        let server = cluster
            .spawn(|| Serving::start(Server::new()))
            .join()
            .unwrap();
        let mut client = std::net::TcpStream::connect(server.address).unwrap();
        client
            .write_all(request("/wait", "late").as_bytes())
            .unwrap();
        until(|| server.begun.load(Ordering::SeqCst) == 1);
        let stopping = std::thread::spawn(move || cluster.stop_within(SHORT, LONG));
        until(|| TcpStream::connect(server.address).is_err());
        server.permits.release();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("\r\n\r\nlate"), "{answer}");
        stopping.join().unwrap().unwrap();
        server.fibre.join().unwrap().unwrap();
    }
}

#[test]
fn bodies_are_limited() {
    for_each_cluster(|| {
        let server = Serving::start(Server::new().max_body(10));
        let mut fits = server.connect();
        assert!(ask(&mut fits, "/", "0123456789").starts_with("HTTP/1.1 200"));
        let two = version_two(&server);
        let large = ask_two(&two, "/", "0123456789+").join().unwrap().unwrap();
        assert_eq!(large.0, StatusCode::PAYLOAD_TOO_LARGE);
        let chunks = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\
                      9\r\n123456789\r\n9\r\n123456789\r\n0\r\n\r\n";
        for request in [request("/", "0123456789+"), chunks.to_owned()] {
            let mut client = server.connect();
            client.write_all(request.as_bytes()).unwrap();
            let answer = rest(&client);
            assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
        }
        assert_eq!(server.begun.load(Ordering::SeqCst), 1);
        server.end();
    });
}

/// Clients that stop in the midst of something do not keep the only place of a server.
#[test]
fn slow_clients_are_cut_off() {
    for_each_cluster(|| {
        let one = net::Server::new().max_connections(1);
        let limits = Server::new().connections(one);
        let server = Serving::start(limits.head_timeout(SHORT).body_timeout(SHORT));
        for beginning in ["", "PRI * HT", "G", "GET / HTTP/1.1\r\nHost:"] {
            let mut client = server.connect();
            client.write_all(beginning.as_bytes()).unwrap();
            let answer = rest(&client);
            assert!(
                answer.is_empty() || answer.starts_with("HTTP/1.1 408"),
                "{answer}"
            );
        }
        let mut client = server.connect();
        let whole = request("/", "a body");
        client
            .write_all(&whole.as_bytes()[..whole.len() - 1])
            .unwrap();
        let answer = rest(&client);
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
        // One that has sent nothing but the preface of HTTP/2 gets pings that it does not answer.
        let mut client = server.connect();
        client
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .unwrap();
        client.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).unwrap();
        rest(&client);
        // One that has had an answer and wants no other.
        let mut client = server.connect();
        ask(&mut client, "/", "first");
        assert_eq!(rest(&client), "");
        ask(&mut server.connect(), "/", "last");
        server.end();
    });
}

#[test]
fn clients_that_do_not_read_are_cut_off() {
    for_each_cluster(|| {
        let one = net::Server::new().max_connections(1);
        let limits = Server::new().connections(one).max_body(1 << 30);
        let server = Serving::start(limits.write_timeout(SHORT));
        let deaf = server.connect();
        let body = "x".repeat(16 << 20);
        (&deaf).write_all(request("/", &body).as_bytes()).unwrap();
        ask(&mut server.connect(), "/", "next");
        drop(deaf);
        server.end();
    });
}

#[test]
fn a_panic_ends_one_connection() {
    for_each_cluster(|| {
        let server = Serving::start(Server::new());
        let mut good = server.connect();
        let two = version_two(&server);
        ask(&mut good, "/", "first");
        let mut bad = server.connect();
        bad.write_all(request("/panic", "").as_bytes()).unwrap();
        assert_eq!(rest(&bad), "");
        assert_eq!(ask_two(&two, "/panic", "").join().unwrap(), None);
        ask(&mut good, "/", "second");
        let answer = ask_two(&two, "/", "third").join().unwrap();
        assert_eq!(answer, Some((StatusCode::OK, "third".into())));
        server.end();
    });
}

#[test]
fn a_thread_serves_a_unix_socket() {
    use fibre::os::unix::net::{UnixListener, UnixStream};
    let path = std::env::temp_dir().join(format!("fibre-hyper-{}", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    let stop = CancelToken::new();
    let token = stop.clone();
    let answer = |_: Request<Bytes>| Response::new("hello");
    let serves = move || fibre_hyper::serve(listener, handler(answer), &token);
    let served = std::thread::spawn(serves);
    let mut client = UnixStream::connect(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let request = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    client.write_all(request).unwrap();
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    assert!(text.ends_with("\r\n\r\nhello"), "{text}");
    stop.cancel();
    served.join().unwrap().unwrap();
}
