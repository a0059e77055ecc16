//! What a program asks for with a thread's attributes, and whether a fibre can have it.

use crate::next::Next;
use fibre_io::posix::signal_set;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;

/// Bytes of a set of CPUs that is asked for: all that the C library's own type has.
const CPUS: usize = size_of::<libc::cpu_set_t>();

unsafe extern "C" {
    fn pthread_attr_getstack(
        attributes: *const libc::pthread_attr_t,
        start: *mut *mut c_void,
        size: *mut usize,
    ) -> c_int;
    fn pthread_attr_getstacksize(
        attributes: *const libc::pthread_attr_t,
        size: *mut usize,
    ) -> c_int;
    fn pthread_attr_getdetachstate(
        attributes: *const libc::pthread_attr_t,
        state: *mut c_int,
    ) -> c_int;
    fn pthread_attr_getinheritsched(
        attributes: *const libc::pthread_attr_t,
        inherits: *mut c_int,
    ) -> c_int;
    fn pthread_attr_getschedpolicy(
        attributes: *const libc::pthread_attr_t,
        policy: *mut c_int,
    ) -> c_int;
    fn pthread_attr_getaffinity_np(
        attributes: *const libc::pthread_attr_t,
        size: usize,
        cpus: *mut libc::cpu_set_t,
    ) -> c_int;
}

/// What a fibre needs to know.
pub(super) struct Wanted {
    /// Bytes of its stack.
    pub(super) stack_size: usize,
    /// Whether nobody will ask for its end.
    pub(super) is_detached: bool,
}

/// What a fibre cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KernelOnly {
    /// A scheduling policy of the kernel's.
    Scheduling,
    /// CPUs to run on.
    Affinity,
    /// Memory of the program as its stack.
    Stack,
}

impl KernelOnly {
    /// What a thread asks for, in words.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Scheduling => "a scheduling policy of the kernel's",
            Self::Affinity => "CPUs to run on",
            Self::Stack => "memory of its own as its stack",
        }
    }
}

/// What the attributes ask for; null are the defaults.
///
/// # Errors
///
/// What a fibre cannot have.
///
/// # Safety
///
/// Null, or attributes that have been initialised.
pub(super) unsafe fn read(attributes: *const libc::pthread_attr_t) -> Result<Wanted, KernelOnly> {
    if !attributes.is_null() {
        // SAFETY: the caller's promise.
        return unsafe { read_from(attributes) };
    }
    let mut defaults = MaybeUninit::uninit();
    // SAFETY: they are initialised before they are read.
    unsafe {
        libc::pthread_attr_init(defaults.as_mut_ptr());
        let wanted = read_from(defaults.as_ptr());
        libc::pthread_attr_destroy(defaults.as_mut_ptr());
        wanted
    }
}

/// What these attributes ask for.
unsafe fn read_from(attributes: *const libc::pthread_attr_t) -> Result<Wanted, KernelOnly> {
    let (mut inherits, mut policy, mut detached) = (0, 0, 0);
    let (mut start, mut given, mut stack_size) = (ptr::null_mut(), 0, 0);
    // SAFETY: the caller's attributes, and places of this frame. These calls do not fail.
    unsafe {
        pthread_attr_getinheritsched(attributes, &raw mut inherits);
        pthread_attr_getschedpolicy(attributes, &raw mut policy);
        pthread_attr_getdetachstate(attributes, &raw mut detached);
        pthread_attr_getstack(attributes, &raw mut start, &raw mut given);
        pthread_attr_getstacksize(attributes, &raw mut stack_size);
    }
    if inherits == libc::PTHREAD_EXPLICIT_SCHED && policy != libc::SCHED_OTHER {
        return Err(KernelOnly::Scheduling);
    }
    // SAFETY: passed on.
    if unsafe { chooses_cpus(attributes) } {
        return Err(KernelOnly::Affinity);
    }
    // The end of the stack is noted, and the start computed from it; without one it is zero.
    if start.addr().wrapping_add(given) != 0 {
        return Err(KernelOnly::Stack);
    }
    Ok(Wanted {
        stack_size,
        is_detached: detached == libc::PTHREAD_CREATE_DETACHED,
    })
}

/// The signals that the attributes have the thread block; `None`: those that its creator blocks.
///
/// # Safety
///
/// As for [`read()`].
pub(super) unsafe fn mask(attributes: *const libc::pthread_attr_t) -> Option<u64> {
    /// The function, which C libraries have since glibc 2.32.
    static NEXT: Next = Next::of(c"pthread_attr_getsigmask_np");
    let next = NEXT.find();
    if attributes.is_null() || next.is_null() {
        return None;
    }
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: this is the function's type; the caller's attributes, and a place of this frame.
    unsafe {
        let ask: unsafe extern "C" fn(*const libc::pthread_attr_t, *mut libc::sigset_t) -> c_int =
            std::mem::transmute(next);
        (ask(attributes, set.as_mut_ptr()) == 0).then(|| signal_set::read(set.as_ptr()))
    }
}

/// Whether the attributes name the CPUs that the thread may run on. Without that the C library
/// answers with all that there could be.
unsafe fn chooses_cpus(attributes: *const libc::pthread_attr_t) -> bool {
    let mut cpus = MaybeUninit::<[u8; CPUS]>::zeroed();
    // SAFETY: the caller's attributes, and room for so many bytes.
    let error = unsafe { pthread_attr_getaffinity_np(attributes, CPUS, cpus.as_mut_ptr().cast()) };
    // SAFETY: bytes, which have been zero at least.
    let cpus = unsafe { cpus.assume_init() };
    // An error says that the set has CPUs beyond that.
    error != 0 || cpus.iter().any(|byte| *byte != u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attributes of the defaults, changed by `change`, as they are read.
    fn of(change: unsafe fn(*mut libc::pthread_attr_t)) -> Result<Wanted, KernelOnly> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: they are initialised before they are changed and read.
        unsafe {
            libc::pthread_attr_init(attributes.as_mut_ptr());
            change(attributes.as_mut_ptr());
            let wanted = read(attributes.as_ptr());
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            wanted
        }
    }

    #[test]
    fn sizes_and_detachment_are_a_fibres() {
        let plain = of(|_| ()).ok().map(|wanted| wanted.is_detached);
        assert_eq!(plain, Some(false));
        // SAFETY: attributes.
        let changed = of(|attributes| unsafe {
            libc::pthread_attr_setstacksize(attributes, 1 << 20);
            libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED);
        });
        let changed = changed.ok();
        let changed = changed.map(|wanted| (wanted.stack_size, wanted.is_detached));
        assert_eq!(changed, Some((1 << 20, true)));
        // SAFETY: null stands for the defaults.
        assert!(unsafe { read(ptr::null()) }.is_ok());
    }

    #[test]
    fn what_a_fibre_cannot_have_is_named() {
        unsafe extern "C" {
            fn pthread_attr_setaffinity_np(
                attributes: *mut libc::pthread_attr_t,
                size: usize,
                cpus: *const libc::cpu_set_t,
            ) -> c_int;
        }
        // SAFETY: attributes, and a set.
        let pinned = of(|attributes| unsafe {
            let mut cpus = MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init();
            libc::CPU_SET(0, &mut cpus);
            pthread_attr_setaffinity_np(attributes, CPUS, &raw const cpus);
        });
        assert_eq!(pinned.err(), Some(KernelOnly::Affinity));
        // SAFETY: attributes.
        let scheduled = of(|attributes| unsafe {
            libc::pthread_attr_setinheritsched(attributes, libc::PTHREAD_EXPLICIT_SCHED);
            libc::pthread_attr_setschedpolicy(attributes, libc::SCHED_RR);
        });
        assert_eq!(scheduled.err(), Some(KernelOnly::Scheduling));
        // SAFETY: attributes, and memory that no thread uses.
        let placed = of(|attributes| unsafe {
            let start = ptr::without_provenance_mut(1 << 30);
            assert_eq!(libc::pthread_attr_setstack(attributes, start, 1 << 20), 0);
        });
        assert_eq!(placed.err(), Some(KernelOnly::Stack));
    }
}
