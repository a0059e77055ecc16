//! Tasks on fibres that declare which shared objects they read and change: the permissions of the
//! language Eve, as types.
//!
//! A task names the permissions that it wants before it starts. It starts when it has all of them,
//! so it takes no lock, waits for nothing in the middle, and cannot deadlock with others. Code that
//! goes beyond its permissions does not compile.
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
//! Source: A. Fonseca, J. Rafael and B. Cabral, "Eve: A parallel event-driven programming language"
//! (Euro-Par 2014 workshops). `docs/TASKS.md` maps it, row by row, to this crate.
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
//! Data of one fibre, or data that a scope's fibres borrow, needs no tasks: the compiler checks
//! `fibre::scope`, which costs nothing. For one object with occasional changes, a
//! [`Mutex`](fibre_sync::Mutex) is less to write, and less to run. Use tasks in three cases: an
//! operation needs several objects at once, and you would have to keep the order of locks; readers
//! should run side by side and still take turns with writers; or each event of an object is handled
//! with the same few objects.
//!
//! # Where to find what
//!
//! | to | use |
//! |---|---|
//! | share an object | [`Shared`], [`Full::new`] |
//! | run a task with permissions | [`task!`], [`spawn()`], [`Task`] |
//! | go on with permissions in several tasks, and wait for them | [`finish()`], [`try_finish`], [`Scope`] |
//! | get permissions in the calling fibre | [`acquire()`], [`try_acquire`] |
//! | start a task for each event | [`on!`], [`Emitter`], [`Emits`] |
//! | serve clients by events | [`socket`] |
//! | choose processors, stop all | [`Tasks`] |
//!
//! # What is promised
//!
//! Tasks get an object in the order of their requests. Consecutive readers share it; no reader
//! overtakes a waiting writer. Tasks with overlapping wants do not deadlock, in whatever order they
//! name them. A task gives its objects back when its guards are dropped: at its end, before it, or
//! by a panic.
//!
//! Three kinds of callers wait for ever, as with locks: two that [acquire](acquire()) an object
//! while each has a guard of the other's; a caller that joins a task that wants the caller's
//! object; and those that want an object of an abandoned fibre, or of a forgotten guard.
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
//! | `entry` | how a task gets all that it wants |
//! | `object`, `guards` | shared objects; permissions as values |
//! | `wants`, `lent` | what tasks want; what a `finish` lends |
//! | `errors` | why there is no result of a task |
//! | `acquire` | permissions for the caller itself |
//! | `request`, `stage` | a task that waits; what its handle has |
//! | `system`, `task` | what tasks that live together share; tasks of their own |
//! | `finish` | tasks that their parent waits for |
//! | `tasks` | tasks that are stopped together |
//! | `callbacks`, `emitter`, `macros` | what events call; events; Eve's notation |
//! | `socket` | sockets that emit events |

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
pub mod socket;
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

/// For models. It is here in all builds, so that the compiler sees unreachable code.
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
