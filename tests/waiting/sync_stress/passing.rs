//! Sending and receiving, in any manner.

use super::ledger::{Ledger, Value};
use super::subject::Manner;
use fibre::channel::{Receiver, RecvTimeoutError, Sender, TryRecvError};

/// The role of those who send, in all kinds.
pub const SEND: usize = 0;

/// More attempts than a turn can take.
pub const ATTEMPTS: usize = 8;

/// How an attempt has ended.
pub enum Ended<T> {
    /// With a value received, or sent.
    Done(T),
    /// In vain.
    InVain,
    /// The channel is closed.
    Closed,
}

/// Receives in a manner.
pub fn recv_in<T>(receiver: &Receiver<T>, manner: Manner) -> Ended<T> {
    let of_timed = |result| match result {
        Ok(value) => Ended::Done(value),
        Err(RecvTimeoutError::Closed) => Ended::Closed,
        Err(RecvTimeoutError::TimedOut | RecvTimeoutError::Cancelled) => Ended::InVain,
    };
    match manner {
        Manner::Forever => receiver.recv().map_or(Ended::Closed, Ended::Done),
        Manner::Try => match receiver.try_recv() {
            Ok(value) => Ended::Done(value),
            Err(TryRecvError::Closed) => Ended::Closed,
            Err(TryRecvError::Empty) => Ended::InVain,
        },
        Manner::Timeout(timeout) => of_timed(receiver.recv_timeout(timeout)),
        Manner::Within(limit) => of_timed(receiver.recv_within(limit)),
    }
}

/// Sends a fresh value in a manner, and enters it into the ledger if it comes back.
pub fn send_in(sender: &Sender<Value>, ledger: &Ledger, manner: Manner) -> Ended<()> {
    let value = ledger.value();
    let number = value.number;
    /// The value that an error brings back, and whether the channel is closed.
    macro_rules! back {
        ($sent:expr) => {
            $sent.err().map(|e| (e.is_closed(), e.into_inner()))
        };
    }
    let back = match manner {
        Manner::Forever => sender.send(value).err().map(|e| (true, e.into_inner())),
        Manner::Try => back!(sender.try_send(value)),
        Manner::Timeout(timeout) => back!(sender.send_timeout(value, timeout)),
        Manner::Within(limit) => back!(sender.send_within(value, limit)),
    };
    let Some((closed, value)) = back else {
        return Ended::Done(());
    };
    ledger.came_back(number, value);
    match closed {
        true => Ended::Closed,
        false => Ended::InVain,
    }
}
