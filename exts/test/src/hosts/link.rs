//! What lies between two hosts, and what becomes of it later.

use crate::network::{Change, LinkKey};
use crate::stage::Stage;
use std::fmt::{self, Debug, Formatter};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// What lies between two hosts: all that one sends to the other goes over it, and back. Made by
/// [`Sim::link`](crate::Sim::link). It carries everything at once and loses nothing, until it is
/// told otherwise. Its calls hold for what is under way, too, and block nothing. They panic if the
/// caller is no fibre of the run.
///
/// ```
/// use fibre::net::{TcpListener, TcpStream};
/// use std::io::Read;
/// use std::time::Duration;
///
/// fibre_test::run(|sim| {
///     let app = sim.host("app");
///     sim.host("bank").run(|| TcpListener::bind("0.0.0.0:80")?.accept());
///     let latency = Duration::from_millis(5);
///     sim.link("app", "bank").latency(latency..latency);
///     app.run(|| TcpStream::connect("bank:80")?.read(&mut [0]));
///     sim.advance(Duration::from_secs(1));
/// });
/// ```
#[derive(Clone)]
pub struct Link {
    stage: Arc<Stage>,
    key: LinkKey,
}

impl Link {
    /// The link of these hosts.
    pub(super) fn between(stage: &Arc<Stage>, one: &str, other: &str) -> Self {
        let stage = Arc::clone(stage);
        let key = key_of(&stage, one, other);
        Self { stage, key }
    }

    /// Changes the settings.
    fn set(self, set: impl FnOnce(&mut crate::network::Settings)) -> Self {
        self.stage.refuse_others();
        self.stage
            .with_network(|network| set(network.settings(self.key)));
        self
    }

    /// Changes the state.
    fn change(self, change: Change) -> Self {
        self.stage.refuse_others();
        self.stage
            .with_network(|network| network.change(self.key, change));
        self
    }

    /// How long a piece takes in one direction: each takes a time of these, from the first to just
    /// before the second. Bytes of a connection stay in order; datagrams overtake each other. A
    /// handshake is two ways. Default: no time.
    pub fn latency(self, range: Range<Duration>) -> Self {
        self.set(|settings| settings.set_latency(range))
    }

    /// How probably a piece is lost. A connection sends it again: after 200 ms, 400 ms and so on up
    /// to 120 s, as Linux does; a handshake after 1 s, 2 s and so on; a reset never. Default: 0.
    ///
    /// # Panics
    ///
    /// If it is no number from 0 to 1.
    pub fn drop_rate(self, rate: f64) -> Self {
        check_rate(rate);
        self.set(|settings| settings.drop_rate = rate)
    }

    /// How probably a datagram comes twice. Default: 0.
    ///
    /// # Panics
    ///
    /// If it is no number from 0 to 1.
    pub fn duplicate_rate(self, rate: f64) -> Self {
        check_rate(rate);
        self.set(|settings| settings.duplicate_rate = rate)
    }

    /// How probably a read or a write of a connection moves less than it could: any number of
    /// bytes, but one at least. Default: 0.
    ///
    /// # Panics
    ///
    /// If it is no number from 0 to 1.
    pub fn short_rate(self, rate: f64) -> Self {
        check_rate(rate);
        self.set(|settings| settings.short_rate = rate)
    }

    /// How many bytes of one direction of a connection may be under way and unread; a writer waits
    /// for room. Default: 65,536. Zero counts as one.
    pub fn window(self, bytes: usize) -> Self {
        self.set(|settings| settings.window = bytes.max(1))
    }

    /// Loses everything from now on, until it is [healed](Self::heal). Connections stay: they send
    /// again, and give up after some 15 minutes; a handshake after 127 s.
    pub fn partition(self) -> Self {
        self.change(Change::Partition)
    }

    /// Ends a partition. What was lost comes when it is sent again.
    pub fn heal(self) -> Self {
        self.change(Change::Heal)
    }

    /// Keeps everything that arrives from now on, until it is [released](Self::release). Nothing is
    /// lost, and nobody gives up.
    pub fn hold(self) -> Self {
        self.change(Change::Hold)
    }

    /// Lets everything go on that was held, in the order of its arrival.
    pub fn release(self) -> Self {
        self.change(Change::Release)
    }

    /// Resets all connections: what is under way is lost, and calls of both sides fail with
    /// `ConnectionReset`.
    pub fn reset(self) -> Self {
        self.change(Change::Reset)
    }
}

/// What becomes of links at a later moment. Made by [`Sim::after`](crate::Sim::after). Its calls
/// block nothing.
#[derive(Clone)]
pub struct Later {
    stage: Arc<Stage>,
    /// How much later, from the moment of its making.
    time: Duration,
}

impl Later {
    /// So much later.
    pub(super) fn new(stage: Arc<Stage>, time: Duration) -> Self {
        Self { stage, time }
    }

    /// Plans a change.
    fn plan(self, one: &str, other: &str, change: Change) -> Planned {
        let key = key_of(&self.stage, one, other);
        let planned = Planned {
            stage: self.stage,
            key,
            time: self.time,
        };
        planned.then(Duration::ZERO, change)
    }

    /// [`Link::partition`], then.
    ///
    /// # Panics
    ///
    /// As [`Sim::link`](crate::Sim::link), as all these.
    pub fn partition(self, one: &str, other: &str) -> Planned {
        self.plan(one, other, Change::Partition)
    }

    /// [`Link::hold`], then.
    pub fn hold(self, one: &str, other: &str) -> Planned {
        self.plan(one, other, Change::Hold)
    }

    /// [`Link::reset`], then.
    pub fn reset(self, one: &str, other: &str) -> Planned {
        self.plan(one, other, Change::Reset)
    }
}

/// A change that is planned, and what follows it. Its calls block nothing.
///
/// ```
/// use std::time::Duration;
///
/// fibre_test::run(|sim| {
///     sim.host("app");
///     sim.host("bank");
///     let second = Duration::from_secs(1);
///     sim.after(second).hold("app", "bank").release_after(second);
///     sim.advance(3 * second);
/// });
/// ```
#[derive(Clone)]
pub struct Planned {
    stage: Arc<Stage>,
    key: LinkKey,
    /// When the last change happens, as [`Later`] has it.
    time: Duration,
}

impl Planned {
    /// Plans another change, so much after the last one.
    fn then(mut self, time: Duration, change: Change) -> Self {
        self.stage.refuse_others();
        self.time = self.time.saturating_add(time);
        self.stage
            .with_network(|network| network.change_after(self.time, self.key, change));
        self
    }

    /// [`Link::heal`], so much after that.
    pub fn heal_after(self, time: Duration) -> Self {
        self.then(time, Change::Heal)
    }

    /// [`Link::release`], so much after that.
    pub fn release_after(self, time: Duration) -> Self {
        self.then(time, Change::Release)
    }

    /// [`Link::partition`], so much after that.
    pub fn partition_after(self, time: Duration) -> Self {
        self.then(time, Change::Partition)
    }
}

/// The link of two hosts.
///
/// # Panics
///
/// If there is no such host, or both are one.
fn key_of(stage: &Stage, one: &str, other: &str) -> LinkKey {
    assert!(
        one != other,
        "fibre-test: a link lies between two hosts, and not within {one:?}"
    );
    stage.with_network(|network| {
        let [one, other] = [one, other].map(|name| {
            network.find_host(name).unwrap_or_else(|| {
                let hosts = network.host_names().join(", ");
                panic!("fibre-test: no host {name:?} yet (Sim::host makes one); there are: {hosts}")
            })
        });
        LinkKey::new(one, other)
    })
}

/// Refuses what is no probability.
fn check_rate(rate: f64) {
    assert!(
        (0.0..=1.0).contains(&rate),
        "fibre-test: a rate is a number from 0 to 1, and not {rate}"
    );
}

impl Debug for Link {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl Debug for Later {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Later")
            .field("time", &self.time)
            .finish_non_exhaustive()
    }
}

impl Debug for Planned {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planned")
            .field("key", &self.key)
            .field("time", &self.time)
            .finish_non_exhaustive()
    }
}
