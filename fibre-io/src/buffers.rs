//! Buffers that connections share.
//!
//! A connection needs a buffer while it reads and parses a request, and most connections are idle
//! most of the time. So a connection should take a buffer when there is something to read
//! ([`TcpStream::read_with`](crate::net::TcpStream::read_with)), and give it back before it waits.
//! Then only buffers in use exist, and these are in the CPU's caches. For the same reason the
//! buffer that came back last is taken first.

use fibre_core::internal::ShortLock;
use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};

/// The free list gets room for twice as many buffers as there are, and at least for this many.
const LEAST_ROOM: usize = 32;

/// Buffers of one size, which are taken when they are needed and come back when they are dropped.
/// Many fibres and threads may share one.
///
/// ```
/// use fibre::BufferPool;
///
/// static POOL: BufferPool = BufferPool::new(4096, 64);
///
/// let mut buffer = POOL.take();
/// assert_eq!(buffer.len(), 4096);
/// buffer[0] = 1;
/// drop(buffer); // the next one to take a buffer gets this one, as it is
/// ```
pub struct BufferPool {
    /// The size of a buffer in bytes.
    size: usize,
    /// How many unused buffers are kept at most.
    most: usize,
    /// The unused buffers, with room for all that may come back.
    free: ShortLock<Free>,
}

/// The unused buffers.
struct Free {
    /// The buffers. The vector has room for as many as have been made, or may be kept.
    buffers: Vec<Box<[u8]>>,
    /// How many buffers there are, in use or not.
    made: usize,
}

impl BufferPool {
    /// An empty pool of buffers of `size` bytes, which keeps at most `most` unused ones. Allocates
    /// nothing.
    #[must_use]
    pub const fn new(size: usize, most: usize) -> Self {
        Self {
            size,
            most,
            free: ShortLock::new(Free {
                buffers: Vec::new(),
                made: 0,
            }),
        }
    }

    /// A buffer with unspecified contents: zeros, or an earlier user's bytes. Blocks nothing.
    #[inline]
    #[must_use]
    pub fn take(&self) -> PooledBuffer<'_> {
        let free = self.free.lock().buffers.pop();
        let bytes = free.unwrap_or_else(|| self.make());
        PooledBuffer { pool: self, bytes }
    }

    /// Makes a buffer, and room in the list for its return.
    #[cold]
    fn make(&self) -> Box<[u8]> {
        let (made, room) = {
            let mut free = self.free.lock();
            free.made += 1;
            (free.made, free.buffers.capacity())
        };
        if room < made.min(self.most) {
            // Memory is allocated and freed without the lock.
            let mut more =
                Vec::with_capacity(made.max(LEAST_ROOM).saturating_mul(2).min(self.most));
            let mut free = self.free.lock();
            if free.buffers.capacity() < more.capacity() {
                more.append(&mut free.buffers);
                mem::swap(&mut free.buffers, &mut more);
            }
            drop(free);
        }
        vec![0; self.size].into_boxed_slice()
    }

    /// Takes a buffer back.
    #[inline]
    fn give_back(&self, bytes: Box<[u8]>) {
        let mut free = self.free.lock();
        if free.buffers.len() < self.most.min(free.buffers.capacity()) {
            free.buffers.push(bytes);
        } else {
            free.made -= 1;
            drop(free);
            drop(bytes);
        }
    }
}

impl fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferPool")
            .field("size", &self.size)
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}

/// A buffer that goes back to its [`BufferPool`] when it is dropped.
///
/// ```
/// let pool = fibre::BufferPool::new(16, 1);
/// let mut buffer = pool.take();
/// buffer.fill(7);
/// assert_eq!(buffer[15], 7);
/// ```
pub struct PooledBuffer<'a> {
    /// The pool it goes back to.
    pool: &'a BufferPool,
    /// The buffer's bytes; empty only while it is being dropped.
    bytes: Box<[u8]>,
}

impl Deref for PooledBuffer<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for PooledBuffer<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl AsMut<[u8]> for PooledBuffer<'_> {
    #[inline]
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl fmt::Debug for PooledBuffer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PooledBuffer")
            .field("length", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

impl Drop for PooledBuffer<'_> {
    #[inline]
    fn drop(&mut self) {
        self.pool.give_back(mem::take(&mut self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many buffers a pool keeps.
    fn kept(pool: &BufferPool) -> usize {
        pool.free.lock().buffers.len()
    }

    #[test]
    fn the_last_one_given_back_is_the_first_one_taken() {
        let pool = BufferPool::new(8, 10);
        let (mut one, mut other) = (pool.take(), pool.take());
        one[0] = 1;
        other[0] = 2;
        drop(other);
        drop(one);
        assert_eq!(kept(&pool), 2);
        assert_eq!(pool.take()[0], 1);
    }

    #[test]
    fn no_more_are_kept_than_wanted() {
        for most in [0, 1, 3, 100] {
            let pool = BufferPool::new(8, most);
            for together in [1, 50, 200] {
                let buffers: Vec<_> = (0..together).map(|_| pool.take()).collect();
                assert_eq!(kept(&pool), 0);
                drop(buffers);
                assert!(kept(&pool) <= most, "{most}");
                assert!(kept(&pool) >= most.min(together), "{most}");
            }
        }
    }
}
