//! Thread-locals of a fibre's own: a thread control block on its stack.
//!
//! To compiled code and to the C library, a thread is the block that the thread pointer leads to:
//! the thread control block and, below it, the static thread-locals of all modules. In a cluster
//! with [`own_thread_locals`](crate::ClusterBuilder::own_thread_locals) each stack has such a
//! block, and the switch to a fibre sets the thread pointer to it. So a fibre finds its own
//! thread-locals on whatever kernel thread it goes on.
//!
//! ```text
//!   a stack with a block
//!  ┌─────────────────────────────┐ ◄── owner word, and the thread pointer of the block
//!  │ thread control block        │ ◄── thread pointer
//!  │ static thread-locals        │
//!  │ frames of the C library's   │
//!  │ first function of a thread  │ ◄── where the block's kernel thread left
//!  │ frames of the fibre …       │
//! ```
//!
//! * `block`: a block, and the stack that it lies on; `take`: how a stack gets one.
//! * **Birth** (`birth`): the block is the C library's own work. A thread is created on the
//!   stack, and its kernel thread leaves again. What stays is a block that the C library lists
//!   among its threads, with the frames of its first function at the root of the stack.
//! * **End of a fibre** (`ending`): destructors of thread-locals and of values of keys run, as
//!   at the end of a thread, before the fibre's result can be seen. Values that a thread is
//!   born with stay with the block.
//!   `robust`: mutexes that the fibre still holds then.
//! * **Renewal** (`images`): before the next fibre begins on the stack, its static thread-locals
//!   become what they are in a new thread. Those of the C library itself stay, with the memory
//!   that they cache.
//! * **End of a block** (`birth`): a kernel thread adopts the block and returns into the first
//!   function of the C library's, which ends it like any thread. That comes before a stack goes
//!   back to the system; some stacks keep their blocks instead (`store`).
//! * `credentials`: calls that change the credentials of all threads; `thread_exit`: calls that end
//!   one from within;
//! * `layout`: what is known of the C library's blocks, and how it is found out;
//! * `checks`: what must hold before there is such a cluster; `init_error`: what does not.
//!
//! The kernel's part of a thread is not the fibre's: its number, its signal mask, its list of
//! robust mutexes, its area for restartable sequences.

mod birth;
mod block;
mod checks;
mod credentials;
mod ending;
mod images;
mod init_error;
mod layout;
mod robust;
mod store;
mod take;
mod thread_exit;

pub(in crate::stack) use birth::counts;
pub(crate) use birth::{BlockEvent, listen};
pub(crate) use block::{DEPARTED_PLACE, ThreadBlock};
pub(crate) use checks::prepare;
pub(crate) use ending::{end_of_thread, end_thread_locals, forget_values, reset_thread};
pub(crate) use images::Images;
pub(super) use store::{end_block, keep, surrender};
pub(crate) use take::as_thread;
