//! An hour of transfers to a bank that cannot be reached for a minute, and a bank that forgets.
//!
//! `cargo run -p fibre-test --example partition` shows what becomes of an answer that is lost: the
//! client asks again, and the forgetful bank makes the transfer twice. Then it prints how long the
//! other bank's hour has taken.

use fibre::net::{TcpListener, TcpStream};
use fibre::sync::Mutex;
use fibre_test::{Schedule, Sim};
use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::panic::catch_unwind;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// The transfers that were made, and the money that has come by them.
#[derive(Default)]
struct Account {
    made: HashSet<u8>,
    money: u64,
}

/// The bank: each connection brings the number of a transfer of 10, and gets an answer.
fn bank(account: &Arc<Mutex<Account>>, remembers: bool) -> io::Result<()> {
    let listener = TcpListener::bind("0.0.0.0:5432")?;
    for (mut stream, _) in listener.connections() {
        let account = Arc::clone(account);
        fibre::spawn(move || -> io::Result<()> {
            let mut number = [0];
            stream.read_exact(&mut number)?;
            let mut account = account.lock();
            if account.made.insert(number[0]) || !remembers {
                account.money += 10;
            }
            drop(account);
            stream.write_all(b"!")
        });
    }
    Ok(())
}

/// Asks the bank once.
fn ask(number: u8) -> io::Result<()> {
    let mut stream = TcpStream::connect("bank:5432")?;
    stream.set_read_timeout(Some(5 * SECOND))?;
    stream.write_all(&[number])?;
    stream.read_exact(&mut [0])
}

/// An hour with a transfer a minute.
fn hour(sim: &Sim, remembers: bool) {
    let account = Arc::new(Mutex::new(Account::default()));
    let (accounts, app) = (Arc::clone(&account), sim.host("app"));
    sim.host("bank").run(move || bank(&accounts, remembers));
    let tick = Duration::from_millis(1);
    sim.link("app", "bank").latency(tick..20 * tick);
    // About when the second transfer is made.
    let begins = Duration::from_millis(sim.draw(60_000..60_200));
    sim.after(begins)
        .partition("app", "bank")
        .heal_after(60 * SECOND);
    let transfers = app.run(|| {
        for number in 0..59 {
            while ask(number).is_err() {
                fibre::sleep(SECOND);
            }
            fibre::sleep(60 * SECOND);
        }
    });
    assert!(transfers.join().is_ok());
    assert_eq!(account.lock().money, 590);
}

fn main() {
    let runs = Sim::builder().seeds(1000);
    let forgetful = runs.clone();
    let found = catch_unwind(|| forgetful.run(|sim| hour(sim, false)));
    assert!(found.is_err(), "no transfer is made twice");

    let runs = runs.seeds(100).schedule(Schedule::random());
    let begun = Instant::now();
    let report = runs.run(|sim| hour(sim, true));
    let each = begun.elapsed().div_f64(report.runs() as f64);
    println!("{:?} of transfers in {each:?}", report.elapsed());
}
