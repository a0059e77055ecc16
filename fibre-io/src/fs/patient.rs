//! Calls that wait for another caller, who may first have to make such a call itself: for a file's
//! lock, for the other end of a named pipe, or for bytes through it.
//!
//! If such calls took all threads of [`blocking`], they would block the very calls that they wait
//! for. So they have threads of their own, as many as there are calls.

use fibre_core::{BlockingPool, blocking, in_fibre};
use rustix::fs::tell;
use rustix::io::Errno;
use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

/// The threads of calls that wait for other callers.
pub(crate) static PATIENT: LazyLock<BlockingPool> = LazyLock::new(|| {
    let builder = BlockingPool::builder().threads(usize::MAX);
    builder.name("fibre-wait").build()
});

/// Makes a call on another thread that opens what is at a path. A named pipe is opened when its
/// other end is.
pub(super) fn at<R: Send>(path: &Path, call: impl Fn() -> R + Sync) -> R {
    if !in_fibre() {
        return call();
    }
    // Looking first costs a tenth of the way there and back.
    let at_once = blocking(|| (!is_named_pipe(path)).then(&call));
    at_once.unwrap_or_else(|| PATIENT.run(&call))
}

/// What calls that use an open file's position may wait for.
///
/// The kernel is asked once, before there are such calls: it answers under the lock that they hold
/// while they wait.
#[derive(Debug, Default, Clone)]
pub(super) struct Kind(OnceLock<bool>);

impl Kind {
    /// Whether they may wait for what somebody else writes or reads: what has no position is a pipe
    /// or a terminal.
    pub(super) fn has_others(&self, file: &File) -> bool {
        *self.0.get_or_init(|| tell(file) == Err(Errno::SPIPE))
    }

    /// Makes such a call on another thread.
    pub(super) fn call<R: Send>(&self, file: &File, call: impl FnOnce() -> R + Send) -> R {
        if self.has_others(file) {
            PATIENT.run(call)
        } else {
            blocking(call)
        }
    }
}

/// Whether it is a pipe that has a name.
fn is_named_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.file_type().is_fifo())
}
