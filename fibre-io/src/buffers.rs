//! Buffers that connections share.
//!
//! A connection needs a buffer while it reads and understands a request, and most are idle most of
//! the time. So they had better take one when there is something to read
//! ([`TcpStream::read_with`](crate::net::TcpStream::read_with)), and give it back before they
//! wait: then there are as many as are in use, and these are in the CPU's caches. What was given back last is
//! taken first, for the same reason.

use fibre_core::ShortLock;
use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};

/// Buffers of one size, which are taken when they are needed and come back when they are dropped.
/// Many fibres and threads may share one.
///
/// ```
/// use fibre_io::BufferPool;
///
/// static POOL: BufferPool = BufferPool::new(4096, 64);
///
/// let mut buffer = POOL.take();
/// assert_eq!(buffer.len(), 4096);
/// buffer[0] = 1;
/// drop(buffer); // the next one to take a buffer gets this one, as it is
/// ```
pub struct BufferPool {
    /// Bytes of a buffer.
    size: usize,
    /// Buffers that are kept at most while nobody uses them.
    most: usize,
    /// Those.
    free: ShortLock<Vec<Box<[u8]>>>,
}

impl BufferPool {
    /// An empty pool of buffers of `size` bytes, which keeps `most` of them while nobody uses
    /// them. Allocates nothing.
    #[must_use]
    pub const fn new(size: usize, most: usize) -> Self {
        Self {
            size,
            most,
            free: ShortLock::new(Vec::new()),
        }
    }

    /// A buffer with unspecified contents: zeros, or what an earlier user has left. Blocks
    /// nothing.
    #[inline]
    #[must_use]
    pub fn take(&self) -> PooledBuffer<'_> {
        let free = self.free.lock().pop();
        let bytes = free.unwrap_or_else(|| self.make());
        PooledBuffer { pool: self, bytes }
    }

    /// One more. The first time it makes room for those that come back, too.
    #[cold]
    fn make(&self) -> Box<[u8]> {
        let has_room = self.free.lock().capacity() > 0;
        if !has_room {
            let mut room = Vec::with_capacity(self.most);
            let mut free = self.free.lock();
            if free.capacity() == 0 {
                mem::swap(&mut *free, &mut room);
            }
            // What is freed is freed without the lock.
            drop(free);
        }
        vec![0; self.size].into_boxed_slice()
    }

    /// Takes one back.
    #[inline]
    fn give_back(&self, bytes: Box<[u8]>) {
        let mut free = self.free.lock();
        if free.len() < self.most {
            // There is room since the first one was made.
            free.push(bytes);
        } else {
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
/// let pool = fibre_io::BufferPool::new(16, 1);
/// let mut buffer = pool.take();
/// buffer.fill(7);
/// assert_eq!(buffer[15], 7);
/// ```
pub struct PooledBuffer<'a> {
    /// Where it goes.
    pool: &'a BufferPool,
    /// What it is; empty only while it is being dropped.
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

    /// How many a pool keeps.
    fn kept(pool: &BufferPool) -> usize {
        pool.free.lock().len()
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
