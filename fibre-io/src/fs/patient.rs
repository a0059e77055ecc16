//! Calls that wait for somebody who may have to make another such call before: for the end of a file's lock, for
//! the other end of a named pipe.
//!
//! If they had the threads of [`blocking`], as many of them as there are threads would keep those from
//! working whom they wait for. So they have threads of their own, as many as there are calls.

use fibre_core::{BlockingPool, blocking, in_fibre};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::LazyLock;

/// See the module text.
pub static PATIENT: LazyLock<BlockingPool> = LazyLock::new(|| {
    let builder = BlockingPool::builder().threads(usize::MAX);
    builder.name("fibre-wait").build()
});

/// Opens a file on another thread. One that is a named pipe is opened when its other end is.
pub fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    if !in_fibre() {
        return options.open(path);
    }
    // Looking first costs a tenth of the way there and back.
    let at_once = blocking(|| (!is_named_pipe(path)).then(|| options.open(path)));
    at_once.unwrap_or_else(|| PATIENT.run(|| options.open(path)))
}

/// Whether it is a pipe that has a name.
fn is_named_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.file_type().is_fifo())
}
