//! What a call's flags and amounts say.

use crate::raw::{Left, Wish};
use std::ffi::c_int;

/// What looks elsewhere than among the bytes and messages that a socket's readiness is about, and
/// never waits.
pub const ASIDE: c_int = libc::MSG_ERRQUEUE | libc::MSG_OOB;

/// Whether a call that sends with these flags waits.
pub fn wish_to_send(flags: c_int) -> Wish {
    if flags & libc::MSG_DONTWAIT == 0 {
        Wish::AsDescriptor
    } else {
        Wish::Never
    }
}

/// Whether a call that receives with these flags waits.
pub fn wish_to_receive(flags: c_int) -> Wish {
    if flags & ASIDE == 0 {
        wish_to_send(flags)
    } else {
        Wish::Never
    }
}

/// What receiving this much of the available room says about the remaining data.
#[inline]
pub fn left(drains: bool, received: usize, room: usize) -> Left {
    if drains && received > 0 && received < room {
        Left::Nothing
    } else {
        Left::More
    }
}

/// What sending this much says about the room that is left.
#[inline]
pub fn room(sent: usize, wanted: usize) -> Left {
    if sent < wanted {
        Left::Nothing
    } else {
        Left::More
    }
}
