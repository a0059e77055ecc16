//! Tests of programs on fibres, where the test decides about time and schedule.
//!
//! [`run`] runs a closure as the first fibre of a cluster with one processor. The code under test
//! is the code that ships: fibre's own calls, and std's clocks.
//!
//! ```
//! use std::time::{Duration, Instant};
//!
//! // An hour of retries, in no time.
//! fibre_test::run(|_| {
//!     let begun = Instant::now();
//!     let answer = (0..60).find_map(|attempt| {
//!         fibre::sleep(Duration::from_secs(60));
//!         (attempt == 59).then_some("here")
//!     });
//!     assert_eq!(answer, Some("here"));
//!     assert_eq!(begun.elapsed(), Duration::from_secs(3600));
//! });
//! ```
//!
//! # Time
//!
//! The time stands still while any fibre can run, and jumps to the next deadline when none can.
//! `Instant` and `SystemTime` show it to all fibres of the run; the day begins on 1 January 2000.
//! [`Sim`] says how much has passed, and lets more pass.
//!
//! # Ends
//!
//! When nothing can run and nothing is due, the run fails at once with a dump. It also fails if
//! fibres still live when the closure has returned.
//!
//! # Schedules
//!
//! A [`Schedule`] chooses who goes on at each *switch point*: where a fibre waits, yields, ends, or
//! makes a call that could have made it wait: takes a lock or a permit, sends, receives, selects. A
//! fibre that wakes or spawns another goes on until its own next switch point; [`switch_point`]
//! adds some. All follows from a seed. A failed run is made shorter: switches are left out for as
//! long as it fails by the same words. Then it prints those that are left, and lines that repeat
//! the run as it was found, and the shortest one:
//!
//! ```text
//! shortest failing schedule: 1 switch
//!   fibre 23 gives way in bank::transfer, ./src/bank.rs:12 (step 2), and fibre 24 runs
//! the whole run: FIBRE_TEST=417:9f3a04c2d1e87b65
//! replay: FIBRE_TEST=417:3318de12325a716d:1.2-2 cargo test a_transfer
//! ```
//!
//! It fails with that run at once, and says so if the run is another one than it was. [`test`] is
//! an attribute for such tests.
//!
//! # Random bytes
//!
//! What the C library's `getrandom` returns follows from the seed, and with it the order of std's
//! `HashMap`, and the crates getrandom, rand and uuid.
//!
//! # Network
//!
//! [`Sim::host`] makes a host: fibres that have an address, a name and a network in memory. What
//! they do with `TcpListener`, `TcpStream` and `UdpSocket` of `fibre::net` stays in the run; their
//! waits are part of it, and their time-outs are of its time. [`Sim::link`] says what lies between
//! two hosts, and [`Sim::after`] what becomes of it later.
//!
//! ```
//! use fibre::net::{TcpListener, TcpStream};
//! use std::io::{Read, Write};
//! use std::time::Duration;
//!
//! fibre_test::run(|sim| {
//!     let (bank, app) = (sim.host("bank"), sim.host("app"));
//!     let second = Duration::from_secs(1);
//!     sim.link("app", "bank").latency(second..second);
//!     sim.after(3 * second).partition("app", "bank").heal_after(60 * second);
//!     bank.run(|| {
//!         let (mut stream, _) = TcpListener::bind("0.0.0.0:5432")?.accept()?;
//!         fibre::sleep(Duration::from_secs(2));
//!         stream.write_all(b"100")
//!     });
//!     sim.settle();
//!     let balance = app.run(|| {
//!         let mut balance = String::new();
//!         TcpStream::connect("bank:5432")?.read_to_string(&mut balance)?;
//!         std::io::Result::Ok(balance)
//!     });
//!     assert_eq!(balance.join().unwrap().unwrap(), "100");
//!     assert!(sim.now() > Duration::from_secs(63)); // it was sent again
//! });
//! ```
//!
//! Linux is the model of connections: resets, half-open ones, when pieces and handshakes are sent
//! again and when they are given up. Acknowledgements take no time and are not lost. A link without
//! latency carries at once; there is no bandwidth. All chance follows from the seed, and each link
//! has its own, so what goes over one does not change the luck of another, nor does the schedule. A
//! failed run is made shorter over the network that it was found with. All that happens is part of
//! the run's number. Hosts end with the test: their fibres are no leak.
//!
//! Not simulated, and therefore [not under control](#what-is-not-under-control): Unix sockets,
//! pipes, sockets of std, `fibre::io::poll` and `ready_arm` (an error says so), IPv6, groups and
//! broadcasts of UDP, `SO_REUSEPORT` and keep-alives. A descriptor that is taken out of its object
//! stands for nothing. Hosts do not crash yet, and have no disks.
//!
//! # What is not under control
//!
//! A wait for something outside ends the run, and says who waits for what: the kernel's input and
//! output, which fibres without a host have and files and pipes of all; calls
//! that block a thread ([`blocking`](fibre_core::blocking())), other clusters, other threads that
//! wake fibres. Not noticed is what a fibre reads from outside without waiting: files (also
//! `/dev/urandom`), addresses, numbers of threads and fibres, what `Instant` shows when a run
//! begins. So a failed seed is run a second time, and compared. A fibre that blocks its
//! thread (`std::thread::sleep`, a mutex of std's) does so in the time of the machine; the run's
//! stands still meanwhile.
//!
//! # Files, lowest first
//!
//! | file | idea |
//! |---|---|
//! | `random` | numbers that follow from a seed |
//! | `schedule` | which of the ready fibres runs next |
//! | `trace` | what a run has done so far, in one number |
//! | `network` | hosts, links, and what is under way between them |
//! | `invariants` | what holds always, and what happens sometimes |
//! | `stage` | directs the processor: time, choices, the run's end |
//! | `clock`, `entropy` | the clock of the fibres; their random bytes |
//! | `failure` | what is said of a failed run |
//! | `replay` | the variable that repeats one |
//! | `simulation`, `hosts`, `once` | what a test does with its run and its hosts; one run |
//! | `repeat`, `builder` | what is done about a failed run; many runs |
//! | `macros` | what the attribute makes calls of |

#![deny(unreachable_pub, unnameable_types)]

mod builder;
mod clock;
mod entropy;
mod failure;
mod hosts;
mod invariants;
#[doc(hidden)]
pub mod macros;
mod network;
mod once;
mod random;
mod repeat;
mod replay;
mod schedule;
mod simulation;
mod stage;
mod trace;

pub use builder::{Builder, Report};
pub use hosts::{Host, Later, Link, Planned};
pub use repeat::FailedRun;
pub use schedule::Schedule;
pub use simulation::Sim;

/// Makes a test of a function: an attribute in place of `#[test]`, which `cargo test`,
/// cargo-nextest and `#[should_panic]` take for that. It runs the function by [`Builder::run`].
///
/// The function has one argument, [`&Sim`](Sim), or none; it returns nothing, or a `Result`, where
/// an error fails the run. In parentheses are settings of the [`Builder`], by their names there:
/// `seed`, `seeds`, `schedule`, `most_switches`, `patience`, `shorten_for`, each with a value, and
/// `allow_leaks`.
///
/// ```
/// use fibre::sync::Mutex;
/// use fibre_test::{Schedule, Sim};
/// use std::time::Duration;
///
/// #[fibre_test::test]
/// fn an_hour_passes(sim: &Sim) {
///     fibre::sleep(Duration::from_secs(3600));
///     assert_eq!(sim.now(), Duration::from_secs(3600));
/// }
///
/// #[fibre_test::test(seeds = 1000, schedule = Schedule::pos())]
/// fn both_deposits_arrive() -> Result<(), String> {
///     let balance = Mutex::new(0);
///     fibre::scope(|scope| {
///         scope.spawn(|| *balance.lock() += 10);
///         scope.spawn(|| *balance.lock() += 20);
///     });
///     match *balance.lock() {
///         30 => Ok(()),
///         other => Err(format!("{other} instead of 30")),
///     }
/// }
/// # fn main() {}
/// ```
///
/// What it cannot use it refuses when it is compiled:
///
/// ```compile_fail
/// #[fibre_test::test(seed = 1, tries = 3)] // no setting has this name
/// fn a_test() {}
/// ```
///
/// ```compile_fail
/// #[fibre_test::test(allow_leaks, seeds)] // a setting without its value
/// fn a_test() {}
/// ```
///
/// ```compile_fail
/// #[fibre_test::test]
/// async fn a_test() {} // its waits block its fibre
/// ```
///
/// ```compile_fail
/// #[fibre_test::test]
/// fn a_test(sim: &fibre_test::Sim, other: u32) {}
/// ```
///
/// ```compile_fail
/// #[fibre_test::test]
/// struct NoFunction;
/// ```
pub use fibre_test_macros::test;

use fibre_core::internal::yield_point;

/// A switch point where the runtime has none: other fibres may run here, if the schedule says so.
/// For places between two accesses of what is no lock, such as an atomic. Outside of a run it is a
/// place where a fibre that has run for long lets others run. Blocks nothing.
///
/// ```
/// use fibre_test::{Schedule, Sim, switch_point};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let lost = std::panic::catch_unwind(|| {
///     Sim::builder().seeds(100).schedule(Schedule::random()).run(|_| {
///         let count = Arc::new(AtomicU32::new(0));
///         let adders = [(); 2].map(|()| {
///             let count = Arc::clone(&count);
///             fibre::spawn(move || {
///                 let before = count.load(Ordering::Relaxed);
///                 switch_point();
///                 count.store(before + 1, Ordering::Relaxed);
///             })
///         });
///         adders.into_iter().for_each(|adder| adder.join().unwrap());
///         assert_eq!(count.load(Ordering::Relaxed), 2);
///     })
/// });
/// assert!(lost.is_err());
/// ```
pub fn switch_point() {
    yield_point();
}

/// Runs a test once, with the defaults of [`Sim::builder`]: in order, with the seed 0. Blocks the
/// thread.
///
/// ```
/// use fibre::channel;
/// use std::time::Duration;
///
/// fibre_test::run(|sim| {
///     let (sender, receiver) = channel::unbounded::<u32>();
///     let waits = fibre::spawn(move || receiver.recv_timeout(Duration::from_secs(5)));
///     assert!(waits.join().unwrap().is_err());
///     assert_eq!(sim.now(), Duration::from_secs(5));
///     drop(sender);
/// });
/// ```
///
/// # Panics
///
/// As [`Builder::run`].
#[track_caller]
pub fn run(test: impl Fn(&Sim) + Send + Sync + 'static) {
    let _ = Sim::builder().run(test);
}
