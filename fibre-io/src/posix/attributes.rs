//! Objects of the C library's that are made by attributes.

use std::ffi::c_int;
use std::mem::MaybeUninit;

/// Makes an object by attributes: initialises these, sets some, makes the object, and destroys
/// them. The first error number.
///
/// # Safety
///
/// The functions belong together, and fail by error numbers.
pub unsafe fn by_attributes<A>(
    init: unsafe extern "C" fn(*mut A) -> c_int,
    set: impl FnOnce(*mut A) -> c_int,
    make: impl FnOnce(*const A) -> c_int,
    destroy: unsafe extern "C" fn(*mut A) -> c_int,
) -> c_int {
    let mut attributes = MaybeUninit::<A>::zeroed();
    let place = attributes.as_mut_ptr();
    // SAFETY: a place of ours for them.
    unsafe {
        let mut number = init(place);
        if number == 0 {
            number = set(place);
            if number == 0 {
                number = make(place);
            }
            destroy(place);
        }
        number
    }
}
