//! The methods that both ends of a channel share, written once.

/// The methods of a handle that only look at its channel, or close it.
macro_rules! what_both_ends_tell {
    ($end:ident) => {
        impl<T> $end<T> {
            /// How many values are in the channel at this moment. The values of blocked senders are
            /// not counted.
            #[must_use]
            pub fn len(&self) -> usize {
                self.channel.len()
            }

            /// Whether there is no value in the channel at this moment. A rendezvous channel is
            /// always empty.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Whether there is no room in the channel at this moment. A rendezvous channel is
            /// always full.
            #[must_use]
            pub fn is_full(&self) -> bool {
                self.len() >= self.channel.capacity()
            }

            /// How many values the channel has room for; `None` for any number.
            #[must_use]
            pub fn capacity(&self) -> Option<usize> {
                Some(self.channel.capacity()).filter(|&capacity| capacity != usize::MAX)
            }

            /// Whether the channel is closed: sending fails. There may still be values to receive.
            #[must_use]
            pub fn is_closed(&self) -> bool {
                self.channel.is_closed()
            }

            /// Closes the channel for all: nobody can send more values, but receivers still get the
            /// values in it. Blocked senders get their values back. Returns `false` if it was
            /// closed already. Blocks nothing.
            ///
            /// ```
            /// let (sender, receiver) = fibre::channel::bounded(2);
            /// sender.send("last").unwrap();
            /// assert!(receiver.close());
            /// assert!(sender.send("too late").is_err());
            /// assert_eq!(receiver.recv(), Ok("last"));
            /// assert!(receiver.recv().is_err());
            /// ```
            pub fn close(&self) -> bool {
                self.channel.close()
            }
        }
    };
}

pub(super) use what_both_ends_tell;
