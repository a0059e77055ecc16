//! Hosts, addresses and ports.

use super::events::SocketId;
use super::host::{FIRST_PORT, HostState, NOWHERE, overlap, v4};
use super::machine::Network;
use super::socket::{Mailbox, Role};
use fibre_io::simulated::Carries;
use rustix::io::Errno;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

impl Network {
    /// The number of the host of this name, which is made if there is none.
    ///
    /// # Panics
    ///
    /// If there are too many hosts.
    pub(crate) fn host(&mut self, name: &str) -> usize {
        if let Some(host) = self.find_host(name) {
            return host;
        }
        let number = self.hosts.len();
        let place = u16::try_from(number + 1)
            .ok()
            .filter(|&place| place < 0xff00);
        let Some(place) = place else {
            panic!("fibre-test: a run has room for 65,000 hosts");
        };
        let [high, low] = place.to_be_bytes();
        self.hosts.push(HostState {
            name: name.to_owned(),
            address: Ipv4Addr::new(10, 0, high, low),
            next_port: FIRST_PORT,
            descriptors: 0,
            most_descriptors: usize::MAX,
        });
        number
    }

    /// The number of the host of this name.
    pub(crate) fn find_host(&self, name: &str) -> Option<usize> {
        self.hosts.iter().position(|host| host.name == name)
    }

    /// The names of all hosts.
    pub(crate) fn host_names(&self) -> Vec<String> {
        self.hosts.iter().map(|host| host.name.clone()).collect()
    }

    /// The name of a host.
    pub(crate) fn host_name(&self, host: usize) -> &str {
        &self.hosts[host].name
    }

    /// The address of a host.
    pub(crate) fn host_address(&self, host: usize) -> Ipv4Addr {
        self.hosts[host].address
    }

    /// Sets how many descriptors a host's sockets may have.
    pub(crate) fn limit_descriptors(&mut self, host: usize, most: usize) {
        self.hosts[host].most_descriptors = most;
    }

    /// The host that an address means to another.
    pub(super) fn host_at(&self, from: usize, address: Ipv4Addr) -> Option<usize> {
        if address.is_loopback() || address.is_unspecified() {
            return Some(from);
        }
        self.hosts.iter().position(|host| host.address == address)
    }

    /// A new socket with one descriptor. Returns that one's number, too.
    ///
    /// # Errors
    ///
    /// `EMFILE` if the host has no descriptor left; `EAFNOSUPPORT` for addresses that are not of
    /// IPv4.
    pub(crate) fn socket(
        &mut self,
        host: usize,
        carries: Carries,
        address: &SocketAddr,
    ) -> Result<(SocketId, u64), Errno> {
        v4(address)?;
        if !self.hosts[host].has_descriptor() {
            return Err(Errno::MFILE);
        }
        let role = match carries {
            Carries::Bytes => Role::Fresh,
            Carries::Datagrams => Role::Datagrams(Mailbox::default()),
        };
        let id = self.add_socket(host, NOWHERE, role);
        Ok((id, self.open(id)?))
    }

    /// Gives a socket an address.
    ///
    /// # Errors
    ///
    /// Those of `bind`.
    pub(crate) fn bind(&mut self, id: SocketId, address: &SocketAddr) -> Result<(), Errno> {
        let address = v4(address)?;
        let host = self.sockets.get(&id).ok_or(Errno::BADF)?.host;
        let is_ours = self.host_at(host, *address.ip()) == Some(host);
        if !is_ours {
            return Err(Errno::ADDRNOTAVAIL);
        }
        let port = match address.port() {
            0 => self.free_port(id, host, *address.ip())?,
            port if self.is_taken(id, SocketAddrV4::new(*address.ip(), port)) => {
                return Err(Errno::ADDRINUSE);
            }
            port => port,
        };
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.local = SocketAddrV4::new(*address.ip(), port);
        }
        Ok(())
    }

    /// A port that no socket like this one has at this address.
    pub(super) fn free_port(
        &mut self,
        id: SocketId,
        host: usize,
        ip: Ipv4Addr,
    ) -> Result<u16, Errno> {
        for _ in FIRST_PORT..=u16::MAX {
            let port = self.hosts[host].next_port;
            self.hosts[host].next_port = port.checked_add(1).unwrap_or(FIRST_PORT);
            if !self.is_taken(id, SocketAddrV4::new(ip, port)) {
                return Ok(port);
            }
        }
        Err(Errno::ADDRNOTAVAIL)
    }

    /// Whether another socket like this one, of the same host, keeps this address for itself.
    fn is_taken(&self, id: SocketId, address: SocketAddrV4) -> bool {
        let Some(this) = self.sockets.get(&id) else {
            return false;
        };
        let carries_datagrams = |role: &Role| matches!(role, Role::Datagrams(_));
        self.sockets.iter().any(|(other, socket)| {
            *other != id
                && socket.host == this.host
                && socket.is_open()
                && socket.keeps_port
                && carries_datagrams(&socket.role) == carries_datagrams(&this.role)
                && socket.local.port() == address.port()
                && overlap(*socket.local.ip(), *address.ip())
        })
    }
}
