//! The proxy between clients and a backend that sends back what it gets.

#[allow(dead_code, reason = "its main function is the program's")]
#[path = "../proxy/fibre.rs"]
mod service;

use crate::network::{HEALED, ms, once_in, spoil};
use clap::Parser;
use fibre::net::{TcpListener, TcpStream};
use fibre::{Builder, CancelToken};
use fibre_services::Proxy;
use fibre_test::Sim;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// Where the services listen.
const PORT: u16 = 80;

/// How long a direction may be silent.
const IDLE: Duration = Duration::from_secs(5);

/// Sends back what it gets, each connection at its own pace.
fn serve(pause: Duration) -> io::Result<()> {
    let listener = TcpListener::bind(("0.0.0.0", PORT))?;
    for (stream, _) in listener.connections() {
        fibre::spawn(move || {
            let mut buffer = [0; 100];
            loop {
                match (&stream).read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(count) => {
                        fibre::sleep(pause);
                        if (&stream).write_all(&buffer[..count]).is_err() {
                            break;
                        }
                    }
                }
            }
        });
    }
    Ok(())
}

/// The bytes that a client sends.
fn bytes(client: u64, length: usize) -> Vec<u8> {
    let byte = |at: usize| (client as usize * 31 + at * 7) as u8;
    (0..length).map(byte).collect()
}

/// Sends bytes, and reads what comes back. Whatever has come is what was sent, from its beginning.
fn ask(client: u64, length: usize, limit: Duration) -> io::Result<()> {
    let stream = TcpStream::connect(("proxy", PORT))?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    let (stream, sent) = (Arc::new(stream), bytes(client, length));
    let (writer, all) = (Arc::clone(&stream), sent.clone());
    let writes = fibre::spawn(move || {
        (&*writer).write_all(&all)?;
        writer.shutdown(Shutdown::Write)
    });
    let mut came = Vec::new();
    let read = (&*stream).read_to_end(&mut came);
    assert!(sent.starts_with(&came), "other bytes came back");
    let wrote = writes.join().expect("it panicked");
    read.and(wrote)?;
    match came.len() == length {
        true => Ok(()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Asks through the proxy while links are bad, and once more when they are not.
pub(crate) fn run(sim: &Sim) {
    let [backend, proxy, app] = ["backend", "proxy", "app"].map(|name| sim.host(name));
    let pause = ms(sim.draw(0..3));
    backend.run(move || serve(pause));
    let address = format!("{}:{PORT}", backend.address());
    let options = ["proxy", "--most", "2", "--idle", "5", "--backend", &address];
    let (options, accepting) = (Proxy::parse_from(options), CancelToken::new());
    let acceptor = Builder::new().cancel_token(&accepting);
    let accepts = proxy.run(move || {
        let listener = TcpListener::bind(("0.0.0.0", PORT))?;
        acceptor.spawn(move || service::accept(&listener, &options))
    });
    let accepts = accepts.join().expect("it panicked").expect("no acceptor");
    sim.settle();
    let ends = [spoil(sim, "app", "proxy"), spoil(sim, "proxy", "backend")];
    let (is_sound, failed) = (ends == [true; 2], Arc::new(AtomicUsize::new(0)));
    for client in 0..1 + sim.draw(0..3) {
        let (length, begins) = (sim.draw(0..600) as usize, ms(sim.draw(0..10_000)));
        let gives_up = if once_in(sim, 4) {
            ms(1 + sim.draw(0..100))
        } else {
            HEALED
        };
        let counts = !is_sound || gives_up < HEALED;
        let failed = Arc::clone(&failed);
        app.run(move || {
            fibre::sleep(begins);
            if let Err(error) = ask(client, length, gives_up) {
                assert!(counts, "over a sound network: {error}");
                failed.fetch_add(1, SeqCst);
            }
        });
    }
    sim.advance(HEALED);
    // All is well again, and what was under way has been given up.
    for (one, other) in [("app", "proxy"), ("proxy", "backend")] {
        sim.link(one, other).drop_rate(0.0).heal().release();
    }
    sim.advance(4 * HEALED);
    for client in 7..10 {
        let asks = app.run(move || ask(client, 300, 4 * IDLE));
        let answer = asks.join().expect("it panicked");
        assert!(answer.is_ok(), "a place of the proxy is lost: {answer:?}");
    }
    accepting.cancel();
    accepts.join().expect("it panicked");
}
