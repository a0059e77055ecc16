//! Hosts as a test has them, and the door of the program's sockets.
//!
//! A fibre is of the host that it was started on: a scoped value, which children inherit. Where
//! `fibre::net` makes a socket it asks for the network of its caller, and gets that of the host.
//! Callers without a host have the kernel's.
//!
//! * `door`: the network and the sockets, as `fibre-io` calls them;
//! * `link`: what lies between two hosts, and what becomes of it later.

mod door;
mod link;

pub use link::{Later, Link, Planned};

use crate::simulation::Sim;
use crate::stage::Stage;
use door::{HOST, OnHost};
use fibre_core::{Builder, JoinHandle};
use std::fmt::{self, Debug, Formatter};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

/// A host of a run's network: fibres that have its address. Clones are the same host.
///
/// ```
/// use fibre::net::{TcpListener, TcpStream};
/// use std::io::{Read, Write};
///
/// fibre_test::run(|sim| {
///     sim.host("bank").run(|| -> std::io::Result<()> {
///         let listener = TcpListener::bind("0.0.0.0:5432")?;
///         for (mut stream, _) in listener.connections() {
///             stream.write_all(b"100")?;
///         }
///         Ok(())
///     });
///     sim.settle();
///     let balance = sim.host("app").run(|| {
///         let mut balance = String::new();
///         TcpStream::connect("bank:5432")?.read_to_string(&mut balance)?;
///         std::io::Result::Ok(balance)
///     });
///     assert_eq!(balance.join().unwrap().unwrap(), "100");
/// });
/// ```
#[derive(Clone)]
pub struct Host {
    stage: Arc<Stage>,
    number: usize,
    name: Arc<str>,
}

impl Sim {
    /// The host of this name, which is made by the first call. A run without hosts has the kernel's
    /// network, as each fibre has that is of no host: the test itself is of none.
    ///
    /// # Panics
    ///
    /// If the caller is no fibre of this run. If the name could be an address, or is `localhost`.
    pub fn host(&self, name: &str) -> Host {
        self.refuse_strangers();
        let is_name = !name.is_empty() && !name.contains(':') && name.parse::<IpAddr>().is_err();
        assert!(
            is_name && name != "localhost",
            "fibre-test: {name:?} cannot be the name of a host"
        );
        door::open();
        Host {
            stage: Arc::clone(self.stage()),
            number: self.stage().with_network(|network| network.host(name)),
            name: name.into(),
        }
    }

    /// What lies between two hosts, in both directions.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// fibre_test::run(|sim| {
    ///     sim.host("app");
    ///     sim.host("bank");
    ///     let tick = Duration::from_millis(1);
    ///     sim.link("app", "bank").latency(tick..20 * tick).drop_rate(0.01);
    /// });
    /// ```
    ///
    /// # Panics
    ///
    /// If there is no such host yet, or both are the same. If the caller is no fibre of this run.
    pub fn link(&self, one: &str, other: &str) -> Link {
        self.refuse_strangers();
        Link::between(self.stage(), one, other)
    }

    /// What becomes of links so much later.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// fibre_test::run(|sim| {
    ///     sim.host("app");
    ///     sim.host("bank");
    ///     let second = Duration::from_secs(1);
    ///     sim.after(3 * second).partition("app", "bank").heal_after(60 * second);
    /// });
    /// ```
    #[must_use = "nothing is planned yet"]
    pub fn after(&self, time: Duration) -> Later {
        Later::new(Arc::clone(self.stage()), time)
    }
}

impl Host {
    /// Starts a fibre of this host, with its name; all fibres that this one starts are of the host,
    /// too. What they do with `fibre::net` they do in the run's network. Blocks nothing.
    ///
    /// A host ends with the test: its fibres may still live then, and are cancelled. If one panics
    /// while the test goes on, and nobody joins it, the run fails. An error that it returns is lost
    /// if nobody joins it.
    ///
    /// # Panics
    ///
    /// If there is no memory for a fibre. If the caller is no fibre of the host's run.
    pub fn run<T: Send + 'static>(
        &self,
        program: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.stage.refuse_others();
        let host = OnHost::new(Arc::clone(&self.stage), self.number, Arc::clone(&self.name));
        let fibre = Builder::new().name(self.name.to_string());
        match HOST.with(host, || fibre.spawn(program)) {
            Ok(fibre) => {
                self.stage.puts_on_host(fibre.id(), self.number);
                fibre
            }
            Err(error) => panic!("fibre-test: no fibre for a host: {error}"),
        }
    }

    /// Its name. Blocks nothing.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its address: 10.0.0.1 for the first host of a run, and so on. Blocks nothing.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        let number = self.number;
        self.stage
            .with_network(|network| network.host_address(number))
    }

    /// Bounds how many sockets its fibres may have; calls that would make one more fail with
    /// `EMFILE`. Those that are there stay. Default: no bound. Blocks nothing.
    ///
    /// ```
    /// use fibre::net::UdpSocket;
    ///
    /// fibre_test::run(|sim| {
    ///     let host = sim.host("app").descriptors(1);
    ///     let fails = host.run(|| {
    ///         let _one = UdpSocket::bind("0.0.0.0:0").unwrap();
    ///         UdpSocket::bind("0.0.0.0:0").is_err()
    ///     });
    ///     assert!(fails.join().unwrap());
    /// });
    /// ```
    pub fn descriptors(self, most: usize) -> Self {
        let number = self.number;
        self.stage
            .with_network(|network| network.limit_descriptors(number, most));
        self
    }
}

impl Debug for Host {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
