//! What the names of `fibre-libc` cost a plain thread, in instructions.
//!
//! This is the second part of `paths`: `names` prints its paths, and `names NAME OPERATIONS` goes
//! one so often. An operation writes a byte to a pipe and reads it again, on the main thread.
//! Nothing is said here of fibres.
//!
//! | path | by |
//! |---|---|
//! | `pipe-libc` | the C library's own functions, which the program looks up |
//! | `pipe-early` | the names, before they are installed |
//! | `pipe-names` | the names, once they are |

use std::ffi::{CStr, c_int, c_void};
use std::mem;
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use fibre_libc as _;

/// How many operations make one more or less of anything that happens once invisible.
const OPERATIONS: u64 = 100_000;

/// The paths.
const PATHS: [&str; 3] = ["pipe-libc", "pipe-early", "pipe-names"];

/// The type of `read`.
type Read = unsafe extern "C" fn(c_int, *mut c_void, usize) -> isize;

/// The type of `write`.
type Write = unsafe extern "C" fn(c_int, *const c_void, usize) -> isize;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, operations] = arguments.as_slice() else {
        ensure!(arguments.is_empty(), "usage: names [NAME OPERATIONS]");
        for path in PATHS {
            println!("{path} {OPERATIONS}");
        }
        return Ok(());
    };
    let operations = operations.parse().context("OPERATIONS is a number")?;
    // The C library does more in each call once there has been a second thread.
    let second = thread::spawn(|| ()).join();
    second.map_err(|_| anyhow!("a thread panicked"))?;
    match name.as_str() {
        "pipe-libc" => {
            let (read, write) = (next(c"read")?, next(c"write")?);
            // SAFETY: what has these names are these functions.
            let (read, write) = unsafe {
                let read = mem::transmute::<*mut c_void, Read>(read);
                (read, mem::transmute::<*mut c_void, Write>(write))
            };
            let defined = libc::read as *const () as usize;
            ensure!(read as usize != defined, "the program has no names");
            through_a_pipe(operations, read, write)
        }
        "pipe-early" => through_a_pipe(operations, libc::read, libc::write),
        "pipe-names" => {
            // SAFETY: there are no fibres.
            unsafe { fibre_libc::install() };
            through_a_pipe(operations, libc::read, libc::write)
        }
        _ => Err(anyhow!("there is no path `{name}`")),
    }
}

/// The function of this name in the C library itself, behind that of this program.
fn next(name: &CStr) -> Result<*mut c_void> {
    // SAFETY: a name.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    ensure!(!found.is_null(), "the C library has no {name:?}");
    Ok(found)
}

/// Writes a byte to a pipe and reads it again, so often.
fn through_a_pipe(operations: u64, read: Read, write: Write) -> Result<()> {
    let mut ends = [0; 2];
    // SAFETY: room for two numbers.
    ensure!(unsafe { libc::pipe(ends.as_mut_ptr()) } == 0, "no pipe");
    let [reader, writer] = ends;
    let mut byte = 0_u8;
    for _ in 0..operations {
        let place = (&raw mut byte).cast();
        // SAFETY: a byte, which both calls may use.
        let moved = unsafe { (write(writer, place, 1), read(reader, place, 1)) };
        ensure!(moved == (1, 1), "a byte was lost");
    }
    Ok(())
}
