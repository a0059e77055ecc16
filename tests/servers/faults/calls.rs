//! Reads, writes, waits and their like that go wrong.

use super::plan::{
    ACCEPTS, COPIES, FILES, Fault, Plan, READS, Rule, Scope, TRANSFERS, WAITS, WRITES,
};
use super::seat::{Question, ask};
use super::support::sockets::{noise, pair};
use super::tracer::scratch_folder;
use super::traffic::{each_poller_under, under};
use rustix::io::Errno;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Errors of calls that were interrupted by a signal.
const INTERRUPTED: Fault = Fault::Fails(&[Errno::INTR]);

/// Signals interrupt three of ten calls, and futexes wake for no reason: nobody sees it.
#[test]
fn interruptions() {
    under(Plan {
        rules: &[
            Rule {
                calls: TRANSFERS,
                scope: Scope::Streams,
                one_in: 3,
                fault: INTERRUPTED,
            },
            Rule {
                calls: ACCEPTS,
                scope: Scope::All,
                one_in: 3,
                fault: INTERRUPTED,
            },
            Rule {
                calls: COPIES,
                scope: Scope::All,
                one_in: 3,
                fault: INTERRUPTED,
            },
            Rule {
                calls: WAITS,
                scope: Scope::All,
                one_in: 3,
                fault: INTERRUPTED,
            },
            Rule {
                calls: &[libc::SYS_futex],
                scope: Scope::FutexWaits,
                one_in: 3,
                fault: Fault::Spurious,
            },
        ],
        ..Plan::default()
    });
}

/// However often a wait is interrupted, it ends at its deadline, and not before. Each is
/// interrupted half-way: one that began anew with its whole time would never end.
#[test]
fn deadlines_under_interruptions() {
    const TIME: Duration = Duration::from_millis(8);
    const HALF_WAY: Fault = Fault::Disturbed(Duration::from_millis(4));
    let plan = Plan {
        rules: &[
            Rule {
                calls: WAITS,
                scope: Scope::All,
                one_in: 1,
                fault: HALF_WAY,
            },
            Rule {
                calls: &[libc::SYS_futex],
                scope: Scope::FutexWaits,
                one_in: 1,
                fault: HALF_WAY,
            },
        ],
        ..Plan::default()
    };
    each_poller_under(plan, |_, _, _| {
        let before = ask(Question::Begin);
        // If the tracer is late, the waits have ended.
        while ask(Question::Begin) == before {
            wait_in_vain(TIME);
        }
    });
}

/// Two reads, at the same time, and a sleep, all of which end with their time.
fn wait_in_vain(time: Duration) {
    let (near, far) = pair();
    near.set_read_timeout(Some(time)).unwrap();
    far.set_read_timeout(Some(time)).unwrap();
    let begun = Instant::now();
    let far = Arc::new(far);
    let reading = Arc::clone(&far);
    let other = fibre::spawn(move || (&*reading).read(&mut [0]).unwrap_err().kind());
    let kind = (&near).read(&mut [0]).unwrap_err().kind();
    assert_eq!([kind, other.join().unwrap()], [ErrorKind::TimedOut; 2]);
    fibre::sleep(time);
    let took = begun.elapsed();
    let limits = 2 * time..Duration::from_secs(20);
    assert!(limits.contains(&took), "{took:?}");
}

/// What was said to be ready is not, or not yet: who tries again in time loses nothing.
#[test]
fn readiness_that_was_none() {
    under(Plan {
        rules: &[
            Rule {
                calls: TRANSFERS,
                scope: Scope::Streams,
                one_in: 3,
                fault: Fault::Again,
            },
            Rule {
                calls: ACCEPTS,
                scope: Scope::All,
                one_in: 3,
                fault: Fault::Again,
            },
        ],
        ..Plan::default()
    });
}

/// Reads and writes stop short of what there is.
#[test]
fn short_counts() {
    under(Plan {
        rules: &[Rule {
            calls: TRANSFERS,
            scope: Scope::Streams,
            one_in: 3,
            fault: Fault::Short,
        }],
        ..Plan::default()
    });
}

/// Events come late, in another order, twice, without a reason, and for owners that are gone.
#[test]
fn events_in_disorder() {
    const LATE: Fault = Fault::Late(Duration::from_micros(500));
    under(Plan {
        rules: &[
            Rule {
                calls: WAITS,
                scope: Scope::All,
                one_in: 10,
                fault: LATE,
            },
            Rule {
                calls: WAITS,
                scope: Scope::All,
                one_in: 2,
                fault: Fault::Scrambled,
            },
        ],
        ..Plan::default()
    });
}

/// Reads and writes find the kernel without memory: the calls say so, and go on when made again.
#[test]
fn kernels_without_memory() {
    const SHORTAGE: Fault = Fault::Fails(&[Errno::NOMEM, Errno::NOBUFS]);
    under(Plan {
        rules: &[Rule {
            calls: TRANSFERS,
            scope: Scope::Streams,
            one_in: 5,
            fault: SHORTAGE,
        }],
        passing: &[Errno::NOMEM, Errno::NOBUFS],
        ..Plan::default()
    });
}

/// Connections break: who uses them is told, and all others go on.
#[test]
fn connections_that_break() {
    const BREAKS: &[Errno] = &[Errno::CONNRESET, Errno::TIMEDOUT, Errno::HOSTUNREACH];
    under(Plan {
        rules: &[
            Rule {
                calls: READS,
                scope: Scope::Streams,
                one_in: 40,
                fault: Fault::Fails(BREAKS),
            },
            Rule {
                calls: WRITES,
                scope: Scope::Streams,
                one_in: 40,
                fault: Fault::Fails(&[Errno::PIPE, Errno::CONNRESET]),
            },
        ],
        lasting: &[
            Errno::CONNRESET,
            Errno::TIMEDOUT,
            Errno::HOSTUNREACH,
            Errno::PIPE,
        ],
        ..Plan::default()
    });
}

/// Connections that were gone before they were accepted are passed over.
#[test]
fn connections_that_were_gone() {
    const GONE: Fault = Fault::Fails(&[Errno::CONNABORTED, Errno::PROTO]);
    under(Plan {
        rules: &[Rule {
            calls: ACCEPTS,
            scope: Scope::All,
            one_in: 2,
            fault: GONE,
        }],
        ..Plan::default()
    });
}

/// The kernel, or a sandbox, does not know the newer way to wait for events, and cannot copy these
/// bytes.
#[test]
fn kernels_that_know_less() {
    const UNKNOWN: Fault = Fault::Fails(&[Errno::NOSYS, Errno::PERM]);
    const NEWER: &[i64] = &[libc::SYS_epoll_pwait2];
    under(Plan {
        rules: &[
            Rule {
                calls: NEWER,
                scope: Scope::All,
                one_in: 1,
                fault: UNKNOWN,
            },
            Rule {
                calls: COPIES,
                scope: Scope::All,
                one_in: 3,
                fault: Fault::Fails(&[Errno::INVAL]),
            },
        ],
        ..Plan::default()
    });
}

/// Reads and writes of files are interrupted and stop short: who wants all of it gets all of it.
#[test]
fn files_in_pieces() {
    let plan = Plan {
        rules: &[
            Rule {
                calls: FILES,
                scope: Scope::Files,
                one_in: 3,
                fault: INTERRUPTED,
            },
            Rule {
                calls: FILES,
                scope: Scope::Files,
                one_in: 2,
                fault: Fault::Short,
            },
        ],
        ..Plan::default()
    };
    each_poller_under(plan, |_, _, mut random| {
        let name = format!("fibre-faults-{:x}", random.next());
        let path = Path::new(&scratch_folder()).join(name);
        let bytes: Vec<u8> = noise(random.next()).take(60_000).collect();
        fibre::fs::write(&path, &bytes).unwrap();
        assert!(fibre::fs::read(&path).unwrap() == bytes);
        let mut file = fibre::fs::File::open(&path).unwrap();
        let mut some = vec![0; 50_000];
        file.read_exact(&mut some).unwrap();
        assert!(some == bytes[..50_000]);
        fibre::fs::remove_file(&path).unwrap();
    });
}
