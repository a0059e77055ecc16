//! How many system calls a connection takes that carries one request. The tracer counts calls by a
//! fault that does nothing to them.

use super::plan::{Fault, Plan, Rule, Scope};
use super::seat::{self, Question, ask};
use super::support::sockets::registrations;
use super::support::{any_cluster, run_in};
use super::tracer;
use fibre::net::{TcpListener, TcpStream};
use fibre::sync::Semaphore;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketType};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

/// How many connections there are.
const CONNECTIONS: u64 = 20;

/// The rule that counts these calls: each is late by no time.
const fn counting(calls: &'static [i64]) -> Rule {
    Rule {
        calls,
        scope: Scope::All,
        one_in: 1,
        fault: Fault::Late(Duration::ZERO),
    }
}

/// Counts registrations and their ends.
const REGISTRATIONS: &[Rule] = &[counting(&[libc::SYS_epoll_ctl])];

/// Counts reads of sockets, but for those that the client makes.
const READS: &[Rule] = &[counting(&[libc::SYS_recvfrom])];

/// Runs the calling test once more under these rules, on one processor.
#[track_caller]
fn alone_under(rules: &'static [Rule], body: fn()) {
    if !seat::is_child() {
        let plan = Plan {
            rules,
            ..Plan::default()
        };
        return tracer::run(&plan, &[]);
    }
    seat::take();
    let builder = any_cluster().processors(1).max_spare_processors(0);
    run_in(builder.build().unwrap(), Arc::new(move |_: &_| body()));
}

/// How many counted calls short connections make, after a first one. The server looks at each
/// before its first read.
fn calls_of_connections(look: fn(&TcpStream)) -> u64 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sent = Arc::new(Semaphore::new(0));
    let client = std::thread::spawn({
        let sent = Arc::clone(&sent);
        move || (0..=CONNECTIONS).for_each(|_| request(address, &sent))
    });
    let answer = || {
        sent.acquire();
        let (mut stream, _) = listener.accept().unwrap();
        look(&stream);
        let mut buffer = [0; 16];
        assert_eq!(stream.read(&mut buffer).unwrap(), 1);
        stream.write_all(b"!").unwrap();
        assert_eq!(stream.read(&mut buffer).unwrap(), 0);
    };
    answer();
    let before = ask(Question::Begin);
    (0..CONNECTIONS).for_each(|_| answer());
    let after = ask(Question::End);
    client.join().unwrap();
    after - before
}

/// The client's side, by calls that are not counted.
fn request(address: SocketAddr, sent: &Semaphore) {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::connect(&socket, &address).unwrap();
    assert_eq!(rustix::io::write(&socket, b"?").unwrap(), 1);
    sent.release();
    let mut byte = [0];
    assert_eq!(rustix::io::read(&socket, &mut byte).unwrap(), 1);
}

/// A connection that the program has never lent is registered, and that is all: closing it ends the
/// registration.
#[test]
fn closing_a_connection_deregisters_it() {
    alone_under(REGISTRATIONS, || {
        assert_eq!(calls_of_connections(|_| ()), CONNECTIONS);
    });
}

/// No read is made in vain: one takes the request, and one the end.
#[test]
fn no_read_comes_before_the_first_registration() {
    alone_under(READS, || {
        // The loopback may deliver late.
        let await_data = |stream: &TcpStream| {
            assert_eq!(poll(&mut [PollFd::new(stream, PollFlags::IN)], None), Ok(1));
        };
        assert_eq!(calls_of_connections(await_data), 2 * CONNECTIONS);
    });
}

/// A duplicate of an accepted connection does not keep the registration.
#[test]
fn an_accepted_connection_that_was_lent_is_deregistered() {
    alone_under(REGISTRATIONS, || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let soon = Duration::from_millis(1);
        stream.set_read_timeout(Some(soon)).unwrap();
        stream.read(&mut [0]).unwrap_err();
        let number = stream.as_raw_fd();
        assert_eq!(registrations(number), 1);
        let duplicate = rustix::io::dup(&stream).unwrap();
        let before = ask(Question::Begin);
        drop(stream);
        assert_eq!(ask(Question::End) - before, 1);
        assert_eq!(registrations(number), 0);
        drop((duplicate, client));
    });
}
