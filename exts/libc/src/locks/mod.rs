//! Locks of `pthread` and semaphores: where the threads of a program are fibres ([`threads`]), a
//! wait for one blocks the fibre.
//!
//! The C library's waits are system calls of its own, which no name leads to. But its objects know
//! their owner by the thread, and a fibre there is one. So the objects stay the C library's: a
//! fibre *tries* by its call, and waits in a table of ours, by the object's address, until somebody
//! gives the object back by one of these names. Threads of the kernel wait in the C library. Two
//! kinds of objects have no call that tries, and have our form in the C library's memory
//! (`barrier`, `once`); a condition variable's waiters wait in the table and at a word of ours.
//!
//! Objects that processes share, and robust ones and those with priorities, are the C library's in
//! all: nobody would tell us of what another process does, or the kernel.
//!
//! Files:
//!
//! * `mark`: how an object shows that it is such a one;
//! * `until`: how long a call waits;
//! * `queue`: where fibres wait;
//! * `mutex`, `cond`, `rwlock`, `semaphore`, `spin`: objects of the C library's;
//! * `barrier`, `once`: objects of ours.
//!
//! [`threads`]: crate::threads()

mod barrier;
mod cond;
mod mark;
mod mutex;
mod once;
mod queue;
mod rwlock;
mod semaphore;
mod spin;
mod until;
