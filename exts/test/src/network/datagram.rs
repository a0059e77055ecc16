//! Messages under way.
//!
//! Each takes its own time, so that they come in another order than they were sent in, where the
//! latency of the link varies. One that is lost is lost.

use super::carry::Fate;
use super::events::{Datagram, LinkKey, Note, SocketId, Wake, What};
use super::host::{overlap, v4};
use super::machine::Network;
use super::socket::{Role, Socket};
use rustix::io::Errno;
use std::io::{IoSlice, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4};

/// The most bytes that a message has: what UDP can carry.
const LONGEST: usize = 65507;

/// How many bytes a socket keeps that nobody has received; more are lost. Linux's default.
const MOST_UNREAD: usize = 212_992;

impl Network {
    /// Receives what a socket has got: bytes, or a message and where it comes from.
    ///
    /// # Errors
    ///
    /// Those of `recvmsg`; `EAGAIN` if nothing is there.
    pub(crate) fn receive(
        &mut self,
        id: SocketId,
        buffers: &mut [IoSliceMut<'_>],
        peeks: bool,
    ) -> Result<(usize, Option<SocketAddrV4>), Errno> {
        let socket = self.sockets.get_mut(&id).ok_or(Errno::BADF)?;
        let Role::Datagrams(mailbox) = &mut socket.role else {
            return Ok((self.receive_bytes(id, buffers, peeks)?, None));
        };
        if let Some(error) = socket.error.take() {
            return Err(error);
        }
        let (bytes, from) = mailbox.queue.front().ok_or(Errno::AGAIN)?;
        let (mut rest, from) = (bytes.as_slice(), *from);
        let mut count = 0;
        for buffer in buffers.iter_mut() {
            let length = buffer.len().min(rest.len());
            let (now, later) = rest.split_at(length);
            buffer[..length].copy_from_slice(now);
            (rest, count) = (later, count + length);
        }
        if !peeks {
            mailbox.bytes -= bytes.len();
            mailbox.queue.pop_front();
        }
        self.note(Note::Received, count as u64);
        Ok((count, Some(from)))
    }

    /// Sends bytes to the peer, or a message to this address.
    ///
    /// # Errors
    ///
    /// Those of `sendmsg`; `EAGAIN` if there is no room.
    pub(crate) fn send(
        &mut self,
        id: SocketId,
        buffers: &[IoSlice<'_>],
        to: Option<&SocketAddr>,
    ) -> Result<usize, Errno> {
        let socket = self.sockets.get_mut(&id).ok_or(Errno::BADF)?;
        let Role::Datagrams(mailbox) = &socket.role else {
            return self.send_bytes(id, buffers);
        };
        if let Some(error) = socket.error.take() {
            return Err(error);
        }
        let to = match to {
            Some(to) => v4(to)?,
            None => mailbox.peer.ok_or(Errno::DESTADDRREQ)?,
        };
        let bytes: Vec<u8> = buffers
            .iter()
            .flat_map(|buffer| buffer.iter().copied())
            .collect();
        if bytes.len() > LONGEST {
            return Err(Errno::MSGSIZE);
        }
        let (host, local) = (socket.host, socket.local);
        let there = self.host_at(host, *to.ip()).ok_or(Errno::HOSTUNREACH)?;
        let ip = match local.ip().is_unspecified() {
            true if there == host && to.ip().is_loopback() => *to.ip(),
            true => self.host_address(host),
            false => *local.ip(),
        };
        let count = bytes.len();
        self.note(Note::Sent, count as u64);
        self.launch(Datagram {
            sender: id,
            from: SocketAddrV4::new(ip, local.port()),
            hosts: [host, there],
            to,
            bytes,
        });
        Ok(count)
    }

    /// Puts a message under way, once or twice.
    fn launch(&mut self, datagram: Datagram) {
        let [here, there] = datagram.hosts;
        let key = LinkKey::new(here, there);
        let rate = self.settings_of(key).duplicate_rate;
        let copy = self.happens(key, rate).then(|| datagram.clone());
        for datagram in copy.into_iter().chain([datagram]) {
            match self.latency(key) {
                0 => self.datagram_arrives(datagram),
                latency => self.happens_in(latency, What::Datagram(datagram)),
            }
        }
    }

    /// A message has come to the end of its way.
    pub(super) fn datagram_arrives(&mut self, datagram: Datagram) {
        let [here, there] = datagram.hosts;
        let key = LinkKey::new(here, there);
        match self.fate(key) {
            Fate::Held => self.hold(key, What::Datagram(datagram)),
            Fate::Lost => self.note(Note::Lost, datagram.sender.0),
            Fate::Arrives => self.put_into_mailbox(datagram),
        }
    }

    /// A message comes to its socket. A connected sender learns if there is none.
    fn put_into_mailbox(&mut self, datagram: Datagram) {
        let Datagram {
            sender,
            from,
            hosts: [_, there],
            to,
            bytes,
        } = datagram;
        let is_it = |socket: &Socket| {
            socket.host == there
                && matches!(socket.role, Role::Datagrams(_))
                && socket.local.port() == to.port()
                && overlap(*socket.local.ip(), *to.ip())
        };
        let found = self.sockets.iter_mut().find(|(_, socket)| is_it(socket));
        let Some((&id, socket)) = found else {
            return self.refuse(sender);
        };
        let Role::Datagrams(mailbox) = &mut socket.role else {
            return;
        };
        let is_heard = mailbox.peer.is_none_or(|peer| peer == from);
        if !is_heard || mailbox.bytes + bytes.len() > MOST_UNREAD {
            return self.note(Note::Lost, sender.0);
        }
        mailbox.bytes += bytes.len();
        mailbox.queue.push_back((bytes, from));
        self.note(Note::Arrived, id.0);
        self.wakes(id, Wake::Reader);
    }

    /// A message has found no socket.
    fn refuse(&mut self, sender: SocketId) {
        self.note(Note::Failed, sender.0);
        if let Some(socket) = self.sockets.get_mut(&sender)
            && matches!(&socket.role, Role::Datagrams(mailbox) if mailbox.peer.is_some())
        {
            socket.error = Some(Errno::CONNREFUSED);
            self.wakes(sender, Wake::All);
        }
    }
}
