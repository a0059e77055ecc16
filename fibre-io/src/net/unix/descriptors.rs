//! Descriptors that are sent along with bytes (`SCM_RIGHTS`).

use crate::funnel::Left;
use crate::net::endpoint::{Endpoint, RECEIVE, SEND};
use crate::transfer::left;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

/// The most descriptors that the kernel takes at once (`SCM_MAX_FD`).
const MOST: usize = 253;

/// The buffer space for that many.
const SPACE: usize = rustix::cmsg_space!(ScmRights(MOST));

/// The result of a receiving call, besides the descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Received {
    /// How many bytes came; 0 at the end.
    pub bytes: usize,
    /// Whether descriptors were lost, as this process may not have more.
    pub descriptors_lost: bool,
}

/// Sends bytes, and with the first of them descriptors.
pub(super) fn send(
    end: &Endpoint,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    let wrong = |what| io::Error::new(io::ErrorKind::InvalidInput, what);
    if bytes.is_empty() {
        return Err(wrong("descriptors need a byte to go with"));
    }
    let mut space = [MaybeUninit::uninit(); SPACE];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let rights = SendAncillaryMessage::ScmRights(descriptors);
    if !descriptors.is_empty() && !ancillary.push(rights) {
        return Err(wrong("more than 253 descriptors"));
    }
    end.sending(|fd| {
        let count = sendmsg(fd, &[IoSlice::new(bytes)], &mut ancillary, SEND)?;
        Ok((count, left(count, bytes.len())))
    })
}

/// Receives bytes, and descriptors, which other programs do not inherit. A read ends behind the
/// bytes that came with descriptors. Where the kernel names the sender, it also ends before another
/// sender's bytes. So a short read proves nothing.
pub(super) fn receive(
    end: &Endpoint,
    buffer: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> io::Result<Received> {
    if buffer.is_empty() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut space = [MaybeUninit::uninit(); SPACE];
    end.receiving(|fd| {
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RECEIVE | RecvFlags::CMSG_CLOEXEC;
        let got = recvmsg(fd, &mut [IoSliceMut::new(buffer)], &mut ancillary, flags)?;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                descriptors.extend(rights);
            }
        }
        let received = Received {
            bytes: got.bytes,
            descriptors_lost: got.flags.contains(ReturnFlags::CTRUNC),
        };
        Ok((received, Left::More))
    })
}
