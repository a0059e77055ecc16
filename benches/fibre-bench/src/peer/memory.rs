//! What the kernel says about this process's memory.

use std::fs::File;
use std::io::{self, Read as _};

use crate::measure;

/// Bytes of this process that are resident.
pub(crate) fn resident() -> io::Result<u64> {
    measure::resident(std::process::id())
}

/// Mappings of this process; the kernel allows 65,530 by default.
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
