//! The crate `redis`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use redis::{Client, Connection, cmd};

use crate::fibres::on_fibres;
use crate::redis_server;

/// Clients at once.
const CLIENTS: usize = 100;

/// As many as the pool of `fibre::blocking` has threads for, and some to spare.
const MANY: usize = 400;

/// Connects.
fn connect(place: &str) -> Result<Connection> {
    Ok(Client::open(place)?.get_connection()?)
}

/// Makes the server send a word back.
fn echo(connection: &mut Connection, word: &str) -> Result<()> {
    let echoed: String = cmd("ECHO").arg(word).query(connection)?;
    ensure!(echoed == word, "{echoed} for {word}");
    Ok(())
}

#[test]
fn all_clients_wait_at_once() {
    let place = redis_server::start();
    on_fibres(CLIENTS, move |number| {
        let mut connection = connect(&place)?;
        for round in 0..3 {
            // A barrier is used again when all have passed it.
            let name = format!("round {round}");
            let meet = cmd("MEET").arg(&name).arg(CLIENTS).to_owned();
            let met: String = meet.query(&mut connection)?;
            ensure!(met == name, "{met} for {name}");
            echo(&mut connection, &format!("{number}-{round}"))?;
        }
        Ok(())
    });
}

#[test]
fn hundreds_of_clients_wait_at_once() {
    let place = redis_server::start();
    fibre_measure::raise_file_limit().unwrap();
    on_fibres(MANY, move |number| {
        let mut connection = connect(&place)?;
        let met: String = cmd("MEET").arg("all").arg(MANY).query(&mut connection)?;
        ensure!(met == "all", "{met}");
        echo(&mut connection, &number.to_string())
    });
}

#[test]
fn a_connection_behind_a_lock_of_std_is_shared() {
    let place = redis_server::start();
    let shared = Arc::new(Mutex::new(Vec::new()));
    on_fibres(20, move |_| {
        for _ in 0..20 {
            let mut connections = shared.lock().unwrap();
            if connections.is_empty() {
                connections.push(connect(&place)?);
            }
            // Held while the server is asked.
            let count: u64 = cmd("INCR").arg("shared").query(&mut connections[0])?;
            ensure!(count > 0, "no count");
            drop(connections);
        }
        Ok(())
    });
}

#[test]
fn counts_of_all_clients_add_up() {
    let place = redis_server::start();
    let counted = place.clone();
    on_fibres(50, move |_| {
        let mut connection = connect(&counted)?;
        for _ in 0..20 {
            let _: u64 = cmd("INCR").arg("all").query(&mut connection)?;
        }
        Ok(())
    });
    // Three numbers of processors, in two ways.
    let last: u64 = cmd("INCR")
        .arg("all")
        .query(&mut connect(&place).unwrap())
        .unwrap();
    assert_eq!(last, 6 * 50 * 20 + 1);
}

#[test]
fn an_answer_that_is_cut_off_fails_its_client_alone() {
    let place = redis_server::start();
    on_fibres(30, move |number| {
        let mut connection = connect(&place)?;
        if number % 3 == 0 {
            let cut = echo(&mut connection, "cut");
            let error = cut.err().context("half an answer was taken for one")?;
            let error: redis::RedisError = error.downcast()?;
            ensure!(
                error.is_connection_dropped() || error.is_io_error(),
                "{error}"
            );
            return Ok(());
        }
        (0..20).try_for_each(|turn| echo(&mut connection, &format!("{number}-{turn}")))
    });
}

#[test]
fn a_time_out_of_the_socket_ends_a_call() {
    let place = redis_server::start();
    on_fibres(30, move |number| {
        let mut connection = connect(&place)?;
        if number % 3 == 0 {
            connection.set_read_timeout(Some(Duration::from_millis(50)))?;
            let silent = echo(&mut connection, "never");
            let error: redis::RedisError = silent.err().context("it has answered")?.downcast()?;
            ensure!(error.is_timeout(), "{error}");
            return Ok(());
        }
        (0..20).try_for_each(|turn| echo(&mut connection, &format!("{number}-{turn}")))
    });
}

#[test]
fn a_server_that_is_not_there_is_an_error() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("redis://{}/", closed.local_addr().unwrap());
    drop(closed);
    on_fibres(10, move |_| {
        let refused = connect(&place).err().context("it is there")?;
        let error: redis::RedisError = refused.downcast()?;
        ensure!(error.is_connection_refusal(), "{error}");
        Ok(())
    });
}
