//! A proxy for a test, servers behind it, and clients.

use crate::front::limits::Limits;
use crate::service::Proxy;
use crate::serving::watchdog;
use fibre_events::{Events, Policy};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// Runs a test on a proxy, and stops that afterwards. The test has closed all its connections.
pub fn with_proxy(limits: Limits, test: impl FnOnce(&Arc<Proxy>)) {
    proxying(Policy::TimeLeft, 2, limits, test);
}

/// The same under some policy, with so many processors.
pub fn proxying(policy: Policy, processors: usize, limits: Limits, test: impl FnOnce(&Arc<Proxy>)) {
    let remark = format!(" with {policy:?} on {processors} processors");
    watchdog::watched_for(watchdog::LIMIT, &remark, || {
        let events = Events::builder().processors(processors).policy(policy);
        let events = events.build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy::start(&events, listener, limits).unwrap();
        events.start();
        test(&proxy);
        proxy.stop();
        assert_eq!(events.run().panicked, 0);
        assert_eq!(proxy.clients(), 0);
    });
}

/// A server that gives so many clients the same answer, each on a thread, and closes.
pub struct Origin {
    pub address: SocketAddr,
    /// What clients have asked.
    requests: Arc<Mutex<Vec<String>>>,
    thread: JoinHandle<()>,
}

impl Origin {
    /// Starts it.
    pub fn start(clients: usize, answer: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&requests), Arc::new(answer));
        let thread = thread::spawn(move || {
            let serve = |_| {
                let (stream, _) = listener.accept().unwrap();
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                thread::spawn(move || answer_one(stream, &answer, &seen))
            };
            let threads: Vec<_> = (0..clients).map(serve).collect();
            threads
                .into_iter()
                .for_each(|thread| thread.join().unwrap());
        });
        Self {
            address,
            requests,
            thread,
        }
    }

    /// Waits for its end; what clients have asked.
    pub fn asked(self) -> Vec<String> {
        self.thread.join().unwrap();
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

/// Serves one client, as far as that takes its answer.
fn answer_one(mut stream: TcpStream, answer: &[u8], seen: &Mutex<Vec<String>>) {
    let head = read_head(&mut stream);
    seen.lock().unwrap().push(head);
    let _taken = stream.write_all(answer);
}

/// Reads up to an empty line.
pub fn read_head(stream: &mut TcpStream) -> String {
    try_read_head(stream).expect("no request")
}

/// The same; `None` if the client closes instead.
pub fn try_read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}

/// An answer with this body.
pub fn answer(body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// Bytes that are not alike.
pub fn body(length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8)
        .collect()
}

/// A connection to the proxy.
pub fn client(proxy: &Proxy) -> TcpStream {
    TcpStream::connect(proxy.address()).unwrap()
}

/// Asks for a path of a server, and takes all that comes back.
pub fn get(proxy: &Proxy, origin: SocketAddr, path: &str) -> Vec<u8> {
    let mut client = client(proxy);
    let request = format!("GET http://{origin}{path} HTTP/1.1\r\nHost: x\r\n\r\n");
    client.write_all(request.as_bytes()).unwrap();
    rest(&mut client)
}

/// All that comes until the proxy closes.
pub fn rest(client: &mut TcpStream) -> Vec<u8> {
    try_rest(client).expect("the connection was reset")
}

/// The same; `None` if the connection is reset.
pub fn try_rest(client: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    client.read_to_end(&mut bytes).ok()?;
    let _closed = client.shutdown(Shutdown::Both);
    Some(bytes)
}

/// The status of an answer.
pub fn status(answer: &[u8]) -> u16 {
    let line = std::str::from_utf8(answer).unwrap();
    line.split(' ').nth(1).expect("no answer").parse().unwrap()
}
