//! Every call that waits, in a time-out. The table in docs/TIMEOUTS.md is what this finds.

use crate::support::{for_each_cluster, watched};
use fibre::channel::{Receiver, Sender, bounded, broadcast, watch};
use fibre::io::{PollFd, Readiness, pipe};
use fibre::net::{TcpListener, TcpStream, UdpSocket};
use fibre::os::unix::net::UnixStream;
use fibre::process::Command;
use fibre::sync::{
    AutoEvent, Barrier, BinarySemaphore, Condvar, Event, Mutex, Notify, Once, OnceLock, RwLock,
    Semaphore, WaitGroup,
};
use fibre::{Group, GroupError, Limit, Restarts, timeout};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::time::Duration;

/// A limit of the calls' own that is never reached.
const LONG: Duration = Duration::from_secs(3600);

/// The time-out around each call.
const SHORT: Duration = Duration::from_millis(3);

/// How a call ends when the time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It does not return.
    Unwinds,
    /// It says that it has not done what it was asked for.
    Fails,
}

use End::{Fails, Unwinds};

/// A call that never ends by itself; it returns whether it has failed.
struct Call {
    name: &'static str,
    end: End,
    call: fn(&Things) -> bool,
}

/// What the calls wait for: all is taken, empty, or never comes.
struct Things {
    mutex: Mutex<u32>,
    lock: RwLock<u32>,
    condition: (Mutex<bool>, Condvar),
    semaphore: Semaphore,
    binary: BinarySemaphore,
    barrier: Barrier,
    event: Event,
    auto: AutoEvent,
    notify: Notify,
    group: WaitGroup,
    once: Once,
    empty: (Sender<u32>, Receiver<u32>),
    full: (Sender<u32>, Receiver<u32>),
    rendezvous: (Sender<u32>, Receiver<u32>),
}

impl Things {
    fn new() -> Self {
        let things = Self {
            mutex: Mutex::new(0),
            lock: RwLock::new(0),
            condition: (Mutex::new(false), Condvar::new()),
            semaphore: Semaphore::new(0),
            binary: BinarySemaphore::new(false),
            barrier: Barrier::new(2),
            event: Event::new(),
            auto: AutoEvent::new(),
            notify: Notify::new(),
            group: WaitGroup::new(),
            once: Once::new(),
            empty: bounded(1),
            full: bounded(1),
            rendezvous: bounded(0),
        };
        things.full.0.send(7).unwrap();
        things.group.add(1);
        things
    }

    /// Everything is as it was before the calls, and nobody is waited for or waits.
    fn are_untouched(&self) {
        let guards = (self.mutex.is_locked(), self.lock.try_read().is_none());
        assert_eq!(guards, (true, true), "their owner still has them");
        assert!(self.condition.0.try_lock().is_some());
        for _ in 0..2 {
            self.semaphore.release();
            self.binary.release();
            assert!(self.semaphore.try_acquire() && self.binary.try_acquire());
        }
        assert_eq!(self.semaphore.available(), 0);
        assert_eq!(self.barrier.waiting(), 0, "no arrival is counted");
        self.auto.set();
        self.notify.notify_one();
        assert!(self.auto.try_wait() && self.notify.try_wait());
        assert_eq!(self.group.count(), 1);
        self.empty.0.try_send(3).unwrap();
        assert_eq!(self.empty.1.try_recv(), Ok(3));
        assert_eq!(self.full.1.try_recv(), Ok(7));
        assert!(
            self.full.1.try_recv().is_err(),
            "no value came from a call that ended"
        );
        self.full.0.try_send(7).unwrap();
        assert!(self.rendezvous.0.try_send(1).is_err() && self.rendezvous.1.try_recv().is_err());
    }
}

/// Writes an entry: a name, the way it ends, and the call.
macro_rules! calls {
    ($($name:literal $end:ident |$things:pat_param| $call:expr;)*) => {
        &[$(Call { name: $name, end: $end, call: |$things: &Things| $call }),*]
    };
}

/// The calls of core and sync, in all their forms.
const OBJECTS: &[Call] = calls! {
    "`sleep`" Unwinds |_| { fibre::sleep(LONG); false };
    "`sleep_until`" Unwinds |_| { fibre::sleep_until(std::time::Instant::now() + LONG); false };
    "`sleep_within`" Fails |_| fibre::sleep_within(LONG).is_err();
    "`Interval::tick`" Unwinds |_| { fibre::Interval::new(LONG).tick(); false };
    "`JoinHandle::join`" Unwinds |_| endless().join().is_ok();
    "`JoinHandle::join_timeout`" Fails |_| endless().join_timeout(LONG).is_err();
    "`JoinHandle::join_within`" Fails |_| endless().join_within(Limit::Cancellation).is_err();
    "`Mutex::lock`" Unwinds |it| { drop(it.mutex.lock()); false };
    "`Mutex::lock_timeout`" Fails |it| it.mutex.lock_timeout(LONG).is_none();
    "`Mutex::lock_within`" Fails |it| it.mutex.lock_within(Limit::Cancellation).is_err();
    "`RwLock::read`" Unwinds |it| { drop(it.lock.read()); false };
    "`RwLock::read_timeout`" Fails |it| it.lock.read_timeout(LONG).is_none();
    "`RwLock::write`" Unwinds |it| { drop(it.lock.write()); false };
    "`RwLock::write_within`" Fails |it| it.lock.write_within(LONG).is_err();
    "`Condvar::wait`" Unwinds |it| { it.condition.1.wait(&mut it.condition.0.lock()); false };
    "`Condvar::wait_timeout`" Fails |it| {
        !it.condition.1.wait_timeout(&mut it.condition.0.lock(), LONG)
    };
    "`Condvar::wait_while`" Unwinds |it| {
        it.condition.1.wait_while(&mut it.condition.0.lock(), |there| !*there);
        false
    };
    "`Condvar::wait_while_within`" Fails |it| {
        let mut guard = it.condition.0.lock();
        it.condition.1.wait_while_within(&mut guard, LONG, |there| !*there).is_err()
    };
    "`Semaphore::acquire`" Unwinds |it| { it.semaphore.acquire(); false };
    "`Semaphore::acquire_many`" Unwinds |it| { it.semaphore.acquire_many(3); false };
    "`Semaphore::acquire_timeout`" Fails |it| !it.semaphore.acquire_timeout(LONG);
    "`Semaphore::acquire_many_within`" Fails |it| it.semaphore.acquire_many_within(2, LONG).is_err();
    "`Semaphore::permit`" Unwinds |it| { drop(it.semaphore.permit()); false };
    "`BinarySemaphore::acquire`" Unwinds |it| { it.binary.acquire(); false };
    "`BinarySemaphore::acquire_within`" Fails |it| it.binary.acquire_within(LONG).is_err();
    "`Barrier::wait`" Unwinds |it| it.barrier.wait().is_leader();
    "`Barrier::wait_timeout`" Fails |it| it.barrier.wait_timeout(LONG).is_none();
    "`Event::wait`" Unwinds |it| { it.event.wait(); false };
    "`Event::wait_timeout`" Fails |it| !it.event.wait_timeout(LONG);
    "`AutoEvent::wait`" Unwinds |it| { it.auto.wait(); false };
    "`AutoEvent::wait_within`" Fails |it| it.auto.wait_within(LONG).is_err();
    "`Notify::wait`" Unwinds |it| { it.notify.wait(); false };
    "`Notify::wait_timeout`" Fails |it| !it.notify.wait_timeout(LONG);
    "`WaitGroup::wait`" Unwinds |it| { it.group.wait(); false };
    "`WaitGroup::wait_within`" Fails |it| it.group.wait_within(LONG).is_err();
    "`Once::wait`" Unwinds |it| { it.once.wait(); false };
    "`Once::wait_timeout`" Fails |it| !it.once.wait_timeout(LONG);
    "`OnceLock::wait`" Unwinds |_| *OnceLock::<bool>::new().wait();
    "`Receiver::recv`" Unwinds |it| it.empty.1.recv().is_ok();
    "`Receiver::recv_timeout`" Fails |it| it.empty.1.recv_timeout(LONG).is_err();
    "`Receiver::recv_within`" Fails |it| it.empty.1.recv_within(Limit::Cancellation).is_err();
    "`Receiver::recv` of a rendezvous" Unwinds |it| it.rendezvous.1.recv().is_ok();
    "`Sender::send`" Unwinds |it| it.full.0.send(8).is_ok();
    "`Sender::send_timeout`" Fails |it| it.full.0.send_timeout(8, LONG).is_err();
    "`Sender::send` to a rendezvous" Unwinds |it| it.rendezvous.0.send(8).is_ok();
    "`watch::Receiver::changed`" Unwinds |_| {
        let (_sender, mut receiver) = watch(0);
        receiver.changed().is_ok()
    };
    "`broadcast::Receiver::recv`" Unwinds |_| {
        let (_sender, mut receiver) = broadcast::<u32>(2);
        receiver.recv().is_ok()
    };
    "`select!`" Unwinds |it| {
        fibre::select! {
            recv(it.empty.1) -> value => value.is_ok(),
            send(it.full.0, 8) -> sent => sent.is_ok(),
        }
    };
};

/// The calls of io.
const IO: &[Call] = calls! {
    "`TcpStream::read`" Fails |_| {
        let (mut one, _other) = connected();
        one.read(&mut [0; 8]).is_err_and(|error| fibre::is_cancelled_error(&error))
    };
    "`TcpStream::write_all`" Fails |_| {
        let (mut one, _other) = connected();
        one.write_all(&vec![0; 64 << 20]).is_err()
    };
    "`TcpListener::accept`" Fails |_| TcpListener::bind("127.0.0.1:0").unwrap().accept().is_err();
    "`UdpSocket::recv`" Fails |_| {
        UdpSocket::bind("127.0.0.1:0").unwrap().recv(&mut [0; 8]).is_err()
    };
    "`UnixStream::read`" Fails |_| {
        let (mut one, _other) = UnixStream::pair().unwrap();
        one.read(&mut [0; 8]).is_err()
    };
    "`PipeReader::read`" Fails |_| {
        let (mut reader, _writer) = pipe().unwrap();
        reader.read(&mut [0; 8]).is_err()
    };
    "`io::poll`" Fails |_| {
        let (reader, _writer) = pipe().unwrap();
        fibre::io::poll(&mut [PollFd::new(&reader, Readiness::READ)]).is_err()
    };
    "`io::poll_timeout`" Fails |_| {
        let (reader, _writer) = pipe().unwrap();
        fibre::io::poll_timeout(&mut [PollFd::new(&reader, Readiness::READ)], LONG).is_err()
    };
    "`blocking_within`" Fails |_| {
        fibre::blocking_within(LONG, || std::thread::sleep(100 * SHORT)).is_err()
    };
    "`compute_within`" Fails |_| {
        fibre::compute_within(LONG, || std::thread::sleep(100 * SHORT)).is_err()
    };
    "`Child::wait`" Fails |_| {
        let mut child = Command::new("sleep").arg("3600").kill_on_drop(true).spawn().unwrap();
        child.wait().is_err()
    };
    "`group`" Fails |_| {
        let waits = |group: &Group<'_, '_, (), ()>| {
            group.spawn(|| fibre::sleep_within(LONG).map_err(drop));
            Ok(())
        };
        fibre::group(waits) == Err(GroupError::TimedOut)
    };
    "`Group::next`" Unwinds |_| in_group(|group| group.next().is_none());
    "`Group::first`" Unwinds |_| in_group(|group| group.first().is_none());
    "`Group::quorum`" Unwinds |_| in_group(|group| group.quorum(1).is_err());
    "`Group::quorum_within`" Fails |_| in_group(|group| group.quorum_within(1, LONG).is_err());
    "`Group::results_within`" Fails |_| in_group(|group| group.results_within(LONG).is_err());
    "`Group::start`" Unwinds |_| in_group(|group| {
        let is_left = || fibre::CancelToken::of_caller().is_some_and(|it| it.is_cancelled());
        // The fibre has the time, too, and is not to end by it.
        let waits = move || while !is_left() {
            fibre::sleep(Duration::from_micros(100));
        };
        let started = group.start::<(), _>(move |_ready| {
            fibre::shield(waits);
            Ok(())
        });
        started.is_err()
    });
    "`Restarts::run`" Fails |_| {
        let restarts = Restarts::new(1, LONG).backoff(LONG, LONG);
        restarts.run(|| Err::<(), _>(())).is_err()
    };
};

/// Calls `wait` in the body of a group. The fibre of the group ends after the body.
fn in_group(wait: fn(&Group<'_, '_, (), ()>) -> bool) -> bool {
    /// Sets an event.
    struct SetOnDrop<'a>(&'a Event);
    impl Drop for SetOnDrop<'_> {
        fn drop(&mut self) {
            self.0.set();
        }
    }
    let event = Event::new();
    let ended = fibre::group(|group| {
        group.spawn(|| {
            fibre::shield(|| event.wait());
            Ok(())
        });
        let _sets = SetOnDrop(&event);
        Ok(wait(group))
    });
    ended.unwrap()
}

/// A fibre that nobody ends, but whose handle ends it.
fn endless() -> fibre::JoinHandle<()> {
    fibre::spawn(|| _ = fibre::sleep_within(Duration::from_millis(300)))
}

/// Two ends of a connection.
fn connected() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let one = fibre::spawn(move || TcpStream::connect(address).unwrap());
    let other = fibre::shield(|| listener.accept()).unwrap().0;
    (fibre::shield(|| one.join()).unwrap(), other)
}

/// Makes a call in a time-out, and checks how it ends.
fn try_out(call: &Call, things: &Things) {
    let late = timeout(SHORT, || (call.call)(things));
    let late = late.expect_err(call.name).into_value();
    match call.end {
        Unwinds => assert_eq!(late, None, "{} is unwound", call.name),
        Fails => assert_eq!(late, Some(true), "{} fails", call.name),
    }
    // Nothing is left of the time-out.
    assert!(!fibre::is_cancelled(), "{}", call.name);
}

/// Each call ends soon after the time, and leaves all as it was.
#[test]
fn every_call_ends_in_a_fibre() {
    for_each_cluster(|_| {
        // The locks' owner is another fibre, as builds with debug assertions want it.
        let things = std::sync::Arc::new(Things::new());
        let (held, read_held) = (things.mutex.lock(), things.lock.write());
        let others = std::sync::Arc::clone(&things);
        let calls = || OBJECTS.iter().chain(IO);
        let caller = fibre::spawn(move || calls().for_each(|call| try_out(call, &others)));
        caller.join().unwrap();
        things.are_untouched();
        drop((held, read_held));
    });
}

/// It does so on a plain thread, too.
#[test]
fn every_call_ends_on_a_thread() {
    watched(|| {
        let things = std::sync::Arc::new(Things::new());
        let (held, read_held) = (things.mutex.lock(), things.lock.write());
        let others = std::sync::Arc::clone(&things);
        let caller = std::thread::spawn(move || {
            for call in OBJECTS.iter().chain(IO) {
                try_out(call, &others);
            }
        });
        caller.join().unwrap();
        things.are_untouched();
        drop((held, read_held));
    });
}

/// The page says what the tests above have seen.
#[test]
fn the_page_has_the_table() {
    let mut table = String::from("| call | when the time is over |\n|---|---|\n");
    for call in OBJECTS.iter().chain(IO) {
        let end = match call.end {
            Unwinds => "does not return",
            Fails => "fails",
        };
        writeln!(table, "| {} | {end} |", call.name).unwrap();
    }
    let page = include_str!("../../../docs/TIMEOUTS.md");
    assert!(
        page.contains(&table),
        "docs/TIMEOUTS.md should have\n{table}"
    );
}
