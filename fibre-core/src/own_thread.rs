//! Kernel threads that the runtime starts, and what they must not inherit.
//!
//! A new thread inherits the CPUs and the blocked signals of the one that starts it. The runtime's
//! threads run where they are told, or else where the program may, and hear of no asynchronous
//! signal: a handler must not run on a fibre's stack.

use crate::processor::in_fibre;
use crate::signal_mask::SignalMask;
use crate::topology::CpuSet;
use std::io;
use std::thread;

/// Starts a thread that runs on these CPUs, or else where the program may. Blocks the caller's thread
/// meanwhile.
///
/// # Errors
///
/// The kernel's; `InvalidInput` for a name that no thread can have, as it contains a zero byte.
pub fn start(
    name: String,
    cpus: Option<&CpuSet>,
    body: impl FnOnce() + Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    if name.contains('\0') {
        // std would panic, where the caller may not be able to bear that.
        let kind = io::ErrorKind::InvalidInput;
        return Err(io::Error::new(kind, "a thread's name contains a zero byte"));
    }
    let _here = Confined::new(cpus)?;
    let _quiet = SignalMask::asynchronous();
    thread::Builder::new().name(name).spawn(body)
}

/// Keeps the caller's thread to the CPUs of threads that it starts meanwhile, which
/// inherit this: so even what the C library writes for them lies in the right node.
struct Confined {
    /// What to set back.
    before: Option<CpuSet>,
}

impl Confined {
    /// Goes to these CPUs. Without any, threads started by a processor, which may be
    /// pinned, go where the program may.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    fn new(cpus: Option<&CpuSet>) -> io::Result<Self> {
        let (before, program);
        let cpus = match cpus {
            Some(cpus) => cpus,
            None if in_fibre() => {
                program = CpuSet::of_program()?;
                &program
            }
            None => return Ok(Self { before: None }),
        };
        before = CpuSet::of_thread()?;
        let pinned = cpus.confine_thread();
        pinned.map_err(|error| {
            let words = format!("processors cannot run on the CPUs {cpus}: {error}");
            io::Error::new(error.kind(), words)
        })?;
        Ok(Self {
            before: Some(before),
        })
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // It was possible before; if it no longer is, the kernel has moved us itself.
            let _ = before.confine_thread();
        }
    }
}
