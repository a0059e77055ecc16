//! Reads of files that wait for the disk, on one ring for the whole process.
//!
//! A read of what is not in the page cache waits. A thread of the pool (`fibre::blocking`) makes it
//! at the cost of two switches of threads, and of the thread. When many wait at once, an io_uring
//! instance is cheaper: its one thread hands many reads to the kernel by one call, and learns of
//! many ends by one (docs/decisions/0126 has the figures). So a read that finds seven others
//! waiting goes there. One alone is cheaper, and sooner back, by the pool.
//!
//! * `inbox` is how requests come to the thread, and how that thread comes and goes;
//! * `waiting_read` decides where a read is made;
//! * `thread` is the thread, the only one that uses the ring. So no processor is interrupted by the
//!   kernel's work for a read, and no read is lost with the thread that has submitted it.
//!
//! A request lies in the frame of its fibre, which waits until the kernel is done with it, whatever
//! happens meanwhile: so buffers may be borrowed.
//!
//! Only reads at an offset go there: the kernel does not keep two reads at the file's position
//! apart on a ring. What the ring cannot do, the pool does: where the kernel or a sandbox refuses a
//! ring, where a read on it fails, and in forked children.

pub mod inbox;
#[cfg(not(loom))]
mod thread;
#[cfg(not(loom))]
mod waiting_read;

#[cfg(not(loom))]
pub(crate) use self::waiting_read::WaitingRead;
