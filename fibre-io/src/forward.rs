//! Reading and writing through a value, as through a reference to it.
//!
//! Objects of this crate are read and written through shared references, so that several fibres may
//! use one. These macros do the same for the value itself. So a call is written once, in
//! `impl Read for &T` and `impl Write for &T`, beside the type.

/// `impl Read for T` by `impl Read for &T`.
macro_rules! reads_as_reference {
    ($reader:ty $(where [$($generics:tt)*] $($bounds:tt)*)?) => {
        impl $(<$($generics)*>)? std::io::Read for $reader $(where $($bounds)*)? {
            #[inline]
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                (&*self).read(buffer)
            }

            fn read_vectored(
                &mut self,
                buffers: &mut [std::io::IoSliceMut<'_>],
            ) -> std::io::Result<usize> {
                (&*self).read_vectored(buffers)
            }

            fn read_to_end(&mut self, buffer: &mut Vec<u8>) -> std::io::Result<usize> {
                (&*self).read_to_end(buffer)
            }

            fn read_to_string(&mut self, buffer: &mut String) -> std::io::Result<usize> {
                (&*self).read_to_string(buffer)
            }
        }
    };
}

/// `impl Write for T` by `impl Write for &T`.
macro_rules! writes_as_reference {
    ($writer:ty $(where [$($generics:tt)*] $($bounds:tt)*)?) => {
        impl $(<$($generics)*>)? std::io::Write for $writer $(where $($bounds)*)? {
            #[inline]
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                (&*self).write(bytes)
            }

            fn write_vectored(
                &mut self,
                buffers: &[std::io::IoSlice<'_>],
            ) -> std::io::Result<usize> {
                (&*self).write_vectored(buffers)
            }

            #[inline]
            fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
                (&*self).write_all(bytes)
            }

            fn write_fmt(&mut self, words: std::fmt::Arguments<'_>) -> std::io::Result<()> {
                (&*self).write_fmt(words)
            }

            #[inline]
            fn flush(&mut self) -> std::io::Result<()> {
                (&*self).flush()
            }
        }
    };
}

pub(crate) use {reads_as_reference, writes_as_reference};
