//! Tasks on fibres that say which shared objects they read and change: the permissions of the
//! language Eve, as types.
//!
//! A task names what it wants before it starts. It starts when all of it is there, so it takes no
//! lock, waits for nothing in the middle, and cannot deadlock with others; and what it may not do
//! does not compile.
//!
//! ```
//! use fibre_tasks::{Shared, task};
//!
//! let (names, greetings) = (Shared::new(vec!["Ada", "Grace"]), Shared::new(0));
//! // Both read the names, at the same time; the greetings are changed by one at a time.
//! let first = task!([names, +greetings] { *greetings += names.len(); names[0] });
//! let second = task!([names, +greetings] { *greetings += names.len(); names[1] });
//! assert_eq!((first.join()?, second.join()?), ("Ada", "Grace"));
//! assert_eq!(*fibre_tasks::acquire(greetings.read()), 4);
//! # Ok::<(), fibre_tasks::TaskError>(())
//! ```
//!
//! Source: A. Fonseca, J. Rafael and B. Cabral, "Eve: A parallel event-driven programming
//! language" (Euro-Par 2014 workshops). `docs/TASKS.md` says row by row what became of it.
//!
//! # Permissions
//!
//! | permission | in Eve | want | guard | what it offers |
//! |---|---|---|---|---|
//! | Read | `a` | [`a.read()`](Shared::read) | [`Read`] | `&T`, beside other readers |
//! | Full | `+a` | [`a.full()`](Shared::full) | [`Full`] | `&mut T`, alone |
//! | Null | `-a` | [`a.null()`](Shared::null) | [`Null`] | a reference to pass on |
//!
//! # Use fibres; use tasks when …
//!
//! Data that one fibre has, or that a scope's fibres borrow, needs none of this: `fibre::scope` is
//! checked by the compiler, and costs nothing. A [`Mutex`](fibre_sync::Mutex) is less to write, and
//! less to run, for one object that is changed here and there. Use tasks when an operation needs
//! several objects at once and the locks' order would be yours to keep, when readers are to run
//! side by side and still in turn with writers, or when each event of an object is to be handled
//! with the same few objects.
//!
//! # Where to find what
//!
//! | to | use |
//! |---|---|
//! | share an object | [`Shared`], [`Full::new`] |
//! | have a task run with permissions | [`task!`], [`spawn()`], [`Task`] |
//! | go on with permissions in several tasks, and wait for them | [`finish()`], [`try_finish`], [`Scope`] |
//! | come by permissions where you are | [`acquire()`], [`try_acquire`] |
//! | have a task for each event | [`on!`], [`Emitter`], [`Emits`] |
//! | choose processors, stop all | [`Tasks`] |
//!
//! # What is promised
//!
//! Tasks get an object in the order of their requests. Readers that follow each other have it
//! together; no reader passes a writer that waits. Tasks with overlapping wants do not deadlock, in
//! whatever order they name them. What a task has comes back when its guards are dropped: at its
//! end, before it, or by a panic.
//!
//! Three things wait for ever, as with locks: a caller that [acquires](acquire()) while it has a
//! guard of another object, which yet another one does the other way round; one that joins a task
//! which wants what it has; and those that want what an abandoned fibre had, or a guard that was
//! forgotten.
//!
//! # What blocks what
//!
//! | call | from a task or another fibre | from another thread |
//! |---|---|---|
//! | a `finish`, a `join`, an `acquire`, a `deliver` | the fibre | the thread |
//! | any spawn, `cancel`, `emit`, the drop of a guard | nothing | nothing |
//! | `Tasks::stop` | the fibre (of another cluster) | the thread |
//!
//! # Modules
//!
//! Lowest first; each imports only from those above it in this list, or beside it:
//!
//! | module | what it is |
//! |---|---|
//! | `faults` | the names of faults that models plant |
//! | `ticket` | what a request lacks |
//! | `line` | who has one object, and who waits for it |
//! | `entry` | how a task comes by all that it wants |
//! | `object`, `guards` | shared objects; permissions as values |
//! | `wants`, `lent` | what tasks want; what a `finish` lends |
//! | `errors` | why there is no result of a task |
//! | `acquire` | permissions for the caller itself |
//! | `request`, `stage` | a task that waits; what its handle has |
//! | `system`, `task` | what tasks share that live together; tasks of their own |
//! | `finish` | tasks that their parent waits for |
//! | `tasks` | tasks that are stopped together |
//! | `callbacks`, `emitter`, `macros` | what events call; events; Eve's notation |

#![cfg_attr(not(any(loom, test)), deny(unreachable_pub, unnameable_types))]
// Unit tests know the threads of the system, so a build of them for models is empty.
#![cfg(not(all(test, loom)))]

#[cfg(not(loom))]
mod acquire;
#[cfg(not(loom))]
mod callbacks;
#[cfg(not(loom))]
mod emitter;
mod entry;
#[cfg(not(loom))]
mod errors;
#[doc(hidden)]
pub mod faults;
#[cfg(not(loom))]
mod finish;
#[cfg(not(loom))]
mod guards;
#[cfg(not(loom))]
mod lent;
mod line;
#[cfg(not(loom))]
mod macros;
#[cfg(not(loom))]
mod object;
#[cfg(not(loom))]
mod request;
#[cfg(not(loom))]
mod stage;
#[cfg(not(loom))]
mod system;
#[cfg(not(loom))]
mod task;
#[cfg(not(loom))]
mod tasks;
mod ticket;
#[cfg(not(loom))]
mod wants;

/// For models. It is here in all builds, so that the compiler sees what nobody reaches.
#[doc(hidden)]
pub mod internal {
    pub use crate::entry::{Lines, enter, follow, give_back, try_enter, withdraw};
    pub use crate::line::{Line, Permission};
    pub use crate::ticket::{Granted, Ticket, Waiting};
    #[cfg(not(loom))]
    pub use crate::{lent::Lending, wants::Permitted};
}

#[cfg(not(loom))]
pub use self::{
    acquire::{acquire, acquire_timeout, acquire_within, try_acquire},
    emitter::{Emits, Emitter, Subscription, Unhandled},
    errors::TaskError,
    finish::{Panicked, Scope, ScopedTask, finish, try_finish},
    guards::{Full, Null, Read},
    lent::{Guards, LendsFull, LendsNull, LendsRead},
    object::Shared,
    system::Acquisition,
    task::{Task, spawn},
    tasks::{Order, Tasks, TasksBuilder},
    wants::{LentFull, LentNull, LentRead, LentWants, WantFull, WantNull, WantRead, Wants},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
