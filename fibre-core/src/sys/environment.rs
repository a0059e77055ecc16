//! The environment. A program with more rights than its caller ignores all of it.
//!
//! Somebody with fewer rights starts a set-user-ID or set-group-ID program, or a program with file
//! capabilities, and chooses its environment. The runtime's variables name files to write and ports
//! to open. The kernel marks such a program with `AT_SECURE`. The environment is then empty for
//! this module, as for the C library's `secure_getenv`.

use std::ffi::{OsStr, OsString};

/// Whether the environment is that of somebody with fewer rights than the program.
pub(crate) fn is_foreign() -> bool {
    // SAFETY: reads what the kernel has handed to the process.
    (unsafe { libc::getauxval(libc::AT_SECURE) }) != 0
}

/// The value of an environment variable, if it is set and counts.
#[must_use]
pub fn environment_variable(name: impl AsRef<OsStr>) -> Option<OsString> {
    (!is_foreign()).then(|| std::env::var_os(name))?
}

/// All environment variables that count.
pub(crate) fn all() -> impl Iterator<Item = (OsString, OsString)> {
    (!is_foreign())
        .then(std::env::vars_os)
        .into_iter()
        .flatten()
}
