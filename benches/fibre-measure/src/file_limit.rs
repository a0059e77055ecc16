//! How many files a process may open.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lets this process open as many files as it may; as many as the kernel can,
/// where it has the privilege.
///
/// # Errors
///
/// Whatever `setrlimit` returns.
pub fn raise_file_limit() -> io::Result<()> {
    const KERNEL_DEFAULT: u64 = 1 << 20; // fs.nr_open
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map(|maximum| maximum.max(KERNEL_DEFAULT));
    let both = |value| Rlimit {
        current: value,
        maximum: value,
    };
    if setrlimit(Resource::Nofile, both(most)).is_ok() {
        return Ok(());
    }
    Ok(setrlimit(Resource::Nofile, both(limit.maximum))?)
}
