//! Descriptors of all kinds: timers, counters, terminals, children's ends, watches of files.

use crate::support::terminal::terminal;
use crate::support::{for_each_cluster, let_others_block, until_waiting};
use fibre::WaitKind;
use fibre::io::{Pollable, Readiness, pipe};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::inotify;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// A counter that is not set.
fn counter() -> Pollable<OwnedFd> {
    Pollable::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap()).unwrap()
}

/// Takes what a counter or timer has counted.
fn take(fd: &OwnedFd) -> std::io::Result<u64> {
    let mut count = [0; 8];
    rustix::io::read(fd, &mut count)?;
    Ok(u64::from_ne_bytes(count))
}

/// Counts up.
fn add(fd: impl AsFd, count: u64) {
    rustix::io::write(fd, &count.to_ne_bytes()).unwrap();
}

#[test]
fn timers_go_off() {
    for_each_cluster(|_| {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).unwrap();
        let timer = Pollable::new(timer).unwrap();
        let every = Timespec {
            tv_sec: 0,
            tv_nsec: 1_000_000,
        };
        let times = Itimerspec {
            it_interval: every,
            it_value: every,
        };
        let start = Instant::now();
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &times).unwrap();
        let mut expired = 0;
        while expired < 5 {
            expired += timer.read_with(take).unwrap();
        }
        assert!(start.elapsed() >= Duration::from_millis(5));
    });
}

/// Many count, one takes; nothing is lost.
#[test]
fn counters_add_up() {
    for_each_cluster(|_| {
        let counter = Arc::new(counter());
        let fibres = (0..4).map(|_| {
            let counter = Arc::clone(&counter);
            fibre::spawn(move || {
                for _ in 0..50 {
                    add(&*counter, 1);
                    fibre::yield_now();
                }
            })
        });
        let fibres: Vec<_> = fibres.collect();
        let mut sum = 0;
        while sum < 200 {
            sum += counter.read_with(take).unwrap();
        }
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        assert_eq!(sum, 200);
    });
}

/// A counter that is full makes its writers wait.
#[test]
fn writers_wait_for_room() {
    for_each_cluster(|_| {
        let counter = Arc::new(counter());
        add(&*counter, u64::MAX - 1);
        let writing = Arc::clone(&counter);
        let fibre = fibre::spawn(move || {
            let one = 1_u64.to_ne_bytes();
            writing.write_with(|fd| Ok(rustix::io::write(fd, &one)?))
        });
        let_others_block();
        let full = counter.ready_timeout(Readiness::WRITE, Duration::ZERO);
        assert_eq!(full.unwrap(), Readiness::NONE);
        assert_eq!(counter.read_with(take).unwrap(), u64::MAX - 1);
        assert_eq!(fibre.join().unwrap().unwrap(), 8);
        counter.writable().unwrap();
    });
}

/// A terminal gives lines, one at a time, and what is written to it comes out at its other side.
#[test]
fn terminals() {
    for_each_cluster(|_| {
        let (master, terminal) = terminal();
        let mut master = Pollable::new(master).unwrap();
        let mut terminal = Pollable::new(terminal).unwrap();
        let fibre = fibre::spawn(move || {
            let mut lines = Vec::new();
            for _ in 0..3 {
                let mut line = [0; 100];
                let count = terminal.read(&mut line).unwrap();
                lines.push(String::from_utf8_lossy(&line[..count]).into_owned());
            }
            terminal.write_all(b"done").unwrap();
            (lines, terminal)
        });
        let_others_block();
        master.write_all(b"one\ntwo\n").unwrap();
        let_others_block();
        master.write_all(b"three\n").unwrap();
        let (lines, _terminal) = fibre.join().unwrap();
        assert_eq!(lines, ["one\n", "two\n", "three\n"]);
        let mut echo = String::new();
        while !echo.ends_with("done") {
            let mut piece = [0; 100];
            let count = master.read(&mut piece).unwrap();
            echo.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
        assert_eq!(echo, "one\r\ntwo\r\nthree\r\ndone");
    });
}

/// A child that answers each line, through ends that std has made.
#[test]
fn ends_of_children() {
    for_each_cluster(|_| {
        let mut command = Command::new("cat");
        fibre::unblock_signals(&mut command);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        let stdin: OwnedFd = child.stdin.take().unwrap().into();
        let mut stdin = Pollable::new(File::from(stdin)).unwrap();
        let stdout: OwnedFd = child.stdout.take().unwrap().into();
        let mut stdout = Pollable::new(File::from(stdout)).unwrap();
        for line in ["there\n", "and back\n"] {
            stdin.write_all(line.as_bytes()).unwrap();
            let mut answer = vec![0; line.len()];
            stdout.read_exact(&mut answer).unwrap();
            assert_eq!(answer, line.as_bytes());
        }
        drop(stdin);
        assert_eq!(stdout.read(&mut [0; 8]).unwrap(), 0);
        assert!(fibre::blocking(|| child.wait()).unwrap().success());
    });
}

#[test]
fn watches_of_directories() {
    for_each_cluster(|cluster| {
        let name = format!("fibre-{}-{}", std::process::id(), cluster.processors());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        let watch = inotify::init(inotify::CreateFlags::CLOEXEC).unwrap();
        inotify::add_watch(&watch, &directory, inotify::WatchFlags::CREATE).unwrap();
        let watch = Pollable::new(watch).unwrap();
        let path = directory.clone();
        let fibre = fibre::spawn(move || {
            fibre::sleep(Duration::from_millis(1));
            File::create(path.join("new")).unwrap();
        });
        let mut buffer = [MaybeUninit::uninit(); 512];
        let name = watch.read_with(|fd| {
            let mut reader = inotify::Reader::new(fd, &mut buffer);
            let event = reader.next()?;
            Ok(event.file_name().unwrap().to_owned())
        });
        assert_eq!(name.unwrap().to_str(), Ok("new"));
        fibre.join().unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
    });
}

/// Files are told apart before they can block anybody.
#[test]
fn files_are_refused() {
    for path in ["/proc/self/exe", "/"] {
        let error = Pollable::new(File::open(path).unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{path}");
        assert!(error.to_string().contains("fs"), "{error}");
    }
    // Never makes anybody wait.
    let mut null = Pollable::new(File::open("/dev/null").unwrap()).unwrap();
    assert_eq!(null.read(&mut [0; 1]).unwrap(), 0);
    null.readable().unwrap();
}

/// A descriptor is lent to one object at a time, and comes back as it was.
#[test]
fn descriptors_are_lent() {
    for_each_cluster(|_| {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let blocks = || {
            let flags = rustix::fs::fcntl_getfl(&reader).unwrap();
            !flags.contains(rustix::fs::OFlags::NONBLOCK)
        };
        assert!(blocks());
        for byte in 0..3_u8 {
            let ours = Pollable::new(&reader).unwrap();
            assert!(!blocks());
            let again = Pollable::new(reader.as_fd()).unwrap_err();
            assert_eq!(again.kind(), ErrorKind::AlreadyExists);
            let thread = thread::spawn(move || {
                writer.write_all(&[byte]).unwrap();
                writer
            });
            let mut got = [7];
            let count = ours.read_with(|end| Read::read(&mut &**end, &mut got));
            assert_eq!((count.unwrap(), got), (1, [byte]));
            writer = fibre::blocking(|| thread.join()).unwrap();
            ours.into_inner().unwrap();
            assert!(blocks());
        }
        let (ours, _writer) = pipe().unwrap();
        let taken = Pollable::new(&ours).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::AlreadyExists);
    });
}

/// Closing ends all waits; an operation's own errors are its caller's.
#[test]
fn how_calls_end() {
    for_each_cluster(|_| {
        let counter = Arc::new(counter());
        let own = counter.read_with(|_| std::io::Result::<()>::Err(ErrorKind::NotFound.into()));
        assert_eq!(own.unwrap_err().kind(), ErrorKind::NotFound);
        let waiting = Arc::clone(&counter);
        let reading = fibre::spawn(move || waiting.read_with(take).unwrap_err().kind());
        let waiting = Arc::clone(&counter);
        let looking = fibre::spawn(move || waiting.readable().unwrap_err().kind());
        let_others_block();
        let soon = Instant::now() + Duration::from_millis(1);
        let nothing = counter.ready_until(Readiness::READ, soon).unwrap();
        assert!(nothing.is_empty() && Instant::now() >= soon);
        counter.close();
        assert_eq!(reading.join().unwrap(), ErrorKind::ConnectionAborted);
        assert_eq!(looking.join().unwrap(), ErrorKind::ConnectionAborted);
        let late = counter.read_with(take).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::ConnectionAborted);
    });
}

/// A panic in somebody's call takes no event from those who wait behind it.
#[test]
fn panics_pass_events_on() {
    for_each_cluster(|_| {
        let shared = Arc::new(counter());
        let bad = Arc::clone(&shared);
        let panics = fibre::spawn(move || {
            let mut tried = false;
            bad.read_with(|fd| {
                assert!(!tried, "the second try");
                tried = true;
                take(fd)
            })
        });
        until_waiting(WaitKind::Io, &[panics.id()]);
        let good = Arc::clone(&shared);
        let reader = fibre::spawn(move || good.read_with(take).unwrap());
        until_waiting(WaitKind::Io, &[reader.id()]);
        add(&*shared, 5);
        assert!(panics.join().is_err());
        assert_eq!(reader.join().unwrap(), 5);
    });
}
