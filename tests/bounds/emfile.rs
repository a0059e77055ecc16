//! Running out of descriptors, and not losing any. In a process of its own, because it lowers
//! the limit and counts what is open.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::net::{TcpListener, TcpStream};
use fibre::os::unix::net::UnixListener;
use fibre::sync::Event;
use fibre::{Cluster, Interval, select};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::net as std_net;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};
use support::{eventually, processor_counts, sockets, watched};

/// The tests of this file take turns: each looks at the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// How many descriptors are open.
fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Waits until `count` descriptors are open, or fewer.
#[track_caller]
fn expect_descriptors(count: usize) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while open_descriptors() > count {
        let open = open_descriptors();
        assert!(
            Instant::now() < deadline,
            "{open} instead of {count} are open"
        );
        thread::sleep(Duration::from_millis(2));
    }
}

/// Sets how many descriptors there may be; back to what it was on drop.
struct Limit(Rlimit);

impl Limit {
    /// Leaves room for `spare` more than there are.
    fn leaving(spare: usize) -> Self {
        let before = getrlimit(Resource::Nofile);
        // The limit is on the numbers, which are dense but for what is open now.
        let highest = std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u64>().ok());
        let lowered = Rlimit {
            current: Some(highest.max().unwrap() + spare as u64),
            maximum: before.maximum,
        };
        setrlimit(Resource::Nofile, lowered).unwrap();
        Self(before)
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        setrlimit(Resource::Nofile, self.0).unwrap();
    }
}

/// CPU time of the process.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A server that counts its errors and echoes one byte.
fn serve(cluster: &Cluster, listener: &Arc<TcpListener>) -> Arc<AtomicUsize> {
    let errors = Arc::new(AtomicUsize::new(0));
    let (listener, count) = (Arc::clone(listener), Arc::clone(&errors));
    cluster.spawn(move || {
        loop {
            match listener.accept() {
                Ok((mut stream, _)) => {
                    fibre::spawn(move || {
                        let mut byte = [0];
                        while stream.read(&mut byte).is_ok_and(|count| count == 1) {
                            stream.write_all(&byte).unwrap();
                        }
                    });
                }
                Err(error) if error.raw_os_error() == Some(libc::EMFILE) => {
                    count.fetch_add(1, Ordering::SeqCst);
                }
                Err(_closed) => break,
            }
        }
    });
    errors
}

/// Whether a server answers within a second on this connection.
fn answers(mut client: &std_net::TcpStream) -> bool {
    client
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    client.write_all(b"?").is_ok() && client.read(&mut [0]).is_ok_and(|count| count == 1)
}

/// Without descriptors, accepting is an error that is returned; trying again is paced, costs
/// next to nothing, and succeeds soon after some are free again.
#[test]
fn accept_survives_without_descriptors() {
    let _alone = alone();
    for processors in processor_counts() {
        watched(|| {
            let cluster = Cluster::builder().processors(processors).build().unwrap();
            let listener = Arc::new(sockets::listener());
            let address = listener.local_addr().unwrap();
            let errors = serve(&cluster, &listener);
            let first = std_net::TcpStream::connect(address).unwrap();
            assert!(answers(&first), "it works in the beginning");

            let reserve: Vec<_> = (0..10).map(|_| sockets::pair()).collect();
            let limit = Limit::leaving(12);
            let mut clients = Vec::new();
            while let Ok(client) = std_net::TcpStream::connect(address) {
                clients.push(client);
                thread::sleep(Duration::from_millis(2));
            }
            assert!(clients.len() >= 5, "{} clients", clients.len());
            thread::sleep(Duration::from_millis(100));
            support::eventually(|| errors.load(Ordering::SeqCst) > 0);
            let errors_before = errors.load(Ordering::SeqCst);
            let (begun, cpu_before) = (Instant::now(), cpu_time());
            thread::sleep(Duration::from_millis(400));
            support::eventually(|| errors.load(Ordering::SeqCst) > errors_before);
            let tries = errors.load(Ordering::SeqCst) - errors_before;
            let (used, took) = (cpu_time() - cpu_before, begun.elapsed());
            assert!(
                tries <= 100 * took.as_millis() as usize / 400,
                "{tries} attempts in {took:?}"
            );
            assert!(used < took / 4, "{used:?} of CPU in {took:?}");
            assert!(answers(&first), "those who are in are served");

            drop(reserve);
            assert!(clients.iter().all(answers), "and later all");
            drop((limit, first, clients));
            listener.close();
            cluster.stop();
        });
    }
}

/// Makes the default cluster open all that it will ever have open: plain threads use its
/// processors to wait.
fn start_default_cluster() {
    drop((0..16).map(|_| sockets::pair()).collect::<Vec<_>>());
    let fibres: Vec<_> = (0..64).map(|_| fibre::spawn(sockets::pair)).collect();
    fibres
        .into_iter()
        .for_each(|fibre| drop(fibre.join().unwrap()));
}

/// Thousands of short connections, ended in all ways, leave nothing open.
#[test]
fn connections_leave_nothing_open() {
    let _alone = alone();
    watched(|| {
        start_default_cluster();
        let before = open_descriptors();
        for processors in processor_counts() {
            let cluster = Cluster::builder().processors(processors).build().unwrap();
            let listener = Arc::new(sockets::listener());
            let address = listener.local_addr().unwrap();
            serve(&cluster, &listener);
            let clients = (0..8_usize).map(|me| {
                cluster.spawn(move || {
                    for round in 0..150_usize {
                        let mut stream = TcpStream::connect(address).unwrap();
                        let clone = (round % 7 == 0).then(|| stream.try_clone().unwrap());
                        if (me + round) % 3 != 0 {
                            stream.write_all(b"!").unwrap();
                            stream.read_exact(&mut [0]).unwrap();
                        }
                        match round % 5 {
                            0 => sockets::reset_on_close(&stream),
                            1 => drop(stream.into_std().unwrap()),
                            2 => stream.close(),
                            _ => {}
                        }
                        drop(clone);
                    }
                })
            });
            for client in clients.collect::<Vec<_>>() {
                client.join().unwrap();
            }
            listener.close();
            drop(listener);
            cluster.stop();
            expect_descriptors(before);
        }
    });
}

/// Clusters that did I/O give back their descriptors and kernel threads when they end.
#[test]
fn clusters_leave_nothing_open() {
    let _alone = alone();
    watched(|| {
        start_default_cluster();
        let before = open_descriptors();
        let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
        let threads_before = threads();
        for round in 0..60 {
            let cluster = Cluster::builder()
                .processors(1 + round % 4)
                .build()
                .unwrap();
            let (near, mut far) = sockets::pair();
            let reader = cluster.spawn(move || (&near).read(&mut [0]).unwrap());
            thread::sleep(Duration::from_micros(300));
            far.write_all(b"x").unwrap();
            assert_eq!(reader.join().unwrap(), 1);
            cluster.stop();
        }
        expect_descriptors(before);
        // A thread that has been joined is listed until the kernel is done with it.
        support::eventually(|| threads() <= threads_before + 1);
    });
}

/// One error more, which says that there is no descriptor.
fn refused(error: &std::io::Error) -> u128 {
    assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
    1
}

/// A selection that finds no descriptor says so, goes on with its other arms during the pause,
/// however often they come, and accepts when there is one again.
#[test]
#[allow(
    clippy::cognitive_complexity,
    reason = "what `select!` expands to is counted"
)]
fn a_selection_ticks_while_it_cannot_accept() {
    let _alone = alone();
    for processors in processor_counts() {
        let cluster = Cluster::builder().processors(processors).build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std_net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stop, ticks) = (Arc::new(Event::new()), Arc::new(AtomicUsize::new(0)));
        let (stops, counts) = (Arc::clone(&stop), Arc::clone(&ticks));
        // What the processors need for waiting they have by then.
        cluster
            .spawn(|| fibre::sleep(Duration::from_millis(1)))
            .join()
            .unwrap();
        let limit = Limit::leaving(0);
        // There may be gaps below.
        let open = || std::fs::File::open("/dev/null").ok();
        let fill: Vec<_> = std::iter::from_fn(open).collect();
        let begun = Instant::now();
        let server = cluster.spawn(move || {
            let mut interval = Interval::new(Duration::from_millis(1));
            let (mut streams, mut errors) = (Vec::new(), 0_u128);
            loop {
                select! {
                    accepted = listener.accept_arm() => match accepted {
                        Ok((stream, _)) => streams.push(stream),
                        Err(error) => errors += refused(&error),
                    },
                    _ = interval.tick_arm() => {
                        interval.skip_missed();
                        counts.fetch_add(1, Ordering::SeqCst);
                    }
                    () = stops.wait_arm() => {}
                }
                if stops.is_set() && !streams.is_empty() {
                    break (streams.len(), errors);
                }
            }
        });
        watched(|| eventually(|| ticks.load(Ordering::SeqCst) > 30));
        drop((limit, fill));
        stop.set();
        let (accepted, errors) = server.join().unwrap();
        // The pauses are 1, 2, 4 … 64 milliseconds long, and then 100.
        let most = 8 + begun.elapsed().as_millis() / 100;
        assert!(
            accepted == 1 && errors > 0 && errors <= most,
            "{errors} errors"
        );
        drop(client);
        cluster.stop();
    }
}

/// A server's loop, until its listener is closed; it says how many connections it has had.
type Loop = Box<dyn FnOnce() -> usize + Send>;

/// A listener of some kind: how one connects to it, how it is closed, and its loops.
struct Kind {
    connect: Box<dyn Fn() -> Option<std::os::fd::OwnedFd>>,
    close: Box<dyn FnOnce()>,
    serves: Loop,
}

/// Serves the connections of an iterator.
fn count<T>(connections: impl Iterator<Item = T>) -> usize {
    connections.map(drop).count()
}

/// A listener on TCP. Its loop is over the iterator, or over the arm.
fn by_tcp(is_selected: bool) -> Kind {
    let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
    let address = listener.local_addr().unwrap();
    let (accepting, closing) = (Arc::clone(&listener), listener);
    Kind {
        connect: Box::new(move || Some(std_net::TcpStream::connect(address).ok()?.into())),
        close: Box::new(move || closing.close()),
        serves: Box::new(move || match is_selected {
            false => count(accepting.connections()),
            true => count(std::iter::from_fn(|| {
                select! { next = accepting.connections().next_arm() => next }
            })),
        }),
    }
}

/// A listener on a Unix socket; see [`by_tcp`].
fn by_unix(is_selected: bool) -> Kind {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net as std_unix;
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::SeqCst);
    let name = format!("fibre-emfile-{}-{number}", std::process::id());
    let address = std_unix::SocketAddr::from_abstract_name(name).unwrap();
    let listener = Arc::new(UnixListener::bind_addr(&address).unwrap());
    let (accepting, closing) = (Arc::clone(&listener), listener);
    Kind {
        connect: Box::new(move || Some(std_unix::UnixStream::connect_addr(&address).ok()?.into())),
        close: Box::new(move || closing.close()),
        serves: Box::new(move || match is_selected {
            false => count(accepting.connections()),
            true => count(std::iter::from_fn(|| {
                select! { next = accepting.connections().next_arm() => next }
            })),
        }),
    }
}

/// A loop over the connections of a listener outlasts the want of descriptors, at little cost, and
/// ends when the listener is closed.
#[test]
fn a_loop_over_connections_ends_at_close_only() {
    let _alone = alone();
    for kind in [by_tcp, by_unix] {
        for is_selected in [false, true] {
            for processors in processor_counts() {
                watched(|| outlasts(kind(is_selected), processors));
            }
        }
    }
}

/// See [`a_loop_over_connections_ends_at_close_only`].
fn outlasts(kind: Kind, processors: usize) {
    let cluster = Cluster::builder().processors(processors).build().unwrap();
    // What the processors need for waiting they have by then.
    let sleeps = || fibre::sleep(Duration::from_millis(1));
    cluster.spawn(sleeps).join().unwrap();
    let first = (kind.connect)().unwrap();
    let spare = std::fs::File::open("/dev/null").unwrap();
    let limit = Limit::leaving(0);
    let open = || std::fs::File::open("/dev/null").ok();
    let fill: Vec<_> = std::iter::from_fn(open).collect();
    let serves = kind.serves;
    let server = cluster.spawn(serves);
    thread::sleep(Duration::from_millis(100));
    let (before, begun) = (cpu_time(), Instant::now());
    thread::sleep(Duration::from_millis(400));
    let (used, took) = (cpu_time() - before, begun.elapsed());
    assert!(used < took / 10, "{used:?} of CPU in {took:?}");
    assert!(!server.is_finished(), "it has ended at a shortage");
    drop((fill, spare, limit));
    // It accepts what has waited, and what comes.
    let is_accepted = |client: std::os::fd::OwnedFd| {
        use std::os::fd::AsFd;
        let readable = rustix::event::PollFlags::IN;
        let mut wait = [rustix::event::PollFd::from_borrowed_fd(
            client.as_fd(),
            readable,
        )];
        rustix::event::poll(&mut wait, None).unwrap() == 1
    };
    assert!(is_accepted(first), "it has been dropped by the server");
    assert!(is_accepted((kind.connect)().unwrap()));
    (kind.close)();
    assert_eq!(server.join().unwrap(), 2);
    cluster.stop();
}

/// Cancellation and a time-out end such a loop, and no shortage hides them.
#[test]
fn a_loop_over_connections_ends_by_cancellation_and_time() {
    let _alone = alone();
    for processors in processor_counts() {
        let cluster = Cluster::builder().processors(processors).build().unwrap();
        cluster
            .spawn(|| fibre::sleep(Duration::from_millis(1)))
            .join()
            .unwrap();
        for is_starved in [false, true] {
            let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
            let client = std_net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            if !is_starved {
                drop(listener.accept().unwrap());
            }
            let limit = is_starved.then(|| Limit::leaving(0));
            let open = || std::fs::File::open("/dev/null").ok();
            let fill: Vec<_> = std::iter::from_fn(open)
                .take(if is_starved { usize::MAX } else { 0 })
                .collect();
            let accepting = Arc::clone(&listener);
            let timed = cluster.spawn(move || {
                let soon = Duration::from_millis(30);
                fibre::timeout(soon, || count(accepting.connections())).is_err()
            });
            assert!(watched(|| timed.join().unwrap()));
            let cancelled = cluster.spawn(move || count(listener.connections()));
            thread::sleep(Duration::from_millis(20));
            cancelled.cancel();
            assert_eq!(watched(|| cancelled.join().unwrap()), 0);
            drop((fill, limit, client));
        }
        cluster.stop();
    }
}
