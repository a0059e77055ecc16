//! Bytes: all of them, in order, in every kind of call.

use crate::support::sockets::{
    fresh_pair_with_std, pair, pair_with_std, read_bytes, read_noise, shrink_buffers, write_noise,
};
use crate::support::{Random, eventually, for_clusters, for_each_cluster, until_waiting};
use fibre::WaitKind;
use fibre::net::{Shutdown, TcpStream};
use std::io::{BufReader, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A buffer that is counted while somebody has it.
struct Counted<'a> {
    bytes: [u8; 8],
    held: &'a AtomicUsize,
}

impl<'a> Counted<'a> {
    fn take(held: &'a AtomicUsize) -> Self {
        held.fetch_add(1, Ordering::Relaxed);
        let bytes = [0; 8];
        Self { bytes, held }
    }
}

impl AsMut<[u8]> for Counted<'_> {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.held.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A reader that waits has no buffer, and one that has read has one.
#[test]
fn a_buffer_is_taken_when_there_is_something_to_read() {
    for_each_cluster(|_| {
        let (near, mut far) = fresh_pair_with_std();
        let (held, tried) = (AtomicUsize::new(0), AtomicUsize::new(0));
        fibre::scope(|scope| {
            let reader = scope.spawn(|| {
                let take = || {
                    tried.fetch_add(1, Ordering::Relaxed);
                    Counted::take(&held)
                };
                let (buffer, length) = near.read_with(take).unwrap();
                assert_eq!(held.load(Ordering::Relaxed), 1);
                buffer.bytes[..length].to_vec()
            });
            let late = Instant::now() + Duration::from_secs(20);
            while tried.load(Ordering::Relaxed) == 0 || held.load(Ordering::Relaxed) > 0 {
                assert!(Instant::now() < late, "a buffer is held during a wait");
                fibre::yield_now();
            }
            far.write_all(b"here").unwrap();
            assert_eq!(reader.join().unwrap(), b"here");
        });
        drop(far);
        let (_, length) = near.read_with(|| Counted::take(&held)).unwrap();
        assert_eq!((length, held.load(Ordering::Relaxed)), (0, 0));
    });
}

/// One whose buffer cannot be had, after an event has woken it, leaves the event to the next one.
#[test]
fn buffers_that_cannot_be_had() {
    for_each_cluster(|_| {
        let (near, mut far) = pair();
        let near = Arc::new(near);
        let error = near.read_with(|| [0; 0]).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let readers = [true, false].map(|panics| {
            let near = Arc::clone(&near);
            let waits = Arc::new(AtomicUsize::new(0));
            let tries = Arc::clone(&waits);
            let reader = fibre::spawn(move || {
                let take = || {
                    let tried = tries.fetch_add(1, Ordering::Relaxed) > 0;
                    if panics && tried {
                        resume_unwind(Box::new("no buffer"));
                    }
                    [0_u8; 8]
                };
                near.read_with(take).map(|(_, length)| length)
            });
            // The second one knows that there is nothing.
            eventually(|| !panics || waits.load(Ordering::Relaxed) > 0);
            until_waiting(WaitKind::Io, &[reader.id()]);
            reader
        });
        far.write_all(b"x").unwrap();
        let [first, second] = readers;
        assert!(first.join().is_err());
        assert_eq!(second.join().unwrap().unwrap(), 1);
    });
}

/// Both directions at once carry megabytes in pieces of random sizes.
#[test]
fn megabytes_in_both_directions() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        const LENGTH: usize = 2 << 20;
        let mut random = Random::new(seed);
        let (left, right) = pair();
        let ends = [Arc::new(left), Arc::new(right)];
        let mut fibres = Vec::new();
        for me in [0, 1] {
            let (end, sizes) = (Arc::clone(&ends[me]), random.split());
            fibres.push(fibre::spawn(move || {
                write_noise(&*end, seed + me as u64, LENGTH, sizes);
                end.shutdown(Shutdown::Write).unwrap();
            }));
            let (end, sizes) = (Arc::clone(&ends[1 - me]), random.split());
            let from = seed + me as u64;
            fibres.push(fibre::spawn(move || {
                read_noise(&*end, from, LENGTH, sizes);
            }));
        }
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    });
}

/// The same with the smallest buffers, where nearly every call is cut short or has to wait.
#[test]
fn small_buffers_cut_everything_short() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        const LENGTH: usize = 256 << 10;
        let mut random = Random::new(seed);
        let (left, right) = pair();
        shrink_buffers(&left);
        shrink_buffers(&right);
        let sizes = random.split();
        let writer = fibre::spawn(move || {
            left.set_nodelay(true).unwrap();
            write_noise(&left, seed, LENGTH, sizes);
        });
        read_noise(&right, seed, LENGTH, random.split());
        writer.join().unwrap();
    });
}

/// Ten megabytes, where a third of the reads and writes take one byte, one megabyte in reads of
/// nothing but one byte, and ten (with debug assertions, one) in buffered reads of one byte, arrive
/// whole.
#[test]
fn ten_megabytes_in_crumbs() {
    let seed = Random::seed();
    for_clusters(&[2], move |_| {
        const LENGTH: usize = 10 << 20;
        const UNBUFFERED: usize = LENGTH / 10;
        let mut random = Random::new(seed);
        let (left, right) = pair();
        let (writing, reading) = (random.split(), random.split());
        let writer = fibre::spawn(move || {
            write_noise(Crumbs(&left, writing.clone()), seed, LENGTH, writing);
            left.shutdown(Shutdown::Write).unwrap();
            left
        });
        read_noise(Crumbs(&right, reading.clone()), seed, LENGTH, reading);
        let left = writer.join().unwrap();

        let sizes = random.split();
        let buffered = if cfg!(debug_assertions) {
            LENGTH / 10
        } else {
            LENGTH
        };
        let writer = fibre::spawn(move || {
            write_noise(&right, seed, UNBUFFERED, sizes.clone());
            write_noise(&right, seed, buffered, sizes);
        });
        read_bytes(&left, seed, UNBUFFERED);
        read_bytes(BufReader::new(&left), seed, buffered);
        writer.join().unwrap();
    });
}

/// A stream whose calls are about one byte in a third of all cases, and about up to some thousands
/// in the others.
struct Crumbs<'a>(&'a TcpStream, Random);

impl Crumbs<'_> {
    /// How many of `wanted` bytes the next call is about.
    fn cut(&mut self, wanted: usize) -> usize {
        let most = if self.1.one_in(3) { 1 } else { 5000 };
        wanted.min(most)
    }
}

impl Read for Crumbs<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let size = self.cut(buffer.len());
        self.0.read(&mut buffer[..size])
    }
}

impl Write for Crumbs<'_> {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        let size = self.cut(buffer.len());
        self.0.write(&buffer[..size])
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A plain thread with a blocking socket is at the other end, and is slow or fast.
#[test]
fn plain_threads_at_the_other_end() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        const LENGTH: usize = 1 << 20;
        let mut random = Random::new(seed);
        let (near, mut far) = pair_with_std();
        let near = Arc::new(near);
        let sizes = [random.split(), random.split()];
        let thread = thread::spawn(move || {
            let [read, write] = sizes;
            read_noise(far.try_clone().unwrap(), seed, LENGTH, read);
            write_noise(&mut far, seed + 1, LENGTH, write);
        });
        write_noise(&*near, seed, LENGTH, random.split());
        near.shutdown(Shutdown::Write).unwrap();
        read_noise(&*near, seed + 1, LENGTH, random.split());
        fibre::blocking(|| thread.join()).unwrap();
    });
}

/// Vectored calls fill and empty their buffers in order.
#[test]
fn vectored_calls() {
    for_each_cluster(|_| {
        let (mut left, mut right) = pair();
        for _ in 0..50 {
            let pieces = [&b"a"[..], b"", b"bcd", b"ef"].map(IoSlice::new);
            assert_eq!(left.write_vectored(&pieces).unwrap(), 6);
            let (mut first, mut second) = ([0; 4], [0; 16]);
            let mut room = [&mut first[..], &mut [], &mut second[..]].map(IoSliceMut::new);
            assert_eq!(right.read_vectored(&mut room).unwrap(), 6);
            assert_eq!((&first, &second[..2]), (b"abcd", &b"ef"[..]));
        }
        let reader = fibre::spawn(move || {
            let mut all = Vec::new();
            right.read_to_end(&mut all).unwrap();
            all
        });
        let block = vec![7; 100_000];
        let mut written = 0;
        while written < 3 << 20 {
            let pieces = [IoSlice::new(&block), IoSlice::new(&block)];
            written += left.write_vectored(&pieces).unwrap();
        }
        drop(left);
        let all = reader.join().unwrap();
        assert_eq!(all.len(), written);
        assert!(all.iter().all(|byte| *byte == 7));
    });
}

/// Peeking waits as reading does, takes nothing, and sees the end.
#[test]
fn peek_takes_nothing() {
    for_each_cluster(|_| {
        let (mut left, mut right) = pair();
        let peeking = fibre::spawn(move || {
            let mut buffer = [0; 8];
            for _ in 0..3 {
                assert_eq!(right.peek(&mut buffer[..2]).unwrap(), 2);
                assert_eq!(&buffer[..2], b"pe");
            }
            assert_eq!(right.read(&mut buffer).unwrap(), 4);
            assert_eq!(&buffer[..4], b"peek");
            assert_eq!(right.peek(&mut buffer).unwrap(), 0);
            assert_eq!(right.read(&mut buffer).unwrap(), 0);
        });
        crate::support::let_others_block();
        left.write_all(b"peek").unwrap();
        fibre::sleep(std::time::Duration::from_millis(2));
        drop(left);
        peeking.join().unwrap();
    });
}

/// Empty buffers return at once, and lose nothing.
#[test]
fn empty_buffers_do_not_wait() {
    for_each_cluster(|_| {
        let (mut left, mut right) = pair();
        let nothing: &mut [u8] = &mut [];
        left.write_all(b"there").unwrap();
        let mut text = [0; 5];
        for _ in 0..3 {
            assert_eq!(left.write(&[]).unwrap(), 0);
            assert_eq!(right.peek(nothing).unwrap(), 0);
            assert_eq!(right.read(nothing).unwrap(), 0);
        }
        right.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"there");
    });
}

/// Reads that fit exactly, that fall short by one and that ask for one more: all see the
/// next message.
#[test]
fn reads_around_the_exact_size() {
    for_each_cluster(|_| {
        let (left, mut right) = pair();
        let echo = fibre::spawn(move || {
            for round in 0..300_usize {
                let size = 10 + round % 3 - 1;
                let mut buffer = vec![0; size];
                let mut left_over = 10;
                while left_over > 0 {
                    left_over -= right.read(&mut buffer).unwrap().min(left_over);
                }
                right.write_all(b"ok").unwrap();
            }
        });
        for _ in 0..300 {
            (&left).write_all(&[1; 10]).unwrap();
            let mut answer = [0; 2];
            (&left).read_exact(&mut answer).unwrap();
        }
        echo.join().unwrap();
    });
}
