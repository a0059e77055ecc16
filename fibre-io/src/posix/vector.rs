//! Buffers of a call, perhaps with some bytes done.

use crate::posix::memory::Memory;
use crate::raw::{Call, Failure, Left};
use rustix::io::Errno;
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::slice;

/// Buffers that the kernel takes at once (`UIO_MAXIOV`).
const MOST_BUFFERS: usize = 1024;

/// The buffers of one call, with its description borrowed.
#[derive(Debug, Clone, Copy)]
pub struct Vector<'a> {
    /// The first buffer.
    start: *const libc::iovec,
    /// The number of buffers.
    count: usize,
    /// Bytes in all.
    total: usize,
    /// They are the caller's, or the program's.
    buffers: PhantomData<&'a libc::iovec>,
}

impl<'a> Vector<'a> {
    /// What the program passes.
    ///
    /// # Safety
    ///
    /// What can be read there are so many, which stay as long as this.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a wrong number; `EFAULT` if they are not there.
    #[inline]
    pub unsafe fn new<M: Memory>(start: *const libc::iovec, count: c_int) -> Result<Self, Errno> {
        let count = usize::try_from(count).map_err(|_| Errno::INVAL)?;
        if count > MOST_BUFFERS {
            return Err(Errno::INVAL);
        }
        M::readable(start, count)?;
        let mut vector = Self {
            start,
            count,
            total: 0,
            buffers: PhantomData,
        };
        let lengths = vector.slice().iter().map(|one| one.iov_len);
        vector.total = lengths.fold(0, usize::saturating_add);
        Ok(vector)
    }

    /// What a message of the program's has.
    ///
    /// # Safety
    ///
    /// What can be read there is a message, and its buffers stay as long as this.
    ///
    /// # Errors
    ///
    /// `EMSGSIZE` for a wrong number; `EFAULT` if it is not there.
    pub unsafe fn of_message<M: Memory>(message: *const libc::msghdr) -> Result<Self, Errno> {
        // SAFETY: the caller's promise.
        let message = unsafe { M::fetch(message) }?;
        let count = c_int::try_from(message.msg_iovlen).map_err(|_| Errno::MSGSIZE)?;
        // SAFETY: the caller's promise.
        match unsafe { Self::new::<M>(message.msg_iov, count) } {
            Err(Errno::INVAL) => Err(Errno::MSGSIZE),
            vector => vector,
        }
    }

    /// One buffer.
    #[inline]
    pub fn of(buffer: &'a libc::iovec) -> Self {
        Self {
            start: buffer,
            count: 1,
            total: buffer.iov_len,
            buffers: PhantomData,
        }
    }

    /// The buffers.
    #[inline]
    pub fn slice(&self) -> &[libc::iovec] {
        if self.count == 0 {
            return &[];
        }
        // SAFETY: there are so many, see `new`.
        unsafe { slice::from_raw_parts(self.start, self.count) }
    }

    /// Where they are.
    #[inline]
    pub fn start(&self) -> *const libc::iovec {
        self.start
    }

    /// How many they are.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The bytes that they have room for, or hold.
    #[inline]
    pub fn total(&self) -> usize {
        self.total
    }

    /// The only buffer, if it is one.
    #[inline]
    pub fn only(&self) -> Option<&libc::iovec> {
        match self.slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// What is left of them when so many bytes are done.
    #[cold]
    pub fn after(&self, mut done: usize) -> Vec<libc::iovec> {
        let mut rest = Vec::with_capacity(self.count);
        for one in self.slice() {
            let skipped = done.min(one.iov_len);
            done -= skipped;
            if skipped < one.iov_len {
                rest.push(libc::iovec {
                    iov_base: one.iov_base.wrapping_byte_add(skipped),
                    iov_len: one.iov_len - skipped,
                });
            }
        }
        rest
    }
}

/// A buffer of the program's.
#[inline(always)]
pub fn buffer(start: *const c_void, length: usize) -> libc::iovec {
    libc::iovec {
        iov_base: start.cast_mut(),
        iov_len: length,
    }
}

/// The buffers that [`Vector::after`] has left.
pub fn of_rest(rest: &[libc::iovec]) -> Vector<'_> {
    Vector {
        start: rest.as_ptr(),
        count: rest.len(),
        total: rest.iter().map(|one| one.iov_len).sum(),
        buffers: PhantomData,
    }
}

/// Does the rest of a call's work after `done` bytes of it, if the call waits. An error is for the
/// next call then.
#[inline]
pub fn go_on(
    call: &mut Call<'_>,
    whole: Vector<'_>,
    mut done: usize,
    mut next: impl FnMut(Vector<'_>) -> Result<(usize, Left), Errno>,
) -> Result<usize, Failure> {
    while done < whole.total() && call.waits()? {
        let rest = whole.after(done);
        match call.run(|| next(of_rest(&rest))) {
            Ok(0) | Err(_) => break,
            Ok(more) => done += more,
        }
    }
    Ok(done)
}

/// A message that has these buffers and nothing else.
pub fn message(of: Vector<'_>) -> libc::msghdr {
    libc::msghdr {
        msg_name: std::ptr::null_mut(),
        msg_namelen: 0,
        msg_iov: of.start().cast_mut(),
        msg_iovlen: of.count(),
        msg_control: std::ptr::null_mut(),
        msg_controllen: 0,
        msg_flags: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posix::memory::Trusted;

    #[test]
    fn what_is_left_begins_where_the_rest_ended() {
        let bytes = b"abcdefgh";
        let parts: Vec<_> = [(0, 3), (3, 0), (3, 5)]
            .map(|(at, length)| buffer(bytes[at..].as_ptr().cast(), length))
            .into();
        // SAFETY: there are three.
        let vector = unsafe { Vector::new::<Trusted>(parts.as_ptr(), 3) }.unwrap();
        assert_eq!(vector.total(), 8);
        for done in 0..=8 {
            let rest = vector.after(done);
            assert_eq!(of_rest(&rest).total(), 8 - done);
            if let Some(first) = rest.first() {
                assert_eq!(first.iov_base.addr(), bytes.as_ptr().addr() + done);
            }
        }
        for count in [-1, 1025] {
            // SAFETY: nothing is looked at.
            assert!(unsafe { Vector::new::<Trusted>(parts.as_ptr(), count) }.is_err());
        }
    }
}
