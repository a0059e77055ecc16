//! From the call to the queue of a listener.
//!
//! A handshake is one round trip. At its end both ends are connected, or the caller is refused.
//! A lost one is repeated after 1 s, 2 s and so on up to 64 s, as Linux does, and then given up.

use super::carry::Fate;
use super::events::{LinkKey, Note, SocketId, Wake, What};
use super::host::{overlap, v4};
use super::machine::Network;
use super::socket::{End, Role};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::net::{SocketAddr, SocketAddrV4};

/// The wait after the first loss.
const FIRST_WAIT: u64 = 1_000_000_000;

/// How often a handshake may be lost.
const MOST_LOSSES: u32 = 7;

impl Network {
    /// Makes a socket take connections.
    ///
    /// # Errors
    ///
    /// Those of `listen`.
    pub(crate) fn listen(&mut self, id: SocketId, backlog: u32) -> Result<(), Errno> {
        let socket = self.sockets.get_mut(&id).ok_or(Errno::BADF)?;
        if !matches!(socket.role, Role::Fresh) {
            return Err(Errno::INVAL);
        }
        socket.role = Role::Listener {
            queue: VecDeque::new(),
            backlog: usize::try_from(backlog).unwrap_or(usize::MAX).max(1),
        };
        Ok(())
    }

    /// Connects a socket, or says how that goes.
    ///
    /// # Errors
    ///
    /// Those of `connect`; `EAGAIN` while it goes on.
    pub(crate) fn connect(&mut self, id: SocketId, address: &SocketAddr) -> Result<(), Errno> {
        let to = v4(address)?;
        let socket = self.sockets.get_mut(&id).ok_or(Errno::BADF)?;
        if let Some(error) = socket.error.take() {
            return Err(error);
        }
        match &mut socket.role {
            Role::Fresh => {}
            Role::Connecting { .. } => return Err(Errno::AGAIN),
            Role::Stream(_) => return Ok(()),
            Role::Listener { .. } => return Err(Errno::ISCONN),
            Role::Datagrams(mailbox) => {
                mailbox.peer = Some(to);
                return Ok(());
            }
        }
        let host = socket.host;
        let there = self.host_at(host, *to.ip()).ok_or(Errno::HOSTUNREACH)?;
        self.give_address(id, to)?;
        let key = LinkKey::new(host, there);
        let round_trip = self.latency(key).saturating_add(self.latency(key));
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.role = Role::Connecting { to, losses: 0 };
        }
        if round_trip > 0 {
            self.happens_in(round_trip, What::ShakesHands(id));
            return Err(Errno::AGAIN);
        }
        self.shakes_hands(id);
        let socket = self.sockets.get_mut(&id).ok_or(Errno::BADF)?;
        match (socket.error.take(), &socket.role) {
            (Some(error), _) => Err(error),
            (None, Role::Stream(_)) => Ok(()),
            (None, _) => Err(Errno::AGAIN),
        }
    }

    /// Gives a socket that connects an address of its own.
    fn give_address(&mut self, id: SocketId, to: SocketAddrV4) -> Result<(), Errno> {
        let host = self.sockets.get(&id).ok_or(Errno::BADF)?.host;
        let ip = match to.ip().is_loopback() {
            true => *to.ip(),
            false => self.host_address(host),
        };
        let port = self.free_port(id, host, ip)?;
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.local = SocketAddrV4::new(ip, port);
        }
        Ok(())
    }

    /// The round trip of a handshake is over.
    pub(super) fn shakes_hands(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.get(&id) else {
            return;
        };
        let Role::Connecting { to, losses } = socket.role else {
            return;
        };
        if losses == MOST_LOSSES {
            return self.fails_to_connect(id, Errno::TIMEDOUT);
        }
        let host = socket.host;
        let Some(there) = self.host_at(host, *to.ip()) else {
            return self.fails_to_connect(id, Errno::HOSTUNREACH);
        };
        let key = LinkKey::new(host, there);
        match self.fate(key) {
            Fate::Held => self.hold(key, What::ShakesHands(id)),
            Fate::Lost => self.loses_handshake(id),
            Fate::Arrives => match self.listener_at(there, to) {
                None => self.fails_to_connect(id, Errno::CONNREFUSED),
                Some((_, true)) => self.loses_handshake(id),
                Some((listener, false)) => self.connects(id, to, there, listener),
            },
        }
    }

    /// The handshake is lost, or the listener's queue is full, and it is tried again later.
    fn loses_handshake(&mut self, id: SocketId) {
        self.note(Note::Lost, id.0);
        let Some(socket) = self.sockets.get_mut(&id) else {
            return;
        };
        if let Role::Connecting { losses, .. } = &mut socket.role {
            let wait = FIRST_WAIT << *losses;
            *losses += 1;
            self.happens_in(wait, What::ShakesHands(id));
        }
    }

    /// A socket that connects has failed.
    fn fails_to_connect(&mut self, id: SocketId, error: Errno) {
        self.note(Note::Failed, id.0);
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.role = Role::Fresh;
            socket.error = Some(error);
        }
        self.wakes(id, Wake::All);
    }

    /// The listener of a host at an address, and whether its queue is full.
    fn listener_at(&self, host: usize, to: SocketAddrV4) -> Option<(SocketId, bool)> {
        self.sockets.iter().find_map(|(&id, socket)| {
            let Role::Listener { queue, backlog } = &socket.role else {
                return None;
            };
            let is_it = socket.host == host
                && socket.local.port() == to.port()
                && overlap(*socket.local.ip(), *to.ip());
            is_it.then_some((id, queue.len() >= *backlog))
        })
    }

    /// Both ends of a connection are there.
    fn connects(&mut self, id: SocketId, to: SocketAddrV4, there: usize, listener: SocketId) {
        let Some(caller) = self.sockets.get(&id) else {
            return;
        };
        let (host, from) = (caller.host, caller.local);
        let callee = self.add_socket(there, to, Role::Stream(End::new(id, from, host)));
        self.note(Note::Connected, callee.0);
        if let Some(callee) = self.sockets.get_mut(&callee) {
            callee.keeps_port = false;
        }
        if let Some(caller) = self.sockets.get_mut(&id) {
            caller.role = Role::Stream(End::new(callee, to, there));
        }
        if let Some(socket) = self.sockets.get_mut(&listener)
            && let Role::Listener { queue, .. } = &mut socket.role
        {
            queue.push_back(callee);
        }
        self.wakes(id, Wake::Writer);
        self.wakes(listener, Wake::Reader);
    }

    /// Whether a listener has a connection to accept.
    ///
    /// # Errors
    ///
    /// Those of `accept`; `EAGAIN` if it has none.
    pub(crate) fn accept(&self, id: SocketId) -> Result<(), Errno> {
        let socket = self.sockets.get(&id).ok_or(Errno::BADF)?;
        match &socket.role {
            Role::Listener { queue, .. } if queue.is_empty() => Err(Errno::AGAIN),
            Role::Listener { .. } if !self.hosts[socket.host].has_descriptor() => Err(Errno::MFILE),
            Role::Listener { .. } => Ok(()),
            _ => Err(Errno::INVAL),
        }
    }

    /// Takes the connection that has waited longest: its socket, its descriptor, its peer.
    pub(crate) fn take_accepted(&mut self, id: SocketId) -> Option<(SocketId, u64, SocketAddrV4)> {
        let Role::Listener { queue, .. } = &mut self.sockets.get_mut(&id)?.role else {
            return None;
        };
        let accepted = queue.pop_front()?;
        let handle = self.open(accepted).ok()?;
        let peer = self.sockets.get(&accepted)?.end()?.peer_address;
        Some((accepted, handle, peer))
    }

    /// A listener takes no more connections, and resets those in its queue.
    pub(super) fn stop_listening(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.get_mut(&id) else {
            return;
        };
        if let Role::Listener { queue, .. } = &mut socket.role {
            let queue = std::mem::take(queue);
            socket.role = Role::Fresh;
            for waiting in queue {
                self.reset_peer(waiting);
                self.sockets.remove(&waiting);
            }
        }
        self.wakes(id, Wake::All);
    }
}
