//! Descriptors by their numbers: what is waited for, whoever reads it, and whoever closes it.

use crate::support::{for_each_cluster, let_others_block, until_waiting};
use fibre::WaitKind;
use fibre::io::raw::{self, Call, Direction, Failure, Known, Left, Wish};
use fibre::io::{PollFd, Readiness};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::pipe::{PipeFlags, pipe_with};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Something that is asked about a descriptor for a short time.
fn soon() -> Option<Instant> {
    Some(Instant::now() + Duration::from_millis(5))
}

/// A pipe whose ends are non-blocking.
fn pipe() -> (OwnedFd, OwnedFd) {
    pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap()
}

/// A descriptor by its number.
fn borrowed(fd: RawFd) -> BorrowedFd<'static> {
    // SAFETY: a number that is not open is refused by the kernel; numbers are what is tested.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// Closes what has been made for raw calls.
fn close(fd: impl IntoRawFd) {
    close_number(fd.into_raw_fd());
}

/// Closes what has this number, and has been made for raw calls.
fn close_number(number: RawFd) {
    let by_kernel = || {
        // SAFETY: nobody else closes it.
        unsafe { rustix::io::close(number) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { raw::close(number, by_kernel) }.unwrap();
}

/// What is left unread is told of again, what has been read is not, whoever has read it.
#[test]
fn what_is_told_is_what_is_the_case() {
    for_each_cluster(|_| {
        for made in [false, true] {
            let (reader, writer) = pipe();
            if made {
                raw::made(reader.as_fd(), Known::NOTHING);
            }
            for _ in 0..3 {
                assert_eq!(
                    raw::wait(reader.as_fd(), Readiness::READ, soon()),
                    Ok(Readiness::NONE)
                );
                rustix::io::write(&writer, b"two").unwrap();
                for left in (1..=3).rev() {
                    let found = raw::wait(reader.as_fd(), Readiness::READ, None);
                    assert_eq!(found, Ok(Readiness::READ), "{left} bytes are left");
                    assert_eq!(rustix::io::read(&reader, &mut [0; 1]), Ok(1));
                }
            }
            let room = raw::wait(writer.as_fd(), Readiness::WRITE, None);
            assert_eq!(room, Ok(Readiness::WRITE));
            drop(writer);
            let end = raw::wait(reader.as_fd(), Readiness::READ, None).unwrap();
            assert!(end.contains(Readiness::HANGUP));
            close(reader);
        }
    });
}

/// All who wait for one descriptor are told, and those who ask for both directions, too.
#[test]
fn all_who_wait_are_told() {
    for_each_cluster(|_| {
        let (near, far) = UnixStream::pair().unwrap();
        let near = Arc::new(near);
        let both = Readiness::READ | Readiness::PRIORITY;
        let waiting = [Readiness::READ, both, Readiness::READ].map(|interest| {
            let near = Arc::clone(&near);
            fibre::spawn(move || raw::wait(near.as_fd(), interest, None))
        });
        let shared = Arc::clone(&near);
        let among = fibre::spawn(move || raw::poll(&mut [PollFd::new(&shared, both)], None));
        let_others_block();
        rustix::io::write(&far, b"x").unwrap();
        for one in waiting {
            assert_eq!(one.join().unwrap(), Ok(Readiness::READ));
        }
        assert_eq!(among.join().unwrap(), Ok(1));
    });
}

/// Calls and waits end when the descriptor is closed, and leave whoever gets the number alone.
#[test]
fn closing_ends_what_waits() {
    for_each_cluster(|_| {
        for made in [false, true] {
            let (near, far) = UnixStream::pair().unwrap();
            let number = near.into_raw_fd();
            if made {
                raw::made(borrowed(number), Known::SOCKET);
            }
            let wait = move || raw::wait(borrowed(number), Readiness::READ, None).map(|_| ());
            let poll = move || {
                let fd = borrowed(number);
                let mut both = [PollFd::new(&fd, Readiness::READ | Readiness::PRIORITY)];
                raw::poll(&mut both, None)
                    .map(|_| assert!(both[0].readiness() == Readiness::INVALID))
            };
            let call = move || {
                let fd = borrowed(number);
                let mut call = Call::new(fd, Direction::Read, Wish::AsDescriptor)?;
                call.run(|| Ok((recv(fd, &mut [0; 8], RecvFlags::DONTWAIT)?, Left::More)))
                    .map(|_| ())
            };
            let waits = fibre::spawn(wait);
            let polls = fibre::spawn(poll);
            let calls = fibre::spawn(call);
            // What began after the closing would be about whatever gets the number.
            let all = [waits.id(), polls.id(), calls.id()];
            until_waiting(WaitKind::Io, &all);
            close_number(number);
            let (next, mut peer) = UnixStream::pair().unwrap();
            raw::made(next.as_fd(), Known::SOCKET);
            std::io::Write::write_all(&mut peer, b"theirs").unwrap();
            let closed = Err(Failure::Errno(Errno::BADF));
            assert_eq!(waits.join().unwrap(), closed);
            assert_eq!(calls.join().unwrap(), closed);
            assert_eq!(polls.join().unwrap(), Ok(()));
            let (count, _) = recv(&next, &mut [0; 8], RecvFlags::DONTWAIT).unwrap();
            assert_eq!(count, 6);
            close(next);
            drop(far);
        }
    });
}

/// A number that was found, and has been closed unseen, is another descriptor's: it is waited for
/// nevertheless.
#[test]
fn numbers_that_change_unseen_are_waited_for() {
    for_each_cluster(|_| {
        let (reader, writer) = pipe();
        assert_eq!(
            raw::wait(reader.as_fd(), Readiness::READ, soon()),
            Ok(Readiness::NONE)
        );
        let (next, to_next) = pipe();
        let mut place = reader;
        rustix::io::dup3(&next, &mut place, rustix::io::DupFlags::CLOEXEC).unwrap();
        let number = place.as_raw_fd();
        let waits = fibre::spawn(move || raw::wait(borrowed(number), Readiness::READ, None));
        let_others_block();
        rustix::io::write(&to_next, b"x").unwrap();
        assert_eq!(waits.join().unwrap(), Ok(Readiness::READ));
        drop((place, writer));
    });
}

/// A descriptor that is non-blocking makes nobody wait, and time-outs of sockets end waits.
#[test]
fn calls_wait_as_their_descriptor_says() {
    for_each_cluster(|_| {
        let (near, _far) = UnixStream::pair().unwrap();
        let read = |wish| {
            let mut call = Call::new(near.as_fd(), Direction::Read, wish)?;
            call.run(|| Ok((recv(&near, &mut [0; 8], RecvFlags::DONTWAIT)?.0, Left::More)))
        };
        let again = Err(Failure::Errno(Errno::AGAIN));
        assert_eq!(read(Wish::Never), again);
        near.set_read_timeout(Some(Duration::from_millis(3)))
            .unwrap();
        assert_eq!(read(Wish::AsDescriptor), again);
        near.set_read_timeout(None).unwrap();
        near.set_nonblocking(true).unwrap();
        assert_eq!(read(Wish::AsDescriptor), again);
    });
}

/// A call that is made on another thread stays with the file that it began with, whatever becomes
/// of the number before that and while it lasts.
#[test]
fn calls_elsewhere_stay_with_their_file() {
    for_each_cluster(|_| {
        let (mut place, writer) = pipe();
        let (next, to_next) = pipe();
        rustix::io::write(&writer, b"ours").unwrap();
        rustix::io::write(&to_next, b"theirs").unwrap();
        let number = place.as_raw_fd();
        raw::made(place.as_fd(), Known::NOTHING);
        let mut call = Call::new(borrowed(number), Direction::Read, Wish::AsDescriptor).unwrap();
        assert_eq!(call.until_ready(Readiness::READ), Ok(()));
        let read = |fd: BorrowedFd<'_>| {
            let replace = || rustix::io::dup3(&next, &mut place, rustix::io::DupFlags::CLOEXEC);
            // SAFETY: the number stays ours, and is another file's.
            unsafe { raw::close(number, replace) }?;
            let mut byte = [0];
            rustix::io::read(fd, &mut byte).map(|_| byte[0])
        };
        assert_eq!(call.elsewhere(read), Ok(b'o'));
        raw::made(borrowed(number), Known::NOTHING);
        assert_eq!(call.elsewhere(|_| Ok(())), Err(Errno::BADF));
        close(place);
    });
}
