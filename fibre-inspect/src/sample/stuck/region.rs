//! Lists in mappings of their own: they take nothing from the allocator, and a search of memory can
//! leave them out.

use fibre_core::internal::page_size;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::ptr;

/// A list with a fixed capacity. Its memory is taken page by page, as the list grows.
#[derive(Debug)]
pub(super) struct Region<T> {
    /// Where it lies.
    start: *mut T,
    length: usize,
    capacity: usize,
    _items: PhantomData<T>,
}

// SAFETY: it owns its items.
unsafe impl<T: Send> Send for Region<T> {}

impl<T: Copy> Region<T> {
    /// An empty list with room for so many items. `None`: there are not so many addresses.
    pub(super) fn new(capacity: usize) -> Option<Self> {
        Self::map(capacity, libc::MAP_PRIVATE)
    }

    /// [`new`](Self::new), for a list that a copy of the process shares.
    pub(super) fn shared(capacity: usize) -> Option<Self> {
        Self::map(capacity, libc::MAP_SHARED)
    }

    fn map(capacity: usize, kind: i32) -> Option<Self> {
        let bytes = capacity.max(1).checked_mul(size_of::<T>())?;
        let flags = kind | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
        (start != libc::MAP_FAILED).then_some(Self {
            start: start.cast(),
            length: 0,
            capacity,
            _items: PhantomData,
        })
    }

    /// Adds an item. `false`: it is full.
    #[must_use]
    pub(super) fn push(&mut self, item: T) -> bool {
        let fits = self.length < self.capacity;
        if fits {
            // SAFETY: within the mapping.
            unsafe { self.start.add(self.length).write(item) };
            self.length += 1;
        }
        fits
    }

    /// Takes the last item out.
    pub(super) fn pop(&mut self) -> Option<T> {
        self.length = self.length.checked_sub(1)?;
        // SAFETY: an item has been written there.
        Some(unsafe { self.start.add(self.length).read() })
    }

    /// Makes it as long as it can be. Its items are all zeros, where none has been written.
    ///
    /// # Safety
    ///
    /// All zeros are an item.
    pub(super) unsafe fn fill(&mut self) {
        self.length = self.capacity;
    }

    /// The addresses of its mapping, the pages around it included.
    pub(super) fn addresses(&self) -> Range<usize> {
        let from = self.start.addr();
        from..from + (self.capacity.max(1) * size_of::<T>()).next_multiple_of(page_size())
    }
}

impl<T> Deref for Region<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: so many items have been written, or are zeros that count as such.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

impl<T> DerefMut for Region<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }
}

impl<T> Drop for Region<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping of `map`, which nobody refers to any more.
        unsafe { libc::munmap(self.start.cast(), self.capacity.max(1) * size_of::<T>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_as_much_as_it_has_room_for() {
        let mut region = Region::new(3).unwrap();
        assert!([5, 6, 7].into_iter().all(|item| region.push(item)));
        assert!(!region.push(8));
        assert_eq!(region[..], [5, 6, 7]);
        assert!(region.addresses().contains(&(&raw const region[2]).addr()));
        assert_eq!(
            (region.pop(), region.pop(), region.len()),
            (Some(7), Some(6), 1)
        );
        // SAFETY: numbers.
        unsafe { region.fill() };
        assert_eq!(region.len(), 3);
        assert!(Region::<u64>::new(usize::MAX).is_none());
    }
}
