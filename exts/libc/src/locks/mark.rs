//! How an object of the C library's shows an attribute that it was made with: by bits that one
//! without the attribute does not have. Their place has changed between versions, so it is found
//! out.

use std::ffi::c_int;
use std::mem::{MaybeUninit, size_of};
use std::slice;
use std::sync::OnceLock;

/// The bits of an attribute.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    /// Their byte.
    offset: usize,
    /// The bits; none: the C library does not show the attribute, or does not have it.
    bits: u8,
}

impl Mark {
    /// Looks for the mark. `make` makes an object, with the attribute or without, and returns an
    /// error number. Nothing needs to be done to destroy it.
    pub(super) fn find<C>(make: impl Fn(*mut C, bool) -> c_int) -> Self {
        let sample = |has_it| {
            let mut sample = MaybeUninit::<C>::zeroed();
            (make(sample.as_mut_ptr(), has_it) == 0).then_some(sample)
        };
        let none = Self { offset: 0, bits: 0 };
        let (Some(with), Some(without)) = (sample(true), sample(false)) else {
            return none;
        };
        let differing = (0..size_of::<C>()).find_map(|offset| {
            // SAFETY: bytes of objects, which were zeros at least.
            let [with, without] = [&with, &without].map(|sample| unsafe {
                let bytes = slice::from_raw_parts(sample.as_ptr().cast::<u8>(), size_of::<C>());
                bytes[offset]
            });
            (with != without).then_some(Self {
                offset,
                bits: with & !without,
            })
        });
        differing.unwrap_or(none)
    }

    /// Whether an object has it.
    ///
    /// # Safety
    ///
    /// The caller's object.
    pub(super) unsafe fn is_on<C>(self, object: *const C) -> bool {
        // SAFETY: the caller's promise. Only the bits of attributes are looked at, which stay.
        unsafe { object.cast::<u8>().add(self.offset).read_volatile() & self.bits != 0 }
    }
}

/// Whether an object has an attribute. The mark of that is looked for once.
///
/// # Safety
///
/// The caller's object.
pub(super) unsafe fn has<C>(
    mark: &OnceLock<Mark>,
    object: *const C,
    make: impl Fn(*mut C, bool) -> c_int,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe { mark.get_or_init(|| Mark::find(make)).is_on(object) }
}
