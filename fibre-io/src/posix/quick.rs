//! Quick calls on files, made on the fibre's processor.
//!
//! A write into the page cache takes a microsecond or two, and the way to another thread and back
//! costs several times that. But no common file system says in advance whether a write will wait
//! for the disk (ext4 supports `RWF_NOWAIT` for reads only). So a call is made in place, and timed,
//! if the last ones on its descriptor were quick. After a slow call the descriptor's calls go to
//! the pool for a while: 2 ms, and twice as long after each further slow one, up to a second.
//!
//! A call that turns out to wait blocks its processor. So only clusters that move started fibres,
//! and that may have spare processors, make calls in place: there others take over the blocked
//! processor's fibres. And they do so only on file systems on disks and in memory, where a wait
//! ends: a lost server, another program's file system, or a kernel object that only looks like a
//! file may never answer. There are never more such calls than the cluster has processors.
//!
//! The knowledge about a descriptor lies in a table by its number, which others may share: it is a
//! hint. So all accesses are relaxed.

use crate::posix::syscall::Syscall;
use crate::transfer::storage::is_local;
use fibre_core::internal::sharing_processors;
use rustix::io::Errno;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The most bytes that are copied in place: some 10 µs of copying.
const MOST: usize = 64 << 10;

/// A call that takes longer has waited. What preempts a thread may make it so, too.
const SLOW: Duration = Duration::from_micros(200);

/// How long a descriptor's calls go elsewhere after the first slow one, in milliseconds.
const PAUSE: u64 = 2;

/// By how many powers of two that grows.
const GROWTH: u64 = 9;

/// How many descriptors have a place of their own in the table.
const PLACES: usize = 1024;

/// The calls that are being made in place.
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// What is known of descriptors.
static PAUSES: [Pause; PLACES] = [const { Pause(AtomicU64::new(0)) }; PLACES];

/// Until when a descriptor's calls go elsewhere, in milliseconds since the first call of all, and
/// in the lowest four bits how many slow ones there were in a row.
struct Pause(AtomicU64);

/// A call while it is being made, and where it is counted.
struct UnderWay<'a>(&'a AtomicUsize);

impl<'a> UnderWay<'a> {
    /// Counts a call, unless there are as many as `most`.
    fn begin(count: &'a AtomicUsize, most: usize) -> Option<Self> {
        let counted = Self(count);
        (count.fetch_add(1, Ordering::Relaxed) < most).then_some(counted)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pause {
    /// That of a descriptor.
    fn of(fd: RawFd) -> &'static Self {
        &PAUSES[fd.unsigned_abs() as usize % PLACES]
    }

    /// Whether calls go elsewhere now.
    fn lasts(&self, now: u64) -> bool {
        now < self.0.load(Ordering::Relaxed) >> 4
    }

    /// Records how long a call has taken that has ended now.
    fn note(&self, taken: Duration, now: u64) {
        let before = self.0.load(Ordering::Relaxed);
        let after = if taken <= SLOW {
            0
        } else {
            let slow = before & 15;
            ((now + (PAUSE << slow)) << 4) | (slow + 1).min(GROWTH)
        };
        if before != after {
            self.0.store(after, Ordering::Relaxed);
        }
    }
}

/// Makes a call on a file here, if it can be expected to be quick; it moves so many bytes. `None`:
/// it has to be made elsewhere. May block the processor for as long as the call waits.
pub fn make_here(fd: BorrowedFd<'_>, bytes: usize, call: Syscall) -> Option<Result<usize, Errno>> {
    if bytes > MOST {
        return None;
    }
    let most = sharing_processors()?;
    let (pause, begun) = (Pause::of(fd.as_raw_fd()), Instant::now());
    if pause.lasts(milliseconds(begun)) || !is_local(fd) {
        return None;
    }
    let counted = UnderWay::begin(&UNDER_WAY, most)?;
    let done = call.endure();
    drop(counted);
    let ended = Instant::now();
    pause.note(ended - begun, milliseconds(ended));
    Some(done)
}

/// A moment as pauses have it.
fn milliseconds(moment: Instant) -> u64 {
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    // 584 million years fit.
    moment.saturating_duration_since(*FIRST).as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posix::switching::Switching;
    use crate::posix::syscall::syscall;
    use fibre_core::Cluster;
    use std::fs::File;

    #[test]
    fn slow_calls_send_others_away_for_ever_longer() {
        let pause = Pause(AtomicU64::new(0));
        assert!(!pause.lasts(0));
        let mut now = 5;
        let mut lengths = Vec::new();
        for _ in 0..12 {
            pause.note(SLOW * 2, now);
            let length = (1..).find(|&length| !pause.lasts(now + length)).unwrap();
            lengths.push(length);
            now += length;
        }
        assert_eq!(lengths[..4], [2, 4, 8, 16]);
        assert_eq!(lengths[9..], [1024, 1024, 1024]);
        pause.note(SLOW, now);
        assert!(!pause.lasts(now));
        pause.note(SLOW * 2, now);
        assert!(pause.lasts(now + 1) && !pause.lasts(now + 2));
    }

    /// How many of a fibre's calls on a file are made on its own thread, in a cluster that moves
    /// started fibres, or not. The calls ask for the thread's number.
    fn made_in_place(moves: bool) -> usize {
        let builder = Cluster::builder().processors(1);
        let builder = match moves {
            // SAFETY: the fibre below keeps nothing that belongs to a kernel thread.
            true => unsafe { builder.move_started_fibres() },
            false => builder,
        };
        let cluster = builder.build().unwrap();
        let fibre = cluster.spawn(|| {
            // In memory, wherever the tests run.
            let place = File::open("/dev/shm").unwrap();
            let ask = || syscall!(SYS_gettid);
            let made_here = |_: &i32| {
                let on = Switching::Freely.make_on_file(place.as_raw_fd(), 4096, ask());
                on.unwrap() == ask().here().unwrap()
            };
            (0..500).filter(made_here).count()
        });
        let made = fibre.join().unwrap();
        cluster.stop();
        made
    }

    #[test]
    fn calls_are_made_in_place_where_started_fibres_move() {
        assert!(made_in_place(true) > 0);
        assert_eq!(made_in_place(false), 0);
    }

    #[test]
    fn no_more_calls_are_made_than_there_may_be() {
        let count = AtomicUsize::new(0);
        let begin = || UnderWay::begin(&count, 2);
        let (first, second) = (begin(), begin());
        assert!(first.is_some() && second.is_some());
        assert!(begin().is_none());
        drop(first);
        assert!(begin().is_some());
    }
}
