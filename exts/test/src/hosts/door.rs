//! The network and the sockets, as `fibre-io` calls them.

use crate::network::SocketId;
use crate::stage::Stage;
use fibre_core::scoped_local;
use fibre_io::simulated::{Carries, Gates, Network, Socket, simulate};
use rustix::io::Errno;
use std::fmt::{self, Debug, Display, Formatter};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4};
use std::sync::Arc;

scoped_local! {
    /// The host that a fibre is of.
    pub(super) static HOST: OnHost = shown("host");
}

/// A host, as its fibres carry it.
#[derive(Clone)]
pub(super) struct OnHost {
    stage: Arc<Stage>,
    host: usize,
    name: Arc<str>,
}

/// Opens the door, for good.
pub(super) fn open() {
    simulate(network_of_caller);
}

/// The network of the caller, if it is a fibre of a host and runs on the processor of its run.
fn network_of_caller() -> Option<Arc<dyn Network>> {
    let host = HOST.get()?;
    if !host.stage.is_callers() {
        return None;
    }
    Some(Arc::new(host))
}

impl OnHost {
    /// A host of this run.
    pub(super) fn new(stage: Arc<Stage>, host: usize, name: Arc<str>) -> Self {
        Self { stage, host, name }
    }
}

impl Display for OnHost {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Network for OnHost {
    fn socket(&self, carries: Carries, address: &SocketAddr) -> Result<Arc<dyn Socket>, Errno> {
        let made = self
            .stage
            .with_network(|network| network.socket(self.host, carries, address))?;
        Ok(Descriptor::of(&self.stage, made))
    }

    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        if name == "localhost" {
            return Ok(vec![Ipv4Addr::LOCALHOST.into()]);
        }
        self.stage.with_network(|network| {
            if let Some(host) = network.find_host(name) {
                return Ok(vec![network.host_address(host).into()]);
            }
            let hosts = network.host_names().join(", ");
            let words = format!("no host {name:?} in this run; there are: {hosts}");
            Err(io::Error::new(io::ErrorKind::NotFound, words))
        })
    }
}

/// One descriptor of a socket.
struct Descriptor {
    stage: Arc<Stage>,
    socket: SocketId,
    /// Its number in the socket.
    number: u64,
}

impl Descriptor {
    /// A descriptor that has just been made.
    fn of(stage: &Arc<Stage>, (socket, number): (SocketId, u64)) -> Arc<dyn Socket> {
        Arc::new(Self {
            stage: Arc::clone(stage),
            socket,
            number,
        })
    }

    /// Calls the network.
    fn call<R>(&self, call: impl FnOnce(&mut crate::network::Network, SocketId) -> R) -> R {
        self.stage
            .with_network(|network| call(network, self.socket))
    }
}

impl Socket for Descriptor {
    fn tells(&self, gates: Gates) {
        self.call(|network, socket| network.tells(socket, self.number, gates));
    }

    fn bind(&self, address: &SocketAddr) -> Result<(), Errno> {
        self.call(|network, socket| network.bind(socket, address))
    }

    fn listen(&self, backlog: u32) -> Result<(), Errno> {
        self.call(|network, socket| network.listen(socket, backlog))
    }

    fn connect(&self, address: &SocketAddr) -> Result<(), Errno> {
        self.call(|network, socket| network.connect(socket, address))
    }

    fn accept(&self) -> Result<(), Errno> {
        self.call(|network, socket| network.accept(socket))
    }

    fn take_accepted(&self) -> Option<(Arc<dyn Socket>, SocketAddr)> {
        let (socket, number, peer) = self.call(|network, socket| network.take_accepted(socket))?;
        Some((Self::of(&self.stage, (socket, number)), peer.into()))
    }

    fn receive(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        peeks: bool,
    ) -> Result<(usize, Option<SocketAddr>), Errno> {
        let (count, from) = self.call(|network, socket| network.receive(socket, buffers, peeks))?;
        Ok((count, from.map(SocketAddr::from)))
    }

    fn send(&self, buffers: &[IoSlice<'_>], to: Option<&SocketAddr>) -> Result<usize, Errno> {
        self.call(|network, socket| network.send(socket, buffers, to))
    }

    fn shutdown(&self, how: Shutdown) -> Result<(), Errno> {
        self.call(|network, socket| network.shut_down(socket, how))
    }

    fn resets_at_close(&self, resets: bool) {
        self.call(|network, socket| network.resets_at_close(socket, resets));
    }

    fn local_address(&self) -> SocketAddr {
        self.call(|network, socket| network.local(socket)).into()
    }

    fn peer_address(&self) -> Result<SocketAddr, Errno> {
        let peer: Result<SocketAddrV4, Errno> = self.call(|network, socket| network.peer(socket));
        peer.map(SocketAddr::from)
    }

    fn take_error(&self) -> Option<Errno> {
        self.call(|network, socket| network.take_error(socket))
    }

    fn duplicate(&self) -> Result<Arc<dyn Socket>, Errno> {
        let number = self.call(|network, socket| network.open(socket))?;
        Ok(Self::of(&self.stage, (self.socket, number)))
    }

    fn close(&self) {
        self.call(|network, socket| network.close(socket, self.number));
    }
}

impl Display for Descriptor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.call(|network, socket| network.describe(socket)))
    }
}

impl Debug for Descriptor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Descriptor")
            .field("socket", &self.socket)
            .finish_non_exhaustive()
    }
}
