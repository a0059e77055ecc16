//! The runtime's own calls of the C library: they are the system's, whoever defines their names.
//!
//! The crate `fibre-libc` lets calls block a fibre instead of its kernel thread, and lets
//! `pthread_create` make a fibre. The runtime must not meet that in its own calls: it looks at its
//! processor while it takes a lock, and its threads are kernel threads. A mark of the thread says
//! so. A fibre that shares its kernel thread's thread-locals never waits for the runtime's locks by
//! a fibre's means; one with its own ones has a mark of its own. Nothing leaves a stack meanwhile.

use super::current;

/// While it lives, the calling thread's calls are plain: those of the fibre, if it has
/// thread-locals of its own.
///
/// ```
/// let _plain = fibre_core::internal::PlainThread::begin();
/// // A kernel thread, also in a program whose threads are fibres.
/// std::thread::spawn(|| ()).join().unwrap();
/// ```
#[derive(Debug)]
pub struct PlainThread(bool);

impl PlainThread {
    /// Begins such a stretch. They nest.
    #[must_use]
    pub fn begin() -> Self {
        Self(current::set_plain(true))
    }
}

impl Drop for PlainThread {
    fn drop(&mut self) {
        current::set_plain(self.0);
    }
}
