//! What lies below fibres: kernel threads, the process, and messages on standard error.
//!
//! * `platform`: a compile error on platforms that the runtime does not support;
//! * `counted`: counts that end the process rather than wrap;
//! * `current`: the only thread-locals; which processor this thread is;
//! * `panic_count`: std's per-thread panic count, which a fibre takes along;
//! * `numbers`: numbers of fibres and threads, each used once;
//! * `signal_mask`: the signals that a thread blocks;
//! * `environment`: environment variables, unless somebody with fewer rights has set them;
//! * `fork`: the runtime is dead in a forked child, and says so;
//! * `modules`: the program, and the libraries that are loaded;
//! * `plain_thread`: the runtime's own calls of the C library are the system's;
//! * `stderr`: one line on standard error;
//! * `syscall`: a system call by instruction;
//! * `unusual`: whether ends of fibres are unusual.

pub(crate) mod counted;
pub(crate) mod current;
pub(crate) mod environment;
pub(crate) mod fork;
pub(crate) mod modules;
pub(crate) mod numbers;
pub(crate) mod panic_count;
pub(crate) mod plain_thread;
mod platform;
pub(crate) mod signal_mask;
pub(crate) mod stderr;
pub(crate) mod syscall;
pub(crate) mod unusual;
