//! A server of the crate `tiny_http`, with fibres as its workers. They wait for requests by a
//! condition variable of std's, within `fibre::blocking`; the threads of the crate wake them.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;

use crate::fibres::install;
use anyhow::{Result, ensure};
use fibre_clients::client::{Client, Ureq2, Ureq3};
use fibre_clients::serving::Serving;
use fibre_clients::way::Way;
use std::time::Duration;

/// Workers.
const WORKERS: usize = 20;

/// Runs a server on fibres of so many processors, and something beside it that gets its address.
fn beside(processors: usize, visit: impl Fn(SocketAddr) -> Result<()>) {
    install();
    for way in [Way::Names, Way::Blocking] {
        serve(way, processors, &visit);
    }
}

/// The same in one way.
fn serve(way: Way, processors: usize, visit: impl FnOnce(SocketAddr) -> Result<()>) {
    let serving = Serving::bind().unwrap();
    let address = serving.address().unwrap();
    thread::scope(|scope| {
        let running = scope.spawn(|| serving.run(way, processors, WORKERS));
        let visited = visit(address);
        serving.stop(WORKERS);
        running.join().unwrap().unwrap();
        visited.unwrap();
    });
}

/// Asks often, on threads or fibres.
fn ask<C: Client + 'static>(way: Way, address: SocketAddr) -> Result<()> {
    let site = format!("http://{address}");
    way.run_all(1, WORKERS, move |number| {
        let mut client = C::connect(&site)?;
        for turn in 0..10 {
            let token = format!("{number}-{turn}");
            let got = client.call(Duration::from_millis(2), &token)?;
            ensure!(got == token, "{got} for {token}");
        }
        Ok(())
    })
}

#[test]
fn clients_on_threads_are_answered() {
    for processors in [1, 2, 4] {
        beside(processors, |address| ask::<Ureq3>(Way::Threads, address));
    }
}

#[test]
fn clients_on_fibres_are_answered() {
    for processors in [1, 2, 4] {
        beside(processors, |address| {
            ask::<Ureq2>(Way::Names, address)?;
            ask::<Ureq3>(Way::Names, address)
        });
    }
}

#[test]
fn clients_that_go_away_harm_nobody() {
    beside(1, |address| {
        for _ in 0..WORKERS {
            // One that leaves in the middle of its head, and one that does not wait.
            TcpStream::connect(address)?.write_all(b"GET /1/half HT")?;
            TcpStream::connect(address)?.write_all(b"GET /50/gone HTTP/1.1\r\n\r\n")?;
        }
        ask::<Ureq3>(Way::Threads, address)
    });
}

#[test]
fn a_client_that_closes_its_half_is_answered() {
    beside(1, |address| {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(b"GET /5/half HTTP/1.0\r\n\r\n")?;
        stream.shutdown(Shutdown::Write)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        ensure!(answer.ends_with("\r\n\r\nhalf"), "{answer}");
        Ok(())
    });
}
