//! What the kernel says about this process's memory.

use std::fs::File;
use std::io::{self, Read as _};
use std::panic::resume_unwind;
use std::thread;

use crate::measure;

/// Bytes of this process that are resident. A thread reads them: without optimisation, what reads
/// the kernel's files needs more room than some peers' coroutines have.
pub(crate) fn resident() -> io::Result<u64> {
    let read = || measure::resident(std::process::id());
    let reader = thread::Builder::new().spawn(read)?;
    reader.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Mappings of this process; the kernel allows 65,530 by default. They are counted and not read: a
/// million fibres have as many.
pub(crate) fn mappings() -> io::Result<u64> {
    let mut maps = File::open("/proc/self/maps")?;
    let mut buffer = vec![0; 64 << 10];
    let mut lines = 0;
    loop {
        let bytes = match maps.read(&mut buffer)? {
            0 => return Ok(lines),
            count => &buffer[..count],
        };
        lines += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_itself_is_mapped() -> io::Result<()> {
        assert!(mappings()? > 3);
        Ok(())
    }
}
