//! Bytes under way, and both ends of a connection.
//!
//! Each end has a queue of what it has sent and the other has not got. It arrives in order. Only
//! the first piece of the queue is tried: one that is lost is sent again after 200 ms, 400 ms and
//! so on up to 120 s, as Linux does, and what stands behind it waits. After 16 losses, some 15
//! minutes, the sender gives up. A reset is sent once. What reaches an end that is over is answered
//! by a reset, which takes no time and is not lost, as acknowledgements.

use super::carry::Fate;
use super::events::{LinkKey, Note, SocketId, Wake, What};
use super::machine::Network;
use super::socket::{End, Piece, Role, Segment};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut};
use std::net::{Shutdown, SocketAddrV4};

/// The wait after the first loss.
const FIRST_WAIT: u64 = 200_000_000;

/// The longest wait.
const LONGEST_WAIT: u64 = 120_000_000_000;

/// How often a piece may be lost.
const MOST_LOSSES: u32 = 16;

impl End {
    /// One end of a new connection.
    pub(super) fn new(peer: SocketId, peer_address: SocketAddrV4, peer_host: usize) -> Self {
        Self {
            peer,
            peer_address,
            peer_host,
            incoming: VecDeque::new(),
            has_ended: false,
            reads_no_more: false,
            writes_no_more: false,
            is_broken: false,
            under_way: VecDeque::new(),
            armed: None,
        }
    }

    /// How many bytes are under way.
    fn bytes_under_way(&self) -> usize {
        let length = |segment: &Segment| match &segment.what {
            Piece::Bytes(bytes) => bytes.len(),
            Piece::End | Piece::Reset => 0,
        };
        self.under_way.iter().map(length).sum()
    }
}

impl Network {
    /// The link that a connection goes over.
    pub(super) fn link_of(&self, id: SocketId) -> Option<LinkKey> {
        let socket = self.sockets.get(&id)?;
        Some(LinkKey::new(socket.host, socket.end()?.peer_host))
    }

    /// How much a call moves that could move so much, which is not zero.
    fn share(&mut self, key: LinkKey, most: usize) -> usize {
        let rate = self.settings_of(key).short_rate;
        match self.happens(key, rate) {
            true => 1 + self.chance(key).below(most),
            false => most,
        }
    }

    /// Receives bytes.
    ///
    /// # Errors
    ///
    /// Those of `recvmsg`; `EAGAIN` if none are there.
    pub(super) fn receive_bytes(
        &mut self,
        id: SocketId,
        buffers: &mut [IoSliceMut<'_>],
        peeks: bool,
    ) -> Result<usize, Errno> {
        let room = buffers.iter().map(|buffer| buffer.len()).sum();
        let key = self.link_of(id).ok_or(Errno::NOTCONN)?;
        let socket = self.sockets.get_mut(&id).ok_or(Errno::BADF)?;
        let error = &mut socket.error;
        let Role::Stream(end) = &mut socket.role else {
            return Err(Errno::NOTCONN);
        };
        let most = end.incoming.len().min(room);
        if most == 0 {
            if end.has_ended {
                // The end came first, and an error is for the next write.
                return Ok(0);
            }
            let is_over = end.reads_no_more || end.is_broken;
            // Without room, bytes that are there count; else the kernel has the caller wait.
            let is_over = is_over || !end.incoming.is_empty();
            return match error.take() {
                Some(error) => Err(error),
                None if is_over => Ok(0),
                None => Err(Errno::AGAIN),
            };
        }
        let count = self.share(key, most);
        let Some(end) = self.end_mut(id) else {
            return Err(Errno::NOTCONN);
        };
        let mut bytes = end.incoming.iter().copied().take(count);
        for buffer in buffers.iter_mut() {
            buffer
                .iter_mut()
                .zip(&mut bytes)
                .for_each(|(place, byte)| *place = byte);
        }
        let peer = end.peer;
        if !peeks {
            end.incoming.drain(..count);
            self.wakes(peer, Wake::Writer);
        }
        self.note(Note::Received, count as u64);
        Ok(count)
    }

    /// Sends bytes.
    ///
    /// # Errors
    ///
    /// Those of `sendmsg`; `EAGAIN` if there is no room.
    pub(super) fn send_bytes(
        &mut self,
        id: SocketId,
        buffers: &[IoSlice<'_>],
    ) -> Result<usize, Errno> {
        let wanted: usize = buffers.iter().map(|buffer| buffer.len()).sum();
        let key = self.link_of(id).ok_or(Errno::NOTCONN)?;
        let socket = self.sockets.get_mut(&id).ok_or(Errno::BADF)?;
        if let Some(error) = socket.error.take() {
            return Err(error);
        }
        let Some(end) = self.sockets.get(&id).and_then(|socket| socket.end()) else {
            return Err(Errno::NOTCONN);
        };
        if end.writes_no_more || end.is_broken {
            return Err(Errno::PIPE);
        }
        let unread = self.sockets.get(&end.peer).and_then(|peer| peer.end());
        let used = end.bytes_under_way() + unread.map_or(0, |peer| peer.incoming.len());
        let room = self.settings_of(key).window.saturating_sub(used);
        let most = room.min(wanted);
        if most == 0 {
            return if wanted == 0 {
                Ok(0)
            } else {
                Err(Errno::AGAIN)
            };
        }
        let count = self.share(key, most);
        let bytes = buffers.iter().flat_map(|buffer| buffer.iter().copied());
        let bytes = bytes.take(count).collect();
        self.note(Note::Sent, count as u64);
        self.put_under_way(id, Piece::Bytes(bytes));
        Ok(count)
    }

    /// Puts a piece under way, which arrives behind all others of this end.
    fn put_under_way(&mut self, id: SocketId, what: Piece) {
        let Some(key) = self.link_of(id) else {
            return;
        };
        let due = self.now.saturating_add(self.latency(key));
        if let Some(end) = self.end_mut(id) {
            let before = end.under_way.back().map_or(0, |last| last.due);
            let due = due.max(before);
            end.under_way.push_back(Segment {
                what,
                due,
                losses: 0,
            });
            if end.armed.is_none() {
                end.armed = Some(due);
                self.moves_on(id);
            }
        }
    }

    /// The moment of an end's first piece has come.
    pub(super) fn arrives(&mut self, id: SocketId) {
        let armed = self.end_mut(id).and_then(|end| end.armed);
        // One that was held comes later than that.
        if armed.is_some_and(|at| at <= self.now) {
            self.moves_on(id);
        }
    }

    /// Lets all of an end's pieces arrive that are due, and makes an event for the next. Called by
    /// whoever finds it armed for now, or arms it.
    fn moves_on(&mut self, id: SocketId) {
        let Some(key) = self.link_of(id) else {
            return;
        };
        loop {
            let now = self.now;
            let Some(end) = self.end_mut(id) else {
                return;
            };
            let Some(first) = end.under_way.front() else {
                end.armed = None;
                return self.forget_if_over(id);
            };
            let due = first.due;
            if due > now {
                end.armed = Some(due);
                return self.happens_in(due - now, What::Arrives(id));
            }
            if first.losses == MOST_LOSSES {
                return self.break_off(id, Errno::TIMEDOUT);
            }
            match self.fate(key) {
                Fate::Arrives => self.deliver(id),
                Fate::Lost => self.lose_first(id),
                Fate::Held => {
                    // The release comes at another time.
                    return self.hold(key, What::Arrives(id));
                }
            }
        }
    }

    /// The first piece of an end is lost. It is sent again later, unless it is a reset.
    fn lose_first(&mut self, id: SocketId) {
        self.note(Note::Lost, id.0);
        let now = self.now;
        let Some(end) = self.end_mut(id) else {
            return;
        };
        let is_reset = |first: &mut Segment| matches!(first.what, Piece::Reset);
        let _ = end.under_way.pop_front_if(is_reset);
        if let Some(first) = end.under_way.front_mut() {
            let wait = (FIRST_WAIT << first.losses.min(20)).min(LONGEST_WAIT);
            first.losses += 1;
            first.due = now.saturating_add(wait);
        }
    }

    /// The first piece of an end arrives.
    fn deliver(&mut self, id: SocketId) {
        let Some(end) = self.end_mut(id) else {
            return;
        };
        let (peer, knows_end) = (end.peer, end.has_ended);
        let Some(segment) = end.under_way.pop_front() else {
            return;
        };
        self.note(Note::Arrived, id.0);
        let is_open = self.sockets.get(&peer).is_some_and(|peer| peer.is_open());
        let is_kept = is_open || self.is_queued(peer);
        let there = self.end_mut(peer).filter(|end| !end.is_broken);
        match (segment.what, there) {
            (Piece::Bytes(bytes), Some(end)) if is_kept => {
                end.incoming.extend(bytes);
                self.wakes(peer, Wake::Reader);
            }
            (Piece::End, Some(end)) => {
                end.has_ended = true;
                self.wakes(peer, Wake::Reader);
            }
            // The other side has ended before, and has forgotten the connection since.
            (Piece::End, None) if knows_end => {}
            // Nobody will read it.
            (Piece::Bytes(_) | Piece::End, _) => self.break_off(id, Errno::CONNRESET),
            (Piece::Reset, _) => self.break_off(peer, Errno::CONNRESET),
        }
    }

    /// Whether an end waits to be accepted.
    fn is_queued(&self, id: SocketId) -> bool {
        let has_it =
            |role: &Role| matches!(role, Role::Listener { queue, .. } if queue.contains(&id));
        self.sockets.values().any(|socket| has_it(&socket.role))
    }

    /// Ends one direction of a connection or both; or a listener.
    ///
    /// # Errors
    ///
    /// Those of `shutdown`.
    pub(crate) fn shut_down(&mut self, id: SocketId, how: Shutdown) -> Result<(), Errno> {
        let socket = self.sockets.get_mut(&id).ok_or(Errno::BADF)?;
        let end = match &mut socket.role {
            Role::Listener { .. } => {
                self.stop_listening(id);
                return Ok(());
            }
            Role::Stream(end) if !end.is_broken => end,
            _ => return Err(Errno::NOTCONN),
        };
        if how != Shutdown::Write {
            // What has come can be read, and more comes, as in Linux.
            end.reads_no_more = true;
        }
        let ends = how != Shutdown::Read && !end.writes_no_more;
        end.writes_no_more |= ends;
        if ends {
            self.put_under_way(id, Piece::End);
        }
        self.wakes(id, Wake::All);
        Ok(())
    }

    /// The last descriptor of an end is closed.
    pub(super) fn close_stream(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.get_mut(&id) else {
            return;
        };
        let resets = socket.resets;
        let Some(end) = socket.end_mut() else {
            return;
        };
        if end.is_broken {
            self.sockets.remove(&id);
            return;
        }
        if resets || !end.incoming.is_empty() {
            // What is unread, or unsent, is thrown away, and the peer learns of that.
            end.incoming.clear();
            end.under_way.clear();
            end.armed = None;
            end.writes_no_more = true;
            // What comes meanwhile finds nobody.
            end.is_broken = true;
            return self.put_under_way(id, Piece::Reset);
        }
        if !end.writes_no_more {
            end.writes_no_more = true;
            self.put_under_way(id, Piece::End);
        }
        self.forget_if_over(id);
    }

    /// Forgets an end that is closed and has nothing under way.
    fn forget_if_over(&mut self, id: SocketId) {
        let is_over = |end: &End| end.writes_no_more && end.under_way.is_empty();
        let Some(socket) = self.sockets.get(&id) else {
            return;
        };
        if !socket.is_open() && socket.end().is_some_and(is_over) && !self.is_queued(id) {
            self.sockets.remove(&id);
        }
    }

    /// A connection is over for this end, which learns of it by an error. As in Linux, a reset
    /// that comes after the other side's end is another error, which only writes report.
    pub(super) fn break_off(&mut self, id: SocketId, error: Errno) {
        let Some(socket) = self.sockets.get_mut(&id) else {
            return;
        };
        let is_open = socket.is_open();
        let Some(end) = socket.end_mut().filter(|end| !end.is_broken) else {
            return;
        };
        let error = match error {
            Errno::CONNRESET if end.has_ended && !end.writes_no_more => Errno::PIPE,
            error => error,
        };
        end.is_broken = true;
        end.under_way.clear();
        end.armed = None;
        socket.error = Some(error);
        self.note(Note::Failed, id.0);
        if is_open || self.is_queued(id) {
            self.wakes(id, Wake::All);
        } else {
            self.sockets.remove(&id);
        }
    }

    /// The peer of an end that is thrown away learns of that at once.
    pub(super) fn reset_peer(&mut self, id: SocketId) {
        if let Some(peer) = self.end_mut(id).map(|end| end.peer) {
            self.break_off(peer, Errno::CONNRESET);
        }
    }

    /// An end of a connection.
    fn end_mut(&mut self, id: SocketId) -> Option<&mut End> {
        self.sockets.get_mut(&id)?.end_mut()
    }
}
