//! Terminals to test with.

use rustix::pty;
use std::fs::File;

/// A terminal: the end that a user would sit at, and the one that a program has.
pub fn terminal() -> (File, File) {
    let flags = pty::OpenptFlags::RDWR | pty::OpenptFlags::NOCTTY | pty::OpenptFlags::CLOEXEC;
    let master = pty::openpt(flags).unwrap();
    pty::grantpt(&master).unwrap();
    pty::unlockpt(&master).unwrap();
    let name = pty::ptsname(&master, Vec::new()).unwrap();
    let mut options = File::options();
    let program = options.read(true).write(true).open(name.to_str().unwrap());
    (File::from(master), program.unwrap())
}
