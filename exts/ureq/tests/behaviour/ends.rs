//! Time-outs, cancellation, servers that break off, names that nobody has.

use crate::server::Server;
use crate::support::{for_each_cluster, sockets};
use std::io::ErrorKind;
use std::time::Duration;
use ureq::config::Config;
use ureq::{Agent, Error};

/// A short time.
const SHORT: Duration = Duration::from_millis(20);

/// ureq's own time-outs hold, and say which one it was.
#[test]
fn ureqs_own_time_outs_hold() {
    for_each_cluster(|_| {
        let server = Server::start(None);
        let builder = Agent::config_builder;
        let global = builder().timeout_global(Some(SHORT)).build();
        let answer = builder().timeout_recv_response(Some(SHORT)).build();
        for config in [global, answer] {
            let error = fibre_ureq::agent(config).get(server.at("/never")).call();
            assert!(matches!(error, Err(Error::Timeout(_))), "{error:?}");
        }
        let patient = fibre_ureq::agent(Config::default());
        let late = patient.get(server.at("/late")).call();
        assert_eq!(late.unwrap().body_mut().read_to_string().unwrap(), "late");
    });
}

/// So do a time-out around the call, and cancellation of its fibre; the agent is as good as before.
#[test]
fn limits_of_the_fibre_hold() {
    for_each_cluster(|_| {
        let server = Server::start(None);
        let agent = fibre_ureq::agent(Config::default());
        let get = || agent.get(server.at("/never")).call().map(drop);
        let inner = fibre::timeout(SHORT, get)
            .unwrap_err()
            .into_value()
            .unwrap();
        let is_ended =
            |error: &Error| matches!(error, Error::Io(it) if fibre::is_cancelled_error(it));
        assert!(inner.as_ref().is_err_and(is_ended), "{inner:?}");
        let (clone, address) = (agent.clone(), server.at("/never"));
        let waiting = fibre::spawn(move || clone.get(address).call().map(drop));
        fibre::sleep(SHORT);
        waiting.cancel();
        let error = waiting.join().unwrap().unwrap_err();
        assert!(
            matches!(&error, Error::Io(it) if fibre::is_cancelled_error(it)),
            "{error:?}"
        );
        let mut answer = agent.get(server.at("/echo")).call().unwrap();
        assert_eq!(answer.body_mut().read_to_string().unwrap(), "");
    });
}

/// These are errors: a server that breaks off in the middle of an answer, one that refuses, and
/// invalid names and addresses. The next request is answered.
#[test]
fn what_breaks_off_is_an_error() {
    for_each_cluster(|_| {
        let server = Server::start(None);
        let agent = fibre_ureq::agent(Config::default());
        let mut cut = agent.get(server.at("/cut")).call().unwrap();
        assert!(cut.body_mut().read_to_string().is_err());
        let (_socket, refuses) = sockets::dead_end();
        let refused = agent.get(format!("http://{refuses}/")).call();
        assert!(
            matches!(&refused, Err(Error::Io(it)) if it.kind() == ErrorKind::ConnectionRefused)
                || matches!(&refused, Err(Error::ConnectionFailed)),
            "{refused:?}"
        );
        assert!(agent.get("http://nowhere.invalid/").call().is_err());
        assert!(agent.get("nonsense").call().is_err());
        let mut answer = agent.get(server.at("/echo")).call().unwrap();
        assert_eq!(answer.body_mut().read_to_string().unwrap(), "");
    });
}
