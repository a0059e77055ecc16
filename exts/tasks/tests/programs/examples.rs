//! The paper's programs do what they should: the examples are started, each in a process of its
//! own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::env;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// An example that serves, on a port that was free.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(name: &str) -> Self {
        let mut child = example(name)
            .args(["--port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut said).unwrap();
        let address = said.trim().strip_prefix("listening on ").unwrap().into();
        Self { child, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// An example, which cargo has built beside this test.
fn example(name: &str) -> Command {
    let test = env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap();
    Command::new(folder.join("examples").join(name))
}

/// Reads so many bytes.
fn receive<const N: usize>(stream: &mut TcpStream) -> [u8; N] {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

#[test]
fn program_1_computes_both_ways() {
    let output = example("fib").arg("20").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said.matches("fib(20) = 6765").count(), 2, "{said}");
}

#[test]
fn program_2_sends_to_all_what_one_writes() {
    let server = Server::start("broadcast");
    let mut clients = [(); 3].map(|()| server.connect());
    // A client that hears anything, be it from itself, has joined.
    for client in &mut clients {
        client.write_all(b"!").unwrap();
        let _joined: [u8; 1] = receive(client);
    }
    clients[0].write_all(b"to all").unwrap();
    for client in &mut clients {
        listen_for(client, b"to all");
    }
    let [first, mut second, mut third] = clients;
    drop(first);
    second.write_all(b"still").unwrap();
    listen_for(&mut second, b"still");
    listen_for(&mut third, b"still");
}

/// Reads until these words come.
fn listen_for(client: &mut TcpStream, words: &[u8]) {
    let mut heard = Vec::new();
    while !heard.ends_with(words) {
        heard.push(receive::<1>(client)[0]);
    }
}

#[test]
fn the_echo_server_echoes() {
    let server = Server::start("echo_server");
    let mut client = server.connect();
    for message in [
        b"sixteen bytes of",
        b" what a client s",
        b"ends come back. ",
    ] {
        client.write_all(message).unwrap();
        assert_eq!(&receive(&mut client), message);
    }
}

#[test]
fn the_counter_server_counts() {
    let server = Server::start("counter_server");
    let mut clients = [(); 4].map(|()| server.connect());
    for (client, number) in clients.iter_mut().zip(1_u64..) {
        client.write_all(&[1]).unwrap();
        assert_eq!(u64::from_le_bytes(receive(client)), number);
    }
    for client in &mut clients {
        client.write_all(&[0]).unwrap();
        assert_eq!(u64::from_le_bytes(receive(client)), 4);
    }
    let ends = server.connect();
    (&ends).write_all(&[7]).unwrap();
    assert_eq!((&ends).read(&mut [0]).unwrap(), 0);
}
