//! `select!`: a selection that is written down like a `match`.
//!
//! The macro takes arm after arm off its input and puts each into a list, with a name for a
//! variable that is another one in each step. What is left then says how long to wait. The
//! arms live in one statement, which yields what has come of each, so that the bodies may do
//! with the channels what they like.

use super::arm::Candidate;
use super::choose::{choose, choose_now};
use fibre_core::Limit;
use fibre_core::internal::begin_within;
use std::time::Duration;

/// How long a selection waits.
#[derive(Debug, Clone, Copy)]
pub enum Patience {
    /// Not at all.
    None,
    /// For so long at most.
    Timeout(Duration),
    /// Until the limit comes.
    Within(Limit),
}

/// Until an arm is chosen.
pub const PATIENT: Patience = Patience::Within(Limit::None);

/// Until the limit comes.
#[inline]
#[must_use]
pub fn within(limit: impl Into<Limit>) -> Patience {
    Patience::Within(limit.into())
}

/// Chooses one of the arms, which then has a result.
pub fn select_among<const ARMS: usize>(arms: [Candidate<'_>; ARMS], patience: Patience) {
    let mut arms = arms.map(|candidate| candidate.0);
    let limit = match patience {
        Patience::None => {
            choose_now(&arms);
            return;
        }
        Patience::Timeout(timeout) => Ok(Limit::after(timeout)),
        Patience::Within(limit) => begin_within(limit),
    };
    if let Ok(limit) = limit {
        let _ = choose(&mut arms, limit);
    }
}

/// Carries out one of several operations of channels, or of one: the one that can be, or becomes
/// so, first. If several can be carried out, which one it is differs from time to time, so that
/// none is kept from its turn by the others.
///
/// * `recv(receiver) -> pattern => body`: the pattern, which fits all values, is a
///   [`Result<T, RecvError>`](crate::channel::RecvError): a channel that is closed and empty is
///   ready at once.
/// * `send(sender, value) -> pattern => body`: the pattern is a
///   [`Result<(), SendError<T>>`](crate::channel::SendError). The value is dropped if another
///   arm is chosen.
///
/// It blocks the fibre, or the thread if the caller is not a fibre, unless it ends with one of
///
/// * `default => body`: if no operation can be carried out now;
/// * `timeout(duration) => body`: if none can be for so long, or until the fibre is cancelled; a
///   `duration` of zero, and a cancelled fibre, try once;
/// * `within(limit) => body`: if none can be until the [`Limit`] comes.
///
/// Senders and receivers may be references. For a number of operations that is not known
/// before there is [`Select`](crate::channel::Select).
///
/// ```
/// use fibre::channel::{rendezvous, unbounded};
/// use fibre::select;
/// use std::time::Duration;
///
/// let (numbers, from_numbers) = unbounded();
/// let (words, from_words) = rendezvous();
/// let speaker = fibre::spawn(move || words.send("hello").is_ok());
///
/// let length = select! {
///     recv(from_numbers) -> number => number.unwrap_or(0),
///     recv(from_words) -> word => word.map_or(0, str::len),
///     timeout(Duration::from_secs(10)) => panic!("nobody says anything"),
/// };
/// assert_eq!(length, 5);
/// assert!(speaker.join().unwrap());
///
/// select! {
///     send(numbers, length) -> sent => sent.unwrap(),
///     default => panic!("the channel is unbounded"),
/// }
/// assert_eq!(from_numbers.recv(), Ok(5));
/// ```
#[macro_export]
macro_rules! select {
    ($($input:tt)+) => {
        $crate::select_arms!([] $($input)+)
    };
}

/// The steps of [`select!`]: `[list of arms] rest of the input`.
#[doc(hidden)]
#[macro_export]
macro_rules! select_arms {
    // How long to wait, and what then.
    ([$($arms:tt)+] default => $body:expr $(,)?) => {
        $crate::select_arms!(@choose [$($arms)*] $crate::channel::arms::Patience::None, $body)
    };
    ([$($arms:tt)+] timeout($duration:expr) => $body:expr $(,)?) => {
        $crate::select_arms!(
            @choose [$($arms)*] $crate::channel::arms::Patience::Timeout($duration), $body
        )
    };
    ([$($arms:tt)+] within($limit:expr) => $body:expr $(,)?) => {
        $crate::select_arms!(@choose [$($arms)*] $crate::channel::arms::within($limit), $body)
    };
    ([$($arms:tt)+]) => {
        $crate::select_arms!(
            @choose [$($arms)+] $crate::channel::arms::PATIENT,
            ::core::unreachable!("a selection without a limit ends by one of its arms")
        )
    };
    // One more arm: with a block, and without a comma or with one; with an expression.
    ([$($arms:tt)*] $way:ident($($given:tt)*) -> $result:pat => $body:block, $($rest:tt)*) => {
        $crate::select_arms!([$($arms)* { arm $way($($given)*) ($result) ($body) }] $($rest)*)
    };
    ([$($arms:tt)*] $way:ident($($given:tt)*) -> $result:pat => $body:block $($rest:tt)*) => {
        $crate::select_arms!([$($arms)* { arm $way($($given)*) ($result) ($body) }] $($rest)*)
    };
    ([$($arms:tt)*] $way:ident($($given:tt)*) -> $result:pat => $body:expr, $($rest:tt)*) => {
        $crate::select_arms!([$($arms)* { arm $way($($given)*) ($result) ($body) }] $($rest)*)
    };
    ([$($arms:tt)*] $way:ident($($given:tt)*) -> $result:pat => $body:expr) => {
        $crate::select_arms!([$($arms)* { arm $way($($given)*) ($result) ($body) }])
    };
    // All of it.
    (@choose
        [$({ $arm:ident $way:ident($($given:tt)*) ($result:pat) ($body:expr) })*]
        $patience:expr, $otherwise:expr
    ) => {{
        let ($($arm,)*) = match ($($crate::select_arms!(@$way $($given)*),)*) {
            ($(mut $arm,)*) => {
                $crate::channel::arms::select_among([$($arm.candidate()),*], $patience);
                ($($arm.result(),)*)
            }
        };
        $(if let ::core::option::Option::Some(result) = $arm {
            let $result = result;
            $body
        } else)* {
            $otherwise
        }
    }};
    (@recv $receiver:expr) => {
        $crate::channel::arms::RecvArm::new(&$receiver)
    };
    (@send $sender:expr, $value:expr $(,)?) => {
        $crate::channel::arms::SendArm::new(&$sender, $value)
    };
}
