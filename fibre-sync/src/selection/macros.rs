//! `select!`: a selection that is written down like a `match`.
//!
//! The macro takes arm after arm off its input and puts each into a list, with a fresh variable
//! name in each step. The remaining input says how long to wait. The arms live in one statement,
//! which yields their outcomes, so that the bodies may use the objects freely.
//!
//! If an output does not fit its arm's pattern, the arm is left out, and the selection goes on. So
//! each pattern is matched twice, the first time with a guard that is false, which moves nothing.

use fibre_core::internal::begin_within;
use fibre_core::{Limit, WaitError};
use std::time::Duration;

/// How long a selection waits.
#[derive(Debug, Clone, Copy)]
pub enum SelectLimit {
    /// Not at all.
    None,
    /// For so long at most.
    Timeout(Duration),
    /// Until the limit comes.
    Within(Limit),
}

impl SelectLimit {
    /// Until when it waits, from now on.
    #[must_use]
    pub fn begin(self) -> Option<Result<Limit, WaitError>> {
        match self {
            Self::None => None,
            Self::Timeout(timeout) => Some(Ok(Limit::after(timeout))),
            Self::Within(limit) => Some(begin_within(limit)),
        }
    }
}

/// Until the limit comes.
#[inline]
#[must_use]
pub fn within(limit: impl Into<Limit>) -> SelectLimit {
    SelectLimit::Within(limit.into())
}

/// Waits for the first of several things, of any kind. The others lose nothing: no value, permit,
/// connection or signal. An arm is
///
/// * `pattern = arm => body`, where `arm` is an [`Arm`](crate::selection::Arm): a call with a name
///   that ends in `_arm`, beside the call that waits. The module
///   [`fibre::select`](crate::selection) has a table of them.
/// * `recv(receiver) -> pattern => body`, for `pattern = receiver.recv_arm() => body`: the pattern,
///   which fits all values, is a [`Result<T, RecvError>`](crate::channel::RecvError), as a channel
///   that is closed and empty is ready at once.
/// * `send(sender, value) -> pattern => body`, for `pattern = sender.send_arm(value) => body`: the
///   pattern, which fits all values, is a [`Result<(), SendError<T>>`](crate::channel::SendError).
///   The value is dropped if another arm is chosen.
///
/// It blocks the fibre, or the thread if the caller is not a fibre, unless it ends with one of
///
/// * `default => body`: if no arm can be chosen now;
/// * `default(duration) => body` or `timeout(duration) => body`: if none can be for so long, or
///   until the fibre is cancelled; a `duration` of zero, and a cancelled fibre, try once;
/// * `within(limit) => body`: if none can be until the [`Limit`] comes.
///
/// Without one of these it does not notice cancellation, unless it is in a `cancellable` call; a
/// `timeout` or `deadline` around it unwinds it, as other calls that cannot fail.
///
/// **If several arms are ready**, the choice is random, so that none starves. With `biased;` before
/// the arms, the one that is written first is chosen.
///
/// **Guards.** `pattern = arm, if condition => body` takes part only if the condition holds when
/// the selection begins. The arm is made all the same. (An `Option` of an arm is one, too: `None`
/// is never chosen.)
///
/// **Patterns** of `pattern = arm` need not fit all outputs. If an output does not fit, it is
/// dropped, its arm is left out, and the selection goes on with the others. When no arm is left,
/// because of guards or patterns, the selection yields the value of `else => body`, which is the
/// last arm, behind any `default`. Without an `else`, it takes the `default` or the arm with a
/// limit, if it has one, and otherwise panics.
///
/// Arms borrow what they wait for, until the body begins. A selection allocates nothing. If the
/// number of arms is known only at run time, use [`any`](fn@crate::selection::any), or
/// [`Select`](crate::channel::Select) for channels.
///
/// ```
/// use fibre::channel::{rendezvous, unbounded};
/// use fibre::sync::Semaphore;
/// use fibre::select;
/// use std::time::Duration;
///
/// let (numbers, from_numbers) = unbounded();
/// let (words, from_words) = rendezvous();
/// let permits = Semaphore::new(0);
/// let speaker = fibre::spawn(move || words.send("hello").is_ok());
///
/// let length = select! {
///     Ok(number) = from_numbers.recv_arm() => number,
///     recv(from_words) -> word => word.map_or(0, str::len),
///     _permit = permits.permit_arm(), if permits.available() < 9 => panic!("there is none"),
///     default(Duration::from_secs(10)) => panic!("nobody says anything"),
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
///
/// # Panics
///
/// If no arm is left that can be chosen, and nothing says what to do then.
#[doc(alias("alt", "choose", "select_biased"))]
#[macro_export]
macro_rules! select {
    (biased; $($input:tt)+) => {
        $crate::select_arms!(Biased [] $($input)+)
    };
    ($($input:tt)+) => {
        $crate::select_arms!(Fair [] $($input)+)
    };
}

/// The steps of [`select!`]: `order [list of arms] rest of the input`.
#[doc(hidden)]
#[macro_export]
macro_rules! select_arms {
    // How long to wait, and what then.
    ($order:ident [$($arms:tt)+] default => $body:expr $(, else => $none:expr)? $(,)?) => {
        $crate::select_arms!(
            @end $order [$($arms)+] ($crate::selection::parts::SelectLimit::None) ($body)
            ($($none)?)
        )
    };
    ($order:ident [$($arms:tt)+]
        default($duration:expr) => $body:expr $(, else => $none:expr)? $(,)?
    ) => {
        $crate::select_arms!(
            @end $order [$($arms)+] ($crate::selection::parts::SelectLimit::Timeout($duration))
            ($body) ($($none)?)
        )
    };
    ($order:ident [$($arms:tt)+]
        timeout($duration:expr) => $body:expr $(, else => $none:expr)? $(,)?
    ) => {
        $crate::select_arms!(
            @end $order [$($arms)+] ($crate::selection::parts::SelectLimit::Timeout($duration))
            ($body) ($($none)?)
        )
    };
    ($order:ident [$($arms:tt)+]
        within($limit:expr) => $body:expr $(, else => $none:expr)? $(,)?
    ) => {
        $crate::select_arms!(
            @end $order [$($arms)+] ($crate::selection::parts::within($limit)) ($body)
            ($($none)?)
        )
    };
    ($order:ident [$($arms:tt)+] else => $none:expr $(,)?) => {
        $crate::select_arms!(
            @choose $order [$($arms)+]
            ($crate::selection::parts::within($crate::selection::parts::Limit::None))
            (::core::unreachable!("a selection without a limit ends by one of its arms"))
            ($none)
        )
    };
    ($order:ident [$($arms:tt)+]) => {
        $crate::select_arms!(
            @choose $order [$($arms)+]
            ($crate::selection::parts::within($crate::selection::parts::Limit::None))
            (::core::unreachable!("a selection without a limit ends by one of its arms"))
            (::core::panic!("no arm of the selection is left, and it has no `else`"))
        )
    };
    // Where no arm is left, the same is done as at the limit, unless it is said.
    (@end $order:ident $arms:tt $timeout:tt $body:tt ()) => {
        $crate::select_arms!(@choose $order $arms $timeout $body)
    };
    (@end $order:ident $arms:tt $timeout:tt $body:tt ($none:expr)) => {
        $crate::select_arms!(@choose $order $arms $timeout $body ($none))
    };
    // One more arm: what it is, and its guard.
    ($order:ident [$($arms:tt)*]
        $way:ident($($given:tt)*) -> $result:pat, if $guard:expr => $($rest:tt)+
    ) => {
        $crate::select_arms!(
            @body $order [$($arms)*] { $way ($($given)*) ($result) ($guard) } $($rest)+
        )
    };
    ($order:ident [$($arms:tt)*] $way:ident($($given:tt)*) -> $result:pat => $($rest:tt)+) => {
        $crate::select_arms!(
            @body $order [$($arms)*] { $way ($($given)*) ($result) (true) } $($rest)+
        )
    };
    ($order:ident [$($arms:tt)*] $result:pat = $given:expr, if $guard:expr => $($rest:tt)+) => {
        $crate::select_arms!(
            @body $order [$($arms)*] { arm ($given) ($result) ($guard) } $($rest)+
        )
    };
    ($order:ident [$($arms:tt)*] $result:pat = $given:expr => $($rest:tt)+) => {
        $crate::select_arms!(
            @body $order [$($arms)*] { arm ($given) ($result) (true) } $($rest)+
        )
    };
    // Its body: with a block, and without a comma or with one; with an expression.
    (@body $order:ident [$($arms:tt)*] { $($head:tt)* } $body:block, $($rest:tt)*) => {
        $crate::select_arms!($order [$($arms)* { case $($head)* ($body) }] $($rest)*)
    };
    (@body $order:ident [$($arms:tt)*] { $($head:tt)* } $body:block $($rest:tt)*) => {
        $crate::select_arms!($order [$($arms)* { case $($head)* ($body) }] $($rest)*)
    };
    (@body $order:ident [$($arms:tt)*] { $($head:tt)* } $body:expr, $($rest:tt)*) => {
        $crate::select_arms!($order [$($arms)* { case $($head)* ($body) }] $($rest)*)
    };
    (@body $order:ident [$($arms:tt)*] { $($head:tt)* } $body:expr) => {
        $crate::select_arms!($order [$($arms)* { case $($head)* ($body) }])
    };
    // All of it.
    (@choose $order:ident
        [$({ $case:ident $way:ident ($($given:tt)*) ($result:pat) ($guard:expr) ($body:expr) })*]
        ($timeout:expr) ($otherwise:expr) $(($none:expr))?
    ) => {{
        let (end, $($case,)*) = match ($(
            // The guard comes first, as the arm may borrow what it looks at.
            $crate::selection::parts::Case::new(
                $guard, $crate::select_arms!(@arm $way $($given)*)
            ),
        )*) {
            ($(mut $case,)*) => {
                let limit = $timeout.begin();
                loop {
                    let end = $crate::selection::parts::choose(
                        [$(&mut $case as &mut dyn $crate::selection::parts::Candidate),*],
                        $crate::selection::parts::Order::$order,
                        limit,
                    );
                    let mut again = false;
                    $(
                        if let ::core::option::Option::Some(output) = $case.take() {
                            let fits = $crate::select_arms!(@fits $way output $result);
                            again |= !$case.keep(output, fits);
                        }
                    )*
                    if again {
                        continue;
                    }
                    break (end, $($case.take()),*);
                }
            }
        };
        $(if let ::core::option::Option::Some(output) = $case {
            $crate::select_arms!(@take $way output ($result) ($body))
        } else)*
        $(if ::core::matches!(end, $crate::selection::parts::Chosen::Closed) {
            $none
        } else)? {
            let _ = end;
            $otherwise
        }
    }};
    // Whether an output fits its pattern.
    (@fits arm $output:ident $result:pat) => {{
        #[allow(unused, clippy::all, clippy::pedantic)]
        let fits = {
            let mut fits = false;
            match $output {
                $result if { fits = true; false } => ::core::unreachable!(),
                _ => fits,
            }
        };
        fits
    }};
    (@fits $way:ident $output:ident $result:pat) => {
        true
    };
    // The body, with the output.
    (@take arm $output:ident ($result:pat) ($body:expr)) => {
        match $output {
            $result => $body,
            #[allow(unreachable_patterns)]
            _ => ::core::unreachable!("it has been looked at"),
        }
    };
    (@take $way:ident $output:ident ($result:pat) ($body:expr)) => {{
        let $result = $output;
        $body
    }};
    // The arm itself.
    (@arm recv $receiver:expr) => {
        $receiver.recv_arm()
    };
    (@arm send $sender:expr, $value:expr $(,)?) => {
        $sender.send_arm($value)
    };
    (@arm arm $arm:expr) => {
        $arm
    };
}
