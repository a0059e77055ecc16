//! Sockets and their descriptors.

use super::events::{Note, SocketId, Wake};
use super::host::NOWHERE;
use super::machine::Network;
use super::socket::{Role, Socket};
use fibre_io::simulated::Gates;
use rustix::io::Errno;
use std::net::SocketAddrV4;

impl Network {
    /// Adds a socket, without a descriptor.
    pub(super) fn add_socket(&mut self, host: usize, local: SocketAddrV4, role: Role) -> SocketId {
        self.last_socket += 1;
        let id = SocketId(self.last_socket);
        let socket = Socket {
            host,
            local,
            handles: Vec::new(),
            last_handle: 0,
            role,
            error: None,
            resets: false,
            keeps_port: true,
        };
        self.sockets.insert(id, socket);
        id
    }

    /// Adds a descriptor to a socket. Returns its number there.
    ///
    /// # Errors
    ///
    /// `EMFILE` if the host has none left.
    pub(crate) fn open(&mut self, id: SocketId) -> Result<u64, Errno> {
        let Some(socket) = self.sockets.get_mut(&id) else {
            return Err(Errno::BADF);
        };
        self.hosts[socket.host].take_descriptor()?;
        socket.last_handle += 1;
        socket.handles.push((socket.last_handle, None));
        Ok(socket.last_handle)
    }

    /// Notes where a descriptor's events are told.
    pub(crate) fn tells(&mut self, id: SocketId, handle: u64, gates: Gates) {
        if let Some(socket) = self.sockets.get_mut(&id) {
            let mut handles = socket.handles.iter_mut();
            if let Some(place) = handles.find(|(number, _)| *number == handle) {
                place.1 = Some(gates);
            }
        }
    }

    /// Takes a descriptor from a socket; the last one ends it.
    pub(crate) fn close(&mut self, id: SocketId, handle: u64) {
        let Some(socket) = self.sockets.get_mut(&id) else {
            return;
        };
        let before = socket.handles.len();
        socket.handles.retain(|(number, _)| *number != handle);
        if socket.handles.len() == before {
            return;
        }
        self.hosts[socket.host].free_descriptor();
        if socket.is_open() {
            return;
        }
        self.note(Note::Closed, id.0);
        match self.sockets.get(&id).map(|socket| &socket.role) {
            Some(Role::Stream(_)) => self.close_stream(id),
            Some(Role::Listener { .. }) => {
                self.stop_listening(id);
                self.sockets.remove(&id);
            }
            _ => {
                self.sockets.remove(&id);
            }
        }
    }

    /// Wakes who waits at a socket.
    pub(super) fn wakes(&mut self, id: SocketId, wake: Wake) {
        if let Some(socket) = self.sockets.get(&id) {
            let gates = socket.handles.iter().filter_map(|(_, gates)| *gates);
            self.effects.wakes.extend(gates.map(|gates| (gates, wake)));
        }
    }

    /// Sets whether the last close resets the connection.
    pub(crate) fn resets_at_close(&mut self, id: SocketId, resets: bool) {
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.resets = resets;
        }
    }

    /// Takes the recorded error.
    pub(crate) fn take_error(&mut self, id: SocketId) -> Option<Errno> {
        self.sockets.get_mut(&id)?.error.take()
    }

    /// The address of a socket.
    pub(crate) fn local(&self, id: SocketId) -> SocketAddrV4 {
        let socket = self.sockets.get(&id);
        socket.map_or(NOWHERE, |socket| socket.local)
    }

    /// The address of a socket's peer.
    ///
    /// # Errors
    ///
    /// `ENOTCONN` if there is none.
    pub(crate) fn peer(&self, id: SocketId) -> Result<SocketAddrV4, Errno> {
        match self.sockets.get(&id).map(|socket| &socket.role) {
            Some(Role::Stream(end)) if !end.is_broken => Ok(end.peer_address),
            Some(Role::Datagrams(mailbox)) => mailbox.peer.ok_or(Errno::NOTCONN),
            _ => Err(Errno::NOTCONN),
        }
    }

    /// What a socket is, in words.
    pub(crate) fn describe(&self, id: SocketId) -> String {
        let Some(socket) = self.sockets.get(&id) else {
            return "a closed socket".to_owned();
        };
        let (local, host) = (socket.local, &self.hosts[socket.host].name);
        match &socket.role {
            Role::Fresh => format!("an unused socket of {host}"),
            Role::Listener { .. } => format!("the listener {local} of {host}"),
            Role::Connecting { to, .. } => {
                format!("the handshake with {to} of {host}")
            }
            Role::Stream(end) => {
                let there = &self.hosts[end.peer_host].name;
                let peer = end.peer_address;
                format!("the connection {local} of {host} to {peer} of {there}")
            }
            Role::Datagrams(_) => format!("the datagrams for {local} of {host}"),
        }
    }
}
