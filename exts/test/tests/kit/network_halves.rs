//! Connections with two sides that know different things: as Linux has them.

use crate::network::pair;
use crate::{assert_says, failure};
use fibre::net::{Shutdown, TcpListener, TcpStream};
use fibre_test::{Host, Link, Schedule, Sim};
use std::io::{ErrorKind, Read, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Makes the client of this connection give up: it sends over a partition, which then heals.
fn gives_up(sim: &Sim, client: &TcpStream) {
    let link = sim.link("client", "server").partition();
    let mut client = client;
    client.write_all(b"lost").unwrap();
    let error = client.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    let _ = link.heal();
}

#[test]
fn who_has_given_up_takes_nothing_more() {
    fibre_test::run(|sim| {
        let (server, client) = pair(sim);
        gives_up(sim, &client);
        assert_eq!((&client).read(&mut [0]).unwrap(), 0);
        // Its end is open, but the connection is over.
        (&server).write_all(b"anyone?").unwrap();
        assert_eq!((&client).read(&mut [0]).unwrap(), 0);
        let error = (&server).read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn an_end_that_reaches_nobody_is_answered_by_a_reset() {
    for closes in [true, false] {
        fibre_test::run(move |sim| {
            let (server, client) = pair(sim);
            gives_up(sim, &client);
            let client = Some(client).filter(|_| !closes);
            server.shutdown(Shutdown::Write).unwrap();
            let error = (&server).read(&mut [0]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            drop(client);
        });
    }
}

#[test]
fn a_lost_reset_is_not_sent_again() {
    fibre_test::run(|sim| {
        let (server, client) = pair(sim);
        (&server).write_all(b"unread").unwrap();
        let link = sim.link("client", "server").partition();
        drop(client);
        let _ = link.heal();
        // Half of the connection is open: only a send would tell.
        server.set_read_timeout(Some(3600 * SECOND)).unwrap();
        let error = (&server).read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        (&server).write_all(b"?").unwrap();
        let error = (&server).read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn what_has_come_is_read_after_the_reading_side_has_ended() {
    fibre_test::run(|sim| {
        let (server, client) = pair(sim);
        let _ = sim.link("client", "server").window(4);
        (&client).write_all(b"1234").unwrap();
        let writer = fibre::spawn(move || (&client).write_all(b"5"));
        sim.settle();
        server.shutdown(Shutdown::Read).unwrap();
        let mut bytes = [0; 10];
        assert_eq!((&server).read(&mut bytes).unwrap(), 4);
        writer.join().unwrap().unwrap();
        assert_eq!((&server).read(&mut bytes).unwrap(), 1);
        assert_eq!((&server).read(&mut bytes).unwrap(), 0);
    });
}

/// A host, and a link of it, that have been kept.
type Kept = Arc<Mutex<Option<(Host, Link)>>>;

#[test]
fn hosts_and_links_of_another_run_are_refused() {
    let kept = Kept::default();
    let keeps = Arc::clone(&kept);
    fibre_test::run(move |sim| {
        sim.host("server");
        let client = sim.host("client");
        let link = sim.link("client", "server");
        *keeps.lock().unwrap() = Some((client, link));
    });
    let (host, link) = kept.lock().unwrap().take().unwrap();
    let words = failure(Sim::builder(), move |_| {
        let _ = host
            .run(|| TcpListener::bind("0.0.0.0:80").map(drop))
            .join();
    });
    assert_says(&words, &["only its fibres"]);
    let words = failure(Sim::builder(), move |_| drop(link.clone().partition()));
    assert_says(&words, &["only its fibres"]);
}

#[test]
fn a_host_that_a_host_starts_has_its_own_name() {
    let words = failure(Sim::builder(), |sim| {
        let (one, other) = (sim.host("one"), sim.host("other"));
        let waits = move || TcpListener::bind("other:80").unwrap().accept().map(drop);
        let inner = one.run(move || other.run(waits));
        let _ = inner.join().unwrap().join();
    });
    assert_says(&words, &["of host other waits for the listener"]);
}

/// Whichever runs first: what a host starts is of that host, and no leak.
#[test]
fn what_hosts_start_is_theirs_in_all_schedules() {
    for schedule in [Schedule::random(), Schedule::pos()] {
        Sim::builder().seeds(50).schedule(schedule).run(|sim| {
            sim.host("one").run(|| {
                fibre::spawn(|| fibre::sleep(3600 * SECOND));
                fibre::spawn(|| fibre::spawn(|| fibre::sleep(3600 * SECOND)));
            });
            sim.settle();
        });
    }
}
