//! The methods that every kind of socket has, as macros: closing, limits of time, conversions. The
//! types have a field `end` that does the work.

/// Duplicating, and conversions from and to std.
macro_rules! handle {
    ($socket:ident, $std:ty, $end:ident, $expect:ident) => {
        impl $socket {
            /// A second handle to the same socket, with a descriptor of its own and copies of
            /// the time-outs and deadlines. Both get all events. Blocks nothing.
            ///
            /// # Errors
            ///
            /// When there is no descriptor left.
            pub fn try_clone(&self) -> io::Result<Self> {
                let end = self.end.try_clone()?;
                Ok(Self { end })
            }

            /// Takes the error that the socket has recorded, if any. Blocks nothing.
            ///
            /// # Errors
            ///
            /// Those of `getsockopt`.
            pub fn take_error(&self) -> io::Result<Option<io::Error>> {
                self.end.take_error()
            }

            /// The same socket for blocking threads. Clones share the mode: calls on them still
            /// block only fibres, except accepting, and [`copy`](crate::copy::copy) and its like.
            ///
            /// # Errors
            ///
            /// When it cannot be made blocking.
            pub fn into_std(self) -> io::Result<$std> {
                Ok(self.end.source.into_fd()?.into())
            }
        }

        impl TryFrom<$std> for $socket {
            type Error = io::Error;

            /// Takes a socket over and makes it non-blocking, for all who share it.
            fn try_from(socket: $std) -> io::Result<Self> {
                OwnedFd::from(socket).try_into()
            }
        }

        impl TryFrom<OwnedFd> for $socket {
            type Error = io::Error;

            /// Takes a socket over and makes it non-blocking, for all who share it. A socket of
            /// another kind, where that would matter, is `InvalidInput`:
            /// [`Pollable`](crate::pollable::Pollable) takes any.
            fn try_from(fd: OwnedFd) -> io::Result<Self> {
                $expect(&fd)?;
                let end = $end::adopt(fd)?;
                Ok(Self { end })
            }
        }

        impl From<$socket> for OwnedFd {
            /// Gives the descriptor up, as non-blocking as it is;
            #[doc = concat!("[`into_std`](", stringify!($socket), "::into_std) makes it blocking.")]
            fn from(socket: $socket) -> Self {
                socket.end.source.release()
            }
        }

        impl AsFd for $socket {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.end.source.lend().as_fd()
            }
        }

        impl AsRawFd for $socket {
            fn as_raw_fd(&self) -> RawFd {
                self.as_fd().as_raw_fd()
            }
        }

        impl IntoRawFd for $socket {
            /// Gives the descriptor up; it stays non-blocking.
            fn into_raw_fd(self) -> RawFd {
                OwnedFd::from(self).into_raw_fd()
            }
        }
    };
}

/// Closing sockets that are connected, or need no connection.
macro_rules! close {
    ($socket:ident) => {
        impl $socket {
            /// Makes all waiting and all later calls fail with `ConnectionAborted`. Clones go on.
            /// The descriptor is closed when this is dropped. Blocks nothing.
            pub fn close(&self) {
                self.end.source.close();
            }
        }
    };
}

/// Closing listeners.
macro_rules! close_listener {
    ($listener:ident) => {
        impl $listener {
            /// Stops the socket at once, for everybody who has it. The kernel refuses new clients,
            /// and clients that have not been accepted yet see the end of their connection. All
            /// waiting and all later calls fail with `ConnectionAborted`, even on clones. The
            /// descriptor is closed when this is dropped. Blocks nothing.
            ///
            /// A socket that other *processes* accept on (an older or newer server, systemd) stops
            /// for them, too: use [`leave`](Self::leave) there.
            ///
            /// If the process has no descriptor to spare, the clients in a Unix socket's queue see
            /// the end only when its last descriptor is closed.
            pub fn close(&self) {
                self.end.stop();
            }

            /// Makes all waiting and all later calls on this handle fail with `ConnectionAborted`,
            /// and leaves the socket to others that accept on it: clones, and other processes that
            /// have it. Clients go on being queued until the last descriptor is closed. Blocks
            /// nothing.
            pub fn leave(&self) {
                self.end.source.close();
            }
        }
    };
}

/// Time-outs and deadlines of both directions.
macro_rules! limits {
    ($socket:ident) => {
        impl $socket {
            /// The longest that a call waits to receive; `None`, the default, is for ever.
            ///
            /// # Errors
            ///
            /// None; the type is std's.
            pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
                Ok(self.end.reading.timeout())
            }

            /// The longest that a call waits to send; `None`, the default, is for ever.
            ///
            /// # Errors
            ///
            /// None; the type is std's.
            pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
                Ok(self.end.writing.timeout())
            }

            /// Sets the longest that a call waits to receive before it fails with `TimedOut`. Calls
            /// that wait already keep their time-out. Later calls receive what comes after a call
            /// has failed. Blocks nothing.
            ///
            /// # Errors
            ///
            /// `InvalidInput` for a zero duration.
            pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
                self.end.reading.set_timeout(timeout)
            }

            /// Sets the longest that a call waits to send before it fails with `TimedOut`. Calls
            /// that wait already keep their time-out. Blocks nothing.
            ///
            /// # Errors
            ///
            /// `InvalidInput` for a zero duration.
            pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
                self.end.writing.set_timeout(timeout)
            }

            /// The moment when calls stop waiting to receive; `None`, the default, is never.
            #[must_use]
            pub fn read_deadline(&self) -> Option<Instant> {
                self.end.reading.deadline()
            }

            /// The moment when calls stop waiting to send; `None`, the default, is never.
            #[must_use]
            pub fn write_deadline(&self) -> Option<Instant> {
                self.end.writing.deadline()
            }

            /// Sets the moment when calls that wait to receive fail with `TimedOut`: all later
            /// calls, and those that wait already. If there is a time-out, too, the earlier end
            /// counts. After that moment a call receives what is there and does not wait. Blocks
            /// nothing.
            ///
            /// One deadline bounds a request that must arrive within ten seconds, in any number of
            /// pieces; a time-out would begin anew with each piece. This is what Go's
            /// `SetReadDeadline` does.
            pub fn set_read_deadline(&self, deadline: Option<Instant>) {
                self.end.set_deadline(Direction::Read, deadline);
            }

            /// Sets the moment when calls that wait to send fail with `TimedOut`: all later calls,
            /// and those that wait already. If there is a time-out, too, the earlier end counts.
            /// After that moment a call sends what there is room for. Blocks nothing.
            pub fn set_write_deadline(&self, deadline: Option<Instant>) {
                self.end.set_deadline(Direction::Write, deadline);
            }
        }
    };
}

/// Ending, splitting and copying streams.
macro_rules! stream {
    ($stream:ident) => {
        impl $stream {
            /// Ends one direction or both, and wakes the fibres that wait there: readers get the
            /// end, writers `BrokenPipe`. Blocks nothing.
            ///
            /// # Errors
            ///
            /// Those of `shutdown`.
            pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
                self.end.shutdown(how)
            }

            /// Reads without taking the bytes: the next read sees them again. Blocks like a read.
            ///
            /// # Errors
            ///
            /// As reading.
            pub fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
                self.end.receive(buffer, RecvFlags::PEEK)
            }

            /// Both directions, for two fibres of one scope. `&self` reads and writes, too; each
            /// half does only one of the two. Dropping the halves does nothing.
            pub fn split(&self) -> (ReadHalf<'_, Self>, WriteHalf<'_, Self>) {
                split::borrow(self)
            }

            /// Both directions as values, for two fibres. Dropping the writing half ends its
            /// direction, so the peer reads the end. Takes no second descriptor.
            #[must_use]
            pub fn into_split(self) -> (OwnedReadHalf<Self>, OwnedWriteHalf<Self>) {
                split::own(self)
            }
        }

        impl CopyFrom for $stream {
            fn origin(&self) -> Origin<'_> {
                Origin::Stream(&self.end.source, Timeout::Set(&self.end.reading))
            }

            fn read_some(&self, buffer: &mut [u8]) -> io::Result<usize> {
                (&*self).read(buffer)
            }
        }

        impl CopyTo for $stream {
            fn destination(&self) -> (&Source, Timeout<'_>) {
                (&self.end.source, Timeout::Set(&self.end.writing))
            }

            fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
                self.end.write(bytes)
            }
        }

        impl Duplex for $stream {
            fn end(&self, how: Shutdown) -> io::Result<()> {
                self.end.shutdown(how)
            }
        }

        impl split::Stream for $stream {
            fn end_writing(&self) {
                // It fails if the connection is broken, and then the peer knows.
                let _ = self.end.shutdown(Shutdown::Write);
            }
        }
    };
}

pub(super) use {close, close_listener, handle, limits, stream};
