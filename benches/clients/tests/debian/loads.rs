//! Each kind of client at 1, 2 and 4 processors, all answers checked.
//!
//! Whether calls wait at once is what the statistics of a server say, where it has any, and the
//! suite `clients` for the others.

use fibre_clients::load::{Kind, Plan};
use fibre_clients::servers::{mariadb, postgres, redis};
use fibre_clients::waiting;
use fibre_clients::way::Way;

use crate::install;

/// Runs clients of a kind with each number of processors.
fn run(kind: Kind, place: &str) {
    fibre_measure::raise_file_limit().unwrap();
    install();
    let ways = [Way::Names, Way::Blocking];
    for (processors, way) in [1, 2, 4]
        .iter()
        .flat_map(|count| ways.map(|way| (*count, way)))
    {
        let plan = Plan {
            way,
            processors,
            clients: 50,
            calls: 4,
            wait_ms: 20,
            place: place.to_owned(),
        };
        let outcome = kind.run(&plan);
        let reading = outcome.unwrap_or_else(|error| panic!("{processors}: {error:?}"));
        assert_eq!(reading.answers, 200);
    }
}

#[test]
fn redis_answers_the_crate_redis() {
    let server = redis().unwrap();
    run(Kind::Redis, server.place());
}

#[test]
fn mariadb_answers_the_crate_mysql() {
    let server = mariadb().unwrap();
    run(Kind::Mysql, server.place());
}

#[test]
fn postgresql_answers_libpq() {
    let server = postgres().unwrap();
    run(Kind::Pq, server.place());
}

#[test]
fn pages_come_through_libcurl() {
    run(Kind::Curl, &format!("http://{}", waiting::start().unwrap()));
}
