//! CPU time of a process, to the nanosecond.
//!
//! The kernel keeps a clock for every process which counts the time all its
//! threads ran, in user and kernel mode, including threads that have ended. It
//! can be read from outside. The fields in `/proc/PID/stat` come from the same
//! count but are cut to 10 ms, and the sum over `/proc/PID/task/*/schedstat`
//! loses the threads that ended, which is every connection of a server that
//! has a thread for each.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use super::Sample;

/// The CPU clock of one process.
#[derive(Clone, Copy)]
pub struct CpuClock(libc::clockid_t);

impl CpuClock {
    /// The clock of this process.
    pub fn own() -> Self {
        Self(libc::CLOCK_PROCESS_CPUTIME_ID)
    }

    /// The clock of another process.
    pub fn of(pid: u32) -> io::Result<Self> {
        let mut id = 0;
        // SAFETY: `id` is valid for writing for the duration of the call.
        let error = unsafe { libc::clock_getcpuclockid(pid.cast_signed(), &raw mut id) };
        match error {
            0 => Ok(Self(id)),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// CPU time used so far.
    pub fn read(self) -> io::Result<Duration> {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `time` is valid for writing for the duration of the call.
        if unsafe { libc::clock_gettime(self.0, &raw mut time) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Duration::new(
            time.tv_sec.cast_unsigned(),
            u32::try_from(time.tv_nsec).map_err(io::Error::other)?,
        ))
    }
}

/// A measurement that has begun.
pub struct Stopwatch {
    /// The clocks of the processes that are measured.
    clocks: Vec<CpuClock>,
    cpu: Duration,
    wall: Instant,
}

impl Stopwatch {
    /// Begins to measure this process.
    pub fn start() -> io::Result<Self> {
        Self::start_on(&[CpuClock::own()])
    }

    /// Begins to measure these processes. Their CPU times add up.
    pub fn start_on(clocks: &[CpuClock]) -> io::Result<Self> {
        Ok(Self {
            clocks: clocks.to_vec(),
            cpu: read_all(clocks)?,
            wall: Instant::now(),
        })
    }

    /// Ends, after `operations` operations.
    pub fn stop(self, operations: u64) -> io::Result<Sample> {
        let cpu = read_all(&self.clocks)? - self.cpu;
        let per_operation = |time: Duration| time.as_secs_f64() * 1e9 / operations as f64;
        Ok(Sample {
            operations,
            cpu_ns: per_operation(cpu),
            wall_ns: per_operation(self.wall.elapsed()),
            values: BTreeMap::new(),
        })
    }
}

/// CPU time that these clocks have counted together.
fn read_all(clocks: &[CpuClock]) -> io::Result<Duration> {
    clocks.iter().map(|clock| clock.read()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_clock_is_the_clock_of_the_own_pid() -> io::Result<()> {
        let before = CpuClock::own().read()?;
        let between = CpuClock::of(std::process::id())?.read()?;
        let after = CpuClock::own().read()?;
        assert!(before <= between && between <= after);
        Ok(())
    }

    #[test]
    fn several_clocks_add_up() -> io::Result<()> {
        let before = CpuClock::own().read()?;
        let twice = read_all(&[CpuClock::own(), CpuClock::own()])?;
        let after = CpuClock::own().read()?;
        assert!(2 * before <= twice && twice <= 2 * after);
        Ok(())
    }
}
