//! What fibres wait on, as C programs call it: mutexes, condition variables, read-write locks,
//! semaphores, barriers, spin locks, and what happens once.
//!
//! Each function is one call of [`fibre_sync::raw`], where the semantics are, or, for objects that
//! processes share, of [`system`]; what lies in a C object is an object of that module. Where POSIX
//! leaves something open, the call does as glibc does, unless that is to hang. A null pointer for
//! an object is `EINVAL`.
//!
//! Our types have the size of the system's, and an object of ours is no larger, all zeros at first,
//! and understands the other initialisers of the system; so the system's types may be used for ours
//! (see docs/decisions/0026).
//!
//! Files:
//!
//! * `object`: from pointers of C programs to objects;
//! * `timing`: the deadlines that C programs give;
//! * `shared`: the attribute by which objects are shared between processes;
//! * `mutex`: `pthread_mutex_…`;
//! * `cond`: `pthread_cond_…`;
//! * `rwlock`: `pthread_rwlock_…`;
//! * `barrier`: `pthread_barrier_…`;
//! * `semaphore`: `sem_…`;
//! * `once`: `pthread_once`;
//! * `spin`: `pthread_spin_…`.

pub mod barrier;
pub mod cond;
pub mod mutex;
pub mod object;
pub mod once;
pub mod rwlock;
pub mod semaphore;
pub mod shared;
pub mod spin;
pub mod system;
pub mod timing;
