//! A bank on a simulated network: one seed is one run, and a protocol that is wrong is found.

use crate::replays::printed;
use crate::support::process::{errors, plays, spawn_child};
use crate::{assert_says, failure};
use fibre::net::{TcpListener, TcpStream};
use fibre::sync::Mutex;
use fibre_test::{Report, Schedule, Sim};
use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Write};
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// How a bank knows a transfer that it has made already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// By its number.
    Numbers,
    /// Not at all: the planted mistake.
    None,
}

/// The money of the account, and the transfers that were made.
#[derive(Debug, Default)]
struct Account {
    money: u64,
    made: HashSet<u64>,
}

/// Serves `number amount` lines, and answers each with a line.
fn serve(stream: &TcpStream, account: &Mutex<Account>, memory: Memory) -> io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    while let Some(line) = lines.next().transpose()? {
        let (number, amount) = line.split_once(' ').ok_or(io::ErrorKind::InvalidData)?;
        let [number, amount] = [number, amount].map(|text| text.parse::<u64>().unwrap());
        let mut account = account.lock();
        if account.made.insert(number) || memory == Memory::None {
            account.money += amount;
        }
        drop(account);
        let mut writer = stream;
        writer.write_all(b"done\n")?;
    }
    Ok(())
}

/// Asks once.
fn ask(number: u64) -> io::Result<()> {
    let stream = TcpStream::connect("bank:5432")?;
    stream.set_read_timeout(Some(5 * SECOND))?;
    writeln!(&stream, "{number} 10")?;
    let mut answer = String::new();
    match BufReader::new(&stream).read_line(&mut answer)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// Asks until there is an answer.
fn transfer(number: u64) {
    while ask(number).is_err() {
        fibre::sleep(SECOND);
    }
}

/// Ten transfers of 10, one a second, over a bad link, which breaks down for a minute.
fn transfers(sim: &Sim, memory: Memory) {
    let account = Arc::new(Mutex::new(Account::default()));
    let bank = Arc::clone(&account);
    sim.host("bank").run(move || {
        let listener = TcpListener::bind("0.0.0.0:5432").unwrap();
        for (stream, _) in listener.connections() {
            let account = Arc::clone(&bank);
            fibre::spawn(move || serve(&stream, &account, memory));
        }
    });
    let app = sim.host("app");
    let tick = Duration::from_millis(1);
    sim.link("app", "bank")
        .latency(tick..20 * tick)
        .drop_rate(0.02);
    let begins = Duration::from_millis(sim.draw(1000..4000));
    sim.after(begins)
        .partition("app", "bank")
        .heal_after(60 * SECOND);
    let app = app.run(|| {
        for number in 0..10 {
            transfer(number);
            fibre::sleep(SECOND);
        }
    });
    sim.advance(3600 * SECOND);
    assert!(app.is_finished());
    app.join().unwrap();
    let money = account.lock().money;
    assert!(money == 100, "{money} instead of 100");
}

fn right(sim: &Sim) {
    transfers(sim, Memory::Numbers);
}

#[test]
fn transfers_survive_a_partition() {
    let schedules = [
        Schedule::in_order(),
        Schedule::random(),
        Schedule::pct(3),
        Schedule::pos(),
    ];
    for schedule in schedules {
        let report = Sim::builder().seeds(30).schedule(schedule).run(right);
        assert_eq!((report.runs(), report.elapsed()), (30, 3600 * SECOND));
    }
}

#[test]
fn a_transfer_that_is_made_twice_is_found() {
    let text = failure(Sim::builder().seeds(1000), |sim| {
        transfers(sim, Memory::None)
    });
    assert_says(&text, &["instead of 100"]);
    assert!(!text.contains("is not under the kit's control"), "{text}");
}

/// It fails by what the network does, so no switch is left, and the shortest run has the network of
/// the whole one.
#[test]
fn the_printed_lines_repeat_such_a_transfer_in_another_process() {
    if plays("forgets") {
        let builder = Sim::builder().seeds(1000).schedule(Schedule::random());
        let builder = builder.shorten_for(Duration::from_secs(3600));
        let _ = builder.run(|sim| transfers(sim, Memory::None));
        return;
    }
    let first = spawn_child("forgets", &[]);
    assert!(!first.status.success());
    let says = ["instead of 100", "it fails in order, too: without a switch"];
    assert_says(&errors(&first), &says);
    let (short, whole) = (printed(&first, "replay"), printed(&first, "the whole run"));
    assert!(short.ends_with(":-") && whole.split(':').count() == 2);
    for value in [short, whole] {
        let again = spawn_child("forgets", &[("FIBRE_TEST", &value)]);
        assert!(!again.status.success());
        let text = errors(&again);
        assert_says(&text, &["instead of 100"]);
        assert!(
            !text.contains("another run") && !text.contains("control"),
            "{text}"
        );
        assert_eq!(printed(&again, "replay"), value);
    }
}

#[test]
fn a_thousand_runs_of_a_seed_are_one() {
    let run = |seed, schedule| -> Report {
        let builder = Sim::builder().seed(seed).schedule(schedule);
        builder.run(right)
    };
    for (schedule, runs) in [(Schedule::in_order(), 50), (Schedule::random(), 1000)] {
        let first = run(7, schedule);
        for _ in 0..runs {
            assert_eq!(run(7, schedule), first);
        }
        // Here the seed decides in order, too.
        assert!((0..5).any(|seed| run(seed, schedule).hash() != first.hash()));
    }
}

#[test]
fn runs_beside_each_other_are_one() {
    let run = || {
        Sim::builder()
            .seed(3)
            .seeds(5)
            .schedule(Schedule::random())
            .run(right)
    };
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(run)).collect();
    let expected = run();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), expected);
    }
}
