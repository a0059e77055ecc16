//! A network under the kit's other features: schedules of all kinds, shortening, invariants, hash
//! maps, hosts and leaks.

use crate::replays::printed;
use crate::support::process::{errors, plays, spawn_child};
use crate::{assert_says, failure};
use fibre::net::{TcpListener, TcpStream};
use fibre::sync::Mutex;
use fibre_test::{Schedule, Sim, switch_point};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(1);

/// Takes 100 of the account for each byte that comes, if that is there. Wrong: it may be gone
/// between the look and the taking.
fn pays(mut stream: TcpStream, account: &AtomicI64) -> io::Result<()> {
    while stream.read(&mut [0])? > 0 {
        if account.load(Ordering::Relaxed) >= 100 {
            switch_point();
            account.fetch_sub(100, Ordering::Relaxed);
        }
        stream.write_all(b"!")?;
    }
    Ok(())
}

/// Two clients that take money at the same moment, unless the link of one has lost something.
fn two_take(sim: &Sim, account: &Arc<AtomicI64>) {
    let bank = Arc::clone(account);
    sim.host("bank").run(move || {
        let listener = TcpListener::bind("0.0.0.0:5432").unwrap();
        for (stream, _) in listener.connections() {
            let account = Arc::clone(&bank);
            fibre::spawn(move || pays(stream, &account));
        }
    });
    let clients = ["one", "other"].map(|name| {
        let host = sim.host(name);
        let link = sim.link(name, "bank");
        link.latency(TICK..TICK).drop_rate(0.3);
        host.run(|| {
            let mut stream = TcpStream::connect("bank:5432")?;
            stream.write_all(b"?")?;
            stream.read_exact(&mut [0])
        })
    });
    for client in clients {
        // Its connection may have timed out.
        let _ = client.join().unwrap();
    }
}

/// [`two_take`], and a look at the account.
fn overdraws(sim: &Sim) {
    let account = Arc::new(AtomicI64::new(100));
    two_take(sim, &account);
    let left = account.load(Ordering::Relaxed);
    assert!(left >= 0, "the account is overdrawn: {left}");
}

/// It needs a network that brings both at one moment, and one switch there.
#[test]
fn a_failure_over_the_network_is_made_shorter_and_repeated_by_its_line() {
    if plays("overdraws") {
        let builder = Sim::builder().seeds(1000).schedule(Schedule::random());
        let builder = builder.shorten_for(Duration::from_secs(3600));
        let _ = builder.run(overdraws);
        return;
    }
    let first = spawn_child("overdraws", &[]);
    assert!(!first.status.success());
    let says = [
        "the account is overdrawn",
        "shortest failing schedule: 1 switch\n",
        " of host bank gives way in kit::network_runs::pays",
    ];
    assert_says(&errors(&first), &says);
    let (short, whole) = (printed(&first, "replay"), printed(&first, "the whole run"));
    assert_eq!(short.split(':').count(), 3, "{short}");
    for value in [&short, &whole] {
        let again = spawn_child("overdraws", &[("FIBRE_TEST", value)]);
        assert!(!again.status.success());
        let text = errors(&again);
        assert_says(&text, &["the account is overdrawn"]);
        let is_another = text.contains("another run") || text.contains("control");
        assert!(!is_another, "{text}");
        assert_eq!(&printed(&again, "replay"), value);
    }
    // With another seed the network is another one, so these switches are another run.
    let (seed, rest) = short.split_once(':').unwrap();
    let seed = seed.parse::<u64>().unwrap() + 1;
    let other = spawn_child("overdraws", &[("FIBRE_TEST", &format!("{seed}:{rest}"))]);
    assert!(!other.status.success());
    let all = errors(&other) + &String::from_utf8_lossy(&other.stdout);
    assert_says(&all, &["which is another run than"]);
}

#[test]
fn the_switches_of_a_failure_name_hosts() {
    let runs = Sim::builder().seeds(200).schedule(Schedule::random());
    let runs = runs.shorten_for(Duration::from_secs(3600));
    let failed = runs.try_run(|sim| {
        // Its lock is no switch point.
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        for name in ["one", "other", "third"] {
            let order = Arc::clone(&order);
            sim.host(name).run(move || {
                order.lock().unwrap().push(name);
                TcpListener::bind("0.0.0.0:80")?.accept()
            });
        }
        sim.settle();
        let order = order.lock().unwrap().clone();
        assert!(order != ["one", "third", "other"], "out of order");
    });
    let failed = failed.unwrap_err();
    let text = failed.to_string();
    assert_eq!(failed.switches(), Some(1), "{text}");
    let parts = [
        "out of order",
        " of host one ",
        " (step 1), and fibre ",
        " of host third runs",
    ];
    assert_says(&text, &parts);
}

#[test]
fn an_exhaustive_schedule_runs_over_a_network() {
    let all = Sim::builder().schedule(Schedule::exhaustive(1));
    let report = all.run(|sim| {
        sim.host("server")
            .run(|| TcpListener::bind("0.0.0.0:80")?.accept()?.0.write_all(b"!"));
        let client = sim.host("client");
        sim.link("server", "client").latency(TICK..20 * TICK);
        sim.settle();
        let reads = || TcpStream::connect("server:80")?.read_exact(&mut [0]);
        client.run(reads).join().unwrap().unwrap();
    });
    assert!(report.is_complete() && report.runs() > 1, "{report:?}");
}

#[test]
fn an_invariant_is_asked_while_hosts_run() {
    let test = |sim: &Sim| {
        let account = Arc::new(AtomicI64::new(100));
        let (seen, now) = (Arc::clone(&account), sim.clone());
        sim.always("nothing is overdrawn", move || {
            now.now() < TICK || seen.load(Ordering::Relaxed) >= 0
        });
        two_take(sim, &account);
    };
    let _ = Sim::builder().seeds(20).run(test);
    let runs = Sim::builder().seeds(1000).schedule(Schedule::pos());
    let failed = runs.try_run(test).unwrap_err();
    let text = failed.to_string();
    assert_says(
        &text,
        &["an invariant is broken: nothing is overdrawn, at "],
    );
    assert_eq!(failed.switches(), Some(1), "{text}");
}

/// How long each of some pieces takes from one host to another.
fn times(sim: &Sim, from: &str, to: &str) -> fibre::JoinHandle<Vec<Duration>> {
    sim.host(to).run(|| {
        for (mut stream, _) in TcpListener::bind("0.0.0.0:80").unwrap().connections() {
            fibre::spawn(move || {
                while stream.read(&mut [0])? > 0 {
                    stream.write_all(b"!")?;
                }
                io::Result::Ok(())
            });
        }
    });
    sim.settle();
    let host = sim.host(from);
    sim.link(from, to).latency(TICK..SECOND).drop_rate(0.2);
    let (sim, peer) = (sim.clone(), format!("{to}:80"));
    host.run(move || {
        let mut stream = TcpStream::connect(peer.as_str()).unwrap();
        let mut times = Vec::new();
        for _ in 0..20 {
            let begun = sim.now();
            stream.write_all(b"?").unwrap();
            stream.read_exact(&mut [0]).unwrap();
            times.push(sim.now() - begun);
        }
        times
    })
}

/// What the network does with this seed and schedule to one link, where the test does more or less
/// besides: another link, hash maps, other draws.
fn luck(seed: u64, schedule: Schedule, does_more: bool) -> Vec<Duration> {
    let found = Arc::new(Mutex::new(Vec::new()));
    let finds = Arc::clone(&found);
    let _ = Sim::builder()
        .seed(seed)
        .schedule(schedule)
        .run(move |sim| {
            let times = times(sim, "client", "server");
            let others = does_more.then(|| self::times(sim, "other", "peer"));
            if does_more {
                let _ = sim.draw(0..1000);
                let map: HashMap<u32, u32> = (0..10).map(|key| (key, key)).collect();
                let sum: u32 = map.values().sum();
                assert_eq!(sum, 45);
            }
            *finds.lock() = times.join().unwrap();
            others.map(|others| others.join().unwrap());
        });
    let found = found.lock().clone();
    assert_eq!(found.len(), 20);
    found
}

/// So a run with fewer switches fails by the same network.
#[test]
fn a_links_luck_follows_from_the_seed_alone() {
    let expected = luck(3, Schedule::in_order(), false);
    let schedules = [
        Schedule::in_order(),
        Schedule::random(),
        Schedule::pct(3),
        Schedule::pos(),
        Schedule::exhaustive(0),
    ];
    for schedule in schedules {
        for does_more in [false, true] {
            let found = luck(3, schedule, does_more);
            assert_eq!(found, expected, "{schedule:?} {does_more}");
        }
    }
    assert_ne!(luck(4, Schedule::in_order(), false), expected);
}

/// The schedule of a seed is what it is without a network, too: the network draws elsewhere.
#[test]
fn a_network_leaves_the_choices_as_they_are() {
    let order = |has_network: bool| {
        let order = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&order);
        let builder = Sim::builder().seed(11).schedule(Schedule::random());
        let _ = builder.run(move |sim| {
            if has_network {
                sim.host("server");
                sim.host("client");
                sim.link("client", "server").latency(TICK..SECOND);
                let _ = sim.draw(0..1000);
            }
            fibre::scope(|scope| {
                for number in 0..5 {
                    let notes = &notes;
                    scope.spawn(move || {
                        for _ in 0..10 {
                            notes.lock().push(number);
                        }
                    });
                }
            });
        });
        order.lock().clone()
    };
    assert_eq!(order(true), order(false));
}

/// A program that starts its server and returns. The server is the host's, and no leak.
#[test]
fn fibres_of_a_fibre_that_has_ended_are_of_its_host() {
    for schedule in [Schedule::in_order(), Schedule::random(), Schedule::pos()] {
        let _ = Sim::builder().seeds(20).schedule(schedule).run(|sim| {
            let starts = || {
                fibre::spawn(|| TcpListener::bind("0.0.0.0:80")?.accept());
            };
            sim.host("server").run(starts).join().unwrap();
            sim.settle();
        });
    }
    // The deadlock's report says so, too.
    let text = failure(Sim::builder(), |sim| {
        let starts = || {
            fibre::spawn(|| TcpListener::bind("0.0.0.0:80")?.accept());
        };
        sim.host("server").run(starts).join().unwrap();
        fibre::sync::Event::new().wait();
    });
    assert_says(&text, &[" of host server waits for "]);
}

/// Hosts end with a test that allows leaks, as with any, and a leak beside hosts is one.
#[test]
fn leaks_beside_hosts_are_told_unless_allowed() {
    let test = |sim: &Sim| {
        sim.host("server")
            .run(|| TcpListener::bind("0.0.0.0:80")?.accept());
        fibre::spawn(|| fibre::sync::Event::new().wait());
        sim.settle();
    };
    for schedule in [Schedule::in_order(), Schedule::random()] {
        let builder = || Sim::builder().schedule(schedule);
        let text = failure(builder(), test);
        assert_says(
            &text,
            &["leak: 1 fibre still live", "replay: FIBRE_TEST=0:"],
        );
        let _ = builder().seeds(5).allow_leaks().run(test);
    }
}

/// The attribute's settings hold for runs with hosts.
#[fibre_test::test(seeds = 10, schedule = Schedule::pos())]
fn a_host_in_a_test_by_attribute(sim: &Sim) -> io::Result<()> {
    sim.host("server")
        .run(|| TcpListener::bind("0.0.0.0:80")?.accept()?.0.write_all(b"!"));
    sim.settle();
    let asks = || TcpStream::connect("server:80")?.read_exact(&mut [0]);
    sim.host("client").run(asks).join().unwrap()
}
