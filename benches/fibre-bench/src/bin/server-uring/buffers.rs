//! Buffers that the kernel takes when something has come, and gets back once it has been read.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU16, Ordering};
use std::{io, slice};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

/// How many there are; a power of two. A turn rarely takes more messages.
const COUNT: u16 = 256;

/// A ring of free buffers, shared with the kernel, for as long as the process lasts.
pub(crate) struct Buffers {
    /// The ring.
    ring: NonNull<BufRingEntry>,
    /// The buffers, one after the other.
    memory: NonNull<u8>,
    /// Bytes of each.
    size: usize,
    /// How many were put into the ring so far.
    tail: u16,
}

impl Buffers {
    /// What orders call them.
    pub(crate) const GROUP: u16 = 0;

    /// Makes them known to the kernel.
    pub(crate) fn register(submitter: &Submitter<'_>, size: usize) -> io::Result<Self> {
        let length = usize::from(COUNT) * size_of::<BufRingEntry>();
        let (access, kind) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new mapping; nobody unmaps it.
        let ring = unsafe { mmap_anonymous(ptr::null_mut(), length, access, kind)? };
        let ring = NonNull::new(ring.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: the mapping is page-aligned, zeroed and stays.
        unsafe {
            submitter.register_buf_ring_with_flags(ring.as_ptr() as u64, COUNT, Self::GROUP, 0)?
        };
        let memory = Box::leak(vec![0; usize::from(COUNT) * size].into_boxed_slice());
        let mut buffers = Self {
            ring,
            memory: NonNull::from(memory).cast(),
            size,
            tail: 0,
        };
        (0..COUNT).for_each(|id| buffers.give_back(id));
        Ok(buffers)
    }

    /// The first bytes of a buffer.
    ///
    /// # Safety
    ///
    /// The kernel has filled so many, and has not been given the buffer back.
    pub(crate) unsafe fn get(&self, id: u16, length: usize) -> &[u8] {
        // SAFETY: the bytes lie within the buffer, and are ours as the caller says.
        unsafe { slice::from_raw_parts(self.start(id).as_ptr(), length) }
    }

    /// Where a buffer begins.
    fn start(&self, id: u16) -> NonNull<u8> {
        assert!(id < COUNT, "the kernel knows no other buffers");
        // SAFETY: there are so many buffers of this size.
        unsafe { self.memory.add(usize::from(id) * self.size) }
    }

    /// Lets the kernel fill a buffer again.
    pub(crate) fn give_back(&mut self, id: u16) {
        let place = usize::from(self.tail % COUNT);
        let start = self.start(id);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the place is within the ring, and the kernel does not read it before the tail
        // says so; the tail is a field of the first entry, which others leave alone.
        unsafe {
            let entry = &mut *self.ring.as_ptr().add(place);
            entry.set_addr(start.as_ptr() as u64);
            entry.set_len(self.size as u32);
            entry.set_bid(id);
            let tail = BufRingEntry::tail(self.ring.as_ptr()).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }
}
