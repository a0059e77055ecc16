//! What the kernel says about this process's memory.

use std::fs::{self, File};
use std::io::{self, Read as _};

/// Bytes of this process that are resident.
pub(crate) fn resident() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/self/statm")?;
    let pages = text.split_whitespace().nth(1).map(str::parse::<u64>);
    match pages {
        Some(Ok(pages)) => Ok(pages * page_size()?),
        _ => Err(io::Error::other(format!(
            "/proc/self/statm says {text:?}: no resident pages"
        ))),
    }
}

/// Mappings of this process, of which the kernel allows 65,530 by default.
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

/// Bytes of a page.
fn page_size() -> io::Result<u64> {
    // SAFETY: no memory is passed.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_written_becomes_resident() -> io::Result<()> {
        const BYTES: usize = 64 << 20;
        let before = resident()?;
        let written = std::hint::black_box(vec![1_u8; BYTES]);
        assert!(resident()? > before + BYTES as u64 / 2);
        drop(written);
        Ok(())
    }

    #[test]
    fn the_program_itself_is_mapped() -> io::Result<()> {
        assert!(mappings()? > 3);
        Ok(())
    }
}
