//! Servers that go away in the middle of an answer, and time-outs, in C libraries.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fibre_clients::client::{Client, Mysql, Redis};
use fibre_clients::foreign::curl::Easy;
use fibre_clients::foreign::pq::Connection;
use fibre_clients::servers::{mariadb, postgres, redis};
use fibre_clients::waiting;
use fibre_clients::way::Way;

use crate::install;

/// Runs a job for each client on fibres of one processor.
fn on_fibres(job: impl Fn(usize) -> Result<()> + Send + Sync + 'static) -> Result<()> {
    install();
    let way = Way::Names;
    way.run_all(1, CLIENTS, move |number| way.run(|| job(number)))
}

/// Clients that wait when their server ends.
const CLIENTS: usize = 10;

/// Runs clients on one processor that each wait for an answer that takes minutes; once all of them
/// do, the server ends. All have to fail, without an answer.
fn outlive<C: Client + 'static>(server: fibre_clients::servers::Server) {
    let place = server.place().to_owned();
    let asking = std::sync::Arc::new(fibre::sync::Barrier::new(CLIENTS + 1));
    let started = std::sync::Arc::clone(&asking);
    let clients = std::thread::spawn(move || {
        install();
        let way = Way::Names;
        way.run_all(1, CLIENTS, move |_| {
            let mut client = way.run(|| C::connect(&place))?;
            started.wait();
            let answer = way.run(|| client.call(Duration::from_secs(200), "late"));
            answer
                .err()
                .context("an answer of a server that has ended")?;
            Ok(())
        })
    });
    asking.wait();
    drop(server);
    clients.join().unwrap().unwrap();
}

/// libpq as a client with plain queries as its calls.
struct Pq(Connection);

impl Client for Pq {
    fn connect(place: &str) -> Result<Self> {
        Ok(Self(Connection::open(place)?))
    }

    fn call(&mut self, wait: Duration, _: &str) -> Result<String> {
        let wait = wait.as_secs().to_string();
        let rows = self
            .0
            .query("SELECT pg_sleep($1::float8)::text", &[&wait])?;
        Ok(rows.concat().concat())
    }
}

#[test]
fn redis_ends_under_its_clients() {
    outlive::<Redis>(redis().unwrap());
}

#[test]
fn mariadb_ends_under_its_clients() {
    outlive::<Mysql>(mariadb().unwrap());
}

#[test]
fn postgresql_ends_under_its_clients() {
    outlive::<Pq>(postgres().unwrap());
}

#[test]
fn a_query_that_is_wrong_leaves_its_connection_usable() {
    let server = postgres().unwrap();
    let place = server.place().to_owned();
    let outcome = on_fibres(move |number| {
        let mut connection = Connection::open(&place)?;
        let wrong = connection.query("SELECT 1 / $1::int", &["0"]);
        let error = wrong.err().context("a quotient")?.to_string();
        ensure!(error.contains("division by zero"), "{error}");
        let number = number.to_string();
        let rows = connection.query("SELECT $1::text, NULL", &[&number])?;
        ensure!(rows == [[number, String::new()]], "{rows:?}");
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn a_time_limit_of_libcurl_ends_its_transfer_alone() {
    let place = format!("http://{}", waiting::start().unwrap());
    let outcome = on_fibres(move |number| {
        if number % 2 == 0 {
            let late = Easy::new(50)?.get(&format!("{place}/200000/late"));
            let error = late.err().context("a page that takes minutes")?.to_string();
            ensure!(error.contains("imeout"), "{error}");
            return Ok(());
        }
        let mut easy = Easy::new(100_000)?;
        for _ in 0..10 {
            ensure!(easy.get(&format!("{place}/5/page"))? == b"page");
        }
        let missing = easy.get(&format!("{place}/nothing"));
        ensure!(missing.is_err(), "a page that is not there");
        Ok(())
    });
    outcome.unwrap();
}
