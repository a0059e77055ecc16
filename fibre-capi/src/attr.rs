//! Attributes of new fibres: `pthread_attr_t` and its calls.
//!
//! All zeros are the defaults. The object takes the place of the system's, so it has no room for
//! everything that a program could say of a thread. Calls refuse what fibres cannot have with
//! `ENOTSUP`, or, where POSIX lets them accept it, keep it and give it back.

use crate::cluster::fibre_cluster_t;
use crate::init;
use crate::record::{NAME, Record};
use fibre_core::{Builder, Cluster, Priority};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;

/// `PTHREAD_STACK_MIN`.
pub const STACK_MIN: usize = 16384;
/// `PTHREAD_CREATE_DETACHED`.
const DETACHED: c_int = 1;
/// `PTHREAD_EXPLICIT_SCHED`.
const EXPLICIT: c_int = 1;
/// `PTHREAD_SCOPE_PROCESS`.
const SCOPE_PROCESS: c_int = 1;

/// Bytes of a page.
const PAGE: usize = 4096;

/// Stacks that are larger are compared with the machine's memory.
const LARGE: usize = 4 << 20;

/// What new fibres are to be like.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct fibre_attr_t {
    /// Bytes of the stack; zero for the cluster's.
    stack_size: usize,
    /// Where the stack ends, above its highest byte: of the program's memory that is to be the
    /// stack, or of a fibre that there is; else null.
    stack_end: *mut c_void,
    /// In which cluster; null for the creator's.
    cluster: *const fibre_cluster_t,
    /// The CPUs that its processor may stand for, a bit each; zero for all.
    processors: u64,
    /// Its name; empty for none.
    name: [c_char; 16],
    /// Bytes of the guard that have been asked for, plus one; zero for the default.
    guard: u32,
    /// `PTHREAD_CREATE_JOINABLE` or `PTHREAD_CREATE_DETACHED`.
    detached: u8,
    /// `PTHREAD_INHERIT_SCHED` or `PTHREAD_EXPLICIT_SCHED`.
    explicit: u8,
    /// `SCHED_OTHER`, `SCHED_FIFO`, `SCHED_RR` and the like.
    policy: u8,
    /// The priority of that policy, or one of fibres and [`OFFSET`].
    priority: u8,
}

const _: () = assert!(size_of::<fibre_attr_t>() <= 56 && align_of::<fibre_attr_t>() <= 8);

/// A priority of fibres: after the others.
const LOW: c_int = -1;
/// A priority of fibres: that of all who have not asked for another one.
const NORMAL: c_int = 0;
/// A priority of fibres: before the others.
const HIGH: c_int = 1;
/// A priority of fibres: only if there is nothing else to do in the whole cluster.
const BACKGROUND: c_int = -2;

/// What [`fibre_attr_t::priority`] is more than a priority of fibres.
const OFFSET: c_int = 103;

/// The defaults.
const DEFAULT: fibre_attr_t = fibre_attr_t {
    stack_size: 0,
    stack_end: ptr::null_mut(),
    cluster: ptr::null(),
    processors: 0,
    name: [0; NAME],
    guard: 0,
    detached: 0,
    explicit: 0,
    policy: 0,
    priority: 0,
};

/// How many CPUs the machine has, counted at the first call; those that are off count.
pub fn cpus() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| {
        // SAFETY: only asks.
        let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
        usize::try_from(count).map_or(1, |count| count.max(1))
    })
}

/// A set of the first so many, of which 64 have a bit.
fn first(count: usize) -> u64 {
    u64::MAX >> (64 - count.clamp(1, 64))
}

impl fibre_attr_t {
    /// The attributes that a call is given; the defaults for null.
    ///
    /// # Safety
    ///
    /// Null, or a pointer to attributes.
    pub unsafe fn of(attributes: *const Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { attributes.as_ref() }.copied().unwrap_or(DEFAULT)
    }

    /// Whether the fibre is created detached: no caller will ask for its end.
    pub fn is_detached(&self) -> bool {
        c_int::from(self.detached) == DETACHED
    }

    /// The same for a fibre whose creator may run on these processors of the cluster that both live
    /// in; zero for all.
    pub fn within(self, processors: u64) -> Self {
        match self.processors {
            0 if self.cluster.is_null() => Self { processors, ..self },
            _ => self,
        }
    }

    /// The same that says of the processors what a fibre's record does.
    pub fn with_processors(self, processors: u64) -> Self {
        Self { processors, ..self }
    }

    /// Whether its stack is larger than all memory, so that there is none for it, whatever
    /// addresses there are.
    pub fn is_absurd(&self) -> bool {
        self.stack_end.is_null() && self.stack_size > LARGE && self.stack_size as u128 > memory()
    }

    /// The cluster that has been chosen.
    pub fn cluster(&self) -> Option<&Cluster> {
        // SAFETY: whoever has set it keeps it until it creates no more fibres there.
        unsafe { self.cluster.as_ref() }.map(fibre_cluster_t::cluster)
    }

    /// The policy and its priority, as POSIX has it.
    fn scheduling(&self) -> (u8, u8) {
        match c_int::from(self.priority) {
            posix @ 0..100 => (self.policy, posix as u8),
            _ => (self.policy, 0),
        }
    }

    /// A builder of such a fibre, in a cluster of so many processors.
    pub fn builder(&self, processors: impl FnOnce() -> usize) -> Builder {
        let mut builder = Builder::new();
        if self.stack_size != 0 && self.stack_end.is_null() {
            builder = builder.stack_size(self.stack_size);
        }
        if self.name[0] != 0 {
            // SAFETY: the name ends with a zero.
            let name = unsafe { CStr::from_ptr(self.name.as_ptr()) };
            builder = builder.name(name.to_string_lossy());
        }
        if self.processors != 0
            && let Some(processor) = self.processor(processors(), cpus())
        {
            builder = builder.on_processor(processor);
        }
        match self.fibre_priority() {
            HIGH => builder.priority(Priority::High),
            LOW => builder.priority(Priority::Low),
            BACKGROUND => builder.background(),
            _ => builder,
        }
    }

    /// A processor among those it may run on, in turn; `None` for any.
    fn processor(&self, processors: usize, cpus: usize) -> Option<usize> {
        let all = first(processors.min(cpus));
        if self.processors == 0 || self.processors & all == all {
            return None;
        }
        let existing = self.processors & first(cpus);
        if existing == 0 {
            // There is none, which the spawn will say.
            return Some(usize::MAX);
        }
        let chosen = match existing & first(processors) {
            0 => existing,
            there => there,
        };
        let nth = init::next_turn() % chosen.count_ones() as usize;
        let bit = (0..64).filter(|bit| chosen >> bit & 1 == 1).nth(nth);
        // If no processor has the CPU's number, one of them stands for it.
        bit.map(|bit| bit % processors)
    }

    /// Its priority among fibres.
    fn fibre_priority(&self) -> c_int {
        match c_int::from(self.priority) {
            0..100 if c_int::from(self.explicit) == EXPLICIT && self.policy != 0 => {
                // Real-time policies go before the others, whatever their priority.
                HIGH
            }
            0..100 => NORMAL,
            own => own - OFFSET,
        }
    }

    /// Puts into a new fibre's record what others may ask for.
    #[inline]
    pub fn describe(&self, record: &Record) {
        if self.name[0] != 0 || self.policy != 0 || self.processors != 0 {
            record.about(|about| {
                about.name = self.name;
                about.scheduling = self.scheduling();
                about.processors = self.processors;
            });
        }
    }

    /// The memory of the program that is to be the stack, if it has given some.
    pub fn attr_stack(&self) -> Option<Range<usize>> {
        let end = self.stack_end.expose_provenance();
        (end != 0).then(|| end.saturating_sub(self.stack_bytes())..end)
    }

    /// Where that ends; null if there is none.
    pub fn stack_end(&self) -> *mut c_void {
        self.stack_end
    }

    /// Takes memory that ends there for the stack; with this size, unless that has been set.
    pub fn give_stack(&mut self, end: *mut c_void, size: Option<usize>) {
        self.stack_end = end;
        self.stack_size = size.unwrap_or(self.stack_size);
    }

    /// How large the stack is.
    pub fn stack_bytes(&self) -> usize {
        match self.stack_size {
            0 => init::stack_size(),
            size => size,
        }
    }

    /// The same with this policy and priority.
    pub fn with_scheduling(self, policy: u8, priority: u8) -> Self {
        Self {
            policy,
            priority,
            ..self
        }
    }

    /// The same with a guard of so many bytes, or else the default.
    pub fn with_guard(self, bytes: Option<usize>) -> Self {
        let kept = bytes.and_then(|bytes| u32::try_from(bytes).ok()?.checked_add(1));
        Self {
            guard: kept.unwrap_or(0),
            ..self
        }
    }

    /// Whether a fibre can be like this. If the scheduling is as these say, the priority must be
    /// one of the policy.
    pub fn is_valid(&self) -> bool {
        let (policy, priority) = self.scheduling();
        let is_ours = c_int::from(self.priority) >= 100;
        c_int::from(self.explicit) != EXPLICIT
            || is_ours
            || is_priority_of(policy.into(), priority.into())
    }

    /// The same with this name.
    pub fn with_name(self, name: [c_char; NAME]) -> Self {
        Self { name, ..self }
    }

    /// Bytes of the stack; zero for the cluster's.
    pub fn stack_size(&self) -> usize {
        self.stack_size
    }

    /// The attributes of a fibre that runs `main`.
    pub fn of_main(stack_size: usize) -> Self {
        let mut attributes = DEFAULT;
        attributes.stack_size = stack_size;
        for (place, byte) in attributes.name.iter_mut().zip(b"main") {
            *place = *byte as c_char;
        }
        attributes
    }

    /// The attributes of a fibre that there is.
    pub fn of_running(detached: bool, stack: Option<Range<usize>>) -> Self {
        let mut attributes = DEFAULT;
        attributes.detached = u8::from(detached);
        if let Some(stack) = stack {
            attributes.stack_size = stack.len();
            attributes.stack_end = ptr::with_exposed_provenance_mut(stack.end);
        }
        attributes
    }
}

/// How many bytes of memory the machine has.
fn memory() -> u128 {
    // SAFETY: zeros are valid, and it is written to.
    let memory = unsafe {
        let mut memory: libc::sysinfo = std::mem::zeroed();
        libc::sysinfo(&raw mut memory);
        memory
    };
    u128::from(memory.totalram + memory.totalswap) * u128::from(memory.mem_unit)
}

/// Runs `change` on attributes; `EINVAL` for null, or if that is not `valid`.
pub fn change(
    attributes: *mut fibre_attr_t,
    valid: bool,
    change: impl FnOnce(&mut fibre_attr_t),
) -> c_int {
    // SAFETY: the caller's attributes, which no other thread changes.
    match unsafe { attributes.as_mut() } {
        Some(attributes) if valid => {
            change(attributes);
            0
        }
        _ => libc::EINVAL,
    }
}

/// Writes what `read` says of attributes; `EINVAL` for null.
pub fn read<T>(
    attributes: *const fibre_attr_t,
    place: *mut T,
    read: impl FnOnce(&fibre_attr_t) -> T,
) -> c_int {
    // SAFETY: the caller's attributes and place.
    match unsafe { attributes.as_ref() } {
        Some(attributes) => {
            // SAFETY: the caller's place.
            unsafe { place.write(read(attributes)) };
            0
        }
        None => libc::EINVAL,
    }
}

/// `pthread_attr_init`: the defaults, which are all zeros.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_init(attr: *mut fibre_attr_t) -> c_int {
    // SAFETY: the caller's place for them.
    unsafe { attr.write(DEFAULT) };
    0
}

/// `pthread_attr_destroy`: does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_destroy(_attr: *mut fibre_attr_t) -> c_int {
    0
}

/// `pthread_attr_setdetachstate`. `EINVAL` for an unknown state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_setdetachstate(attr: *mut fibre_attr_t, state: c_int) -> c_int {
    change(attr, matches!(state, 0 | DETACHED), |attr| {
        attr.detached = u8::from(state == DETACHED);
    })
}

/// `pthread_attr_getdetachstate`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_getdetachstate(
    attr: *const fibre_attr_t,
    state: *mut c_int,
) -> c_int {
    read(attr, state, |attr| c_int::from(attr.detached))
}

/// `pthread_attr_setstacksize`: bytes of the stack, which are rounded up to a power of two.
/// `EINVAL` below `PTHREAD_STACK_MIN`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_setstacksize(attr: *mut fibre_attr_t, size: usize) -> c_int {
    change(attr, size >= STACK_MIN, |attr| attr.stack_size = size)
}

/// `pthread_attr_getstacksize`: what has been set, or else what stacks have.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_getstacksize(
    attr: *const fibre_attr_t,
    size: *mut usize,
) -> c_int {
    read(attr, size, fibre_attr_t::stack_bytes)
}

/// `pthread_attr_setguardsize`: is kept; all stacks have a guard of 64 KiB.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_setguardsize(attr: *mut fibre_attr_t, size: usize) -> c_int {
    let guard = u32::try_from(size)
        .ok()
        .and_then(|size| size.checked_add(1));
    change(attr, guard.is_some(), |attr| {
        attr.guard = guard.unwrap_or(0)
    })
}

/// `pthread_attr_getguardsize`: what has been set, or else a page, as the system has it. Of a fibre
/// that there is, what its stack has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_getguardsize(
    attr: *const fibre_attr_t,
    size: *mut usize,
) -> c_int {
    read(attr, size, |attr| match attr.guard {
        0 => PAGE,
        more => more as usize - 1,
    })
}

/// `pthread_attr_setinheritsched`: whether scheduling is as the attributes say. `EINVAL` for an
/// unknown value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_setinheritsched(
    attr: *mut fibre_attr_t,
    inherit: c_int,
) -> c_int {
    change(attr, matches!(inherit, 0 | EXPLICIT), |attr| {
        attr.explicit = u8::from(inherit == EXPLICIT);
    })
}

/// `pthread_attr_getinheritsched`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_getinheritsched(
    attr: *const fibre_attr_t,
    inherit: *mut c_int,
) -> c_int {
    read(attr, inherit, |attr| c_int::from(attr.explicit))
}

/// `pthread_attr_setschedpolicy`: fibres of a real-time policy go before others, if scheduling is
/// explicit. `EINVAL` for an unknown policy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_setschedpolicy(
    attr: *mut fibre_attr_t,
    policy: c_int,
) -> c_int {
    let valid = matches!(
        policy,
        libc::SCHED_OTHER | libc::SCHED_FIFO | libc::SCHED_RR
    );
    change(attr, valid, |attr| attr.policy = policy as u8)
}

/// `pthread_attr_getschedpolicy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_getschedpolicy(
    attr: *const fibre_attr_t,
    policy: *mut c_int,
) -> c_int {
    read(attr, policy, |attr| c_int::from(attr.policy))
}

/// `pthread_attr_setschedparam`: the priority, in the range of the policy; else `EINVAL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_setschedparam(
    attr: *mut fibre_attr_t,
    param: *const libc::sched_param,
) -> c_int {
    // SAFETY: null or the caller's attributes, and the caller's parameter.
    let (policy, priority) = unsafe {
        let policy = attr.as_ref().map(|attr| c_int::from(attr.policy));
        policy.map_or((0, 0), |policy| (policy, (*param).sched_priority))
    };
    change(attr, is_priority_of(policy, priority), |attr| {
        attr.priority = priority as u8
    })
}

/// `pthread_attr_getschedparam`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_getschedparam(
    attr: *const fibre_attr_t,
    param: *mut libc::sched_param,
) -> c_int {
    read(attr, param, |attr| libc::sched_param {
        sched_priority: c_int::from(attr.scheduling().1),
    })
}

/// Whether a policy has this priority.
pub fn is_priority_of(policy: c_int, priority: c_int) -> bool {
    match policy {
        libc::SCHED_OTHER => priority == 0,
        _ => (1..100).contains(&priority),
    }
}

/// `pthread_attr_setscope`: there is one scope, which is called that of the system, as on Linux.
/// `ENOTSUP` for that of the process, `EINVAL` for an unknown one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_setscope(_attr: *mut fibre_attr_t, scope: c_int) -> c_int {
    match scope {
        0 => 0,
        SCOPE_PROCESS => libc::ENOTSUP,
        _ => libc::EINVAL,
    }
}

/// `pthread_attr_getscope`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_getscope(
    attr: *const fibre_attr_t,
    scope: *mut c_int,
) -> c_int {
    read(attr, scope, |_| 0)
}

/// `pthread_attr_setaffinity_np`: the processors of the cluster that the fibre may run on, as bits
/// 0 to 63 of a set of CPUs: each processor stands for the CPU of its number. The fibre gets one of
/// them, and stays there; with all of them it may move. CPUs that no processor stands for count
/// only if there are no others in the set: then some processor stands for them. `EINVAL` for an
/// empty set; at creation, for one that has no CPU of the machine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_setaffinity(
    attr: *mut fibre_attr_t,
    size: usize,
    set: *const c_void,
) -> c_int {
    let length = if set.is_null() { 0 } else { size.min(8) };
    let mut bits = [0; 8];
    // SAFETY: null, or the caller's set has `size` bytes.
    unsafe { ptr::copy_nonoverlapping(set.cast(), bits.as_mut_ptr(), length) };
    let processors = u64::from_le_bytes(bits);
    change(attr, processors != 0 || length == 0, |attr| {
        attr.processors = processors
    })
}

/// `pthread_attr_getaffinity_np`: what has been set, or else all. `EINVAL` if the set has no room
/// for 64 processors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_getaffinity(
    attr: *const fibre_attr_t,
    size: usize,
    set: *mut c_void,
) -> c_int {
    if size < size_of::<u64>() {
        return libc::EINVAL;
    }
    // SAFETY: the caller's set has `size` bytes; the first eight are a number, which need not be
    // aligned.
    unsafe {
        ptr::write_bytes(set.cast::<u8>(), 0, size);
        let mut bits = 0;
        let result = read(attr, &raw mut bits, |attr| match attr.processors {
            0 => u64::MAX,
            chosen => chosen,
        });
        set.cast::<u64>().write_unaligned(bits);
        result
    }
}

/// `pthread_attr_setsigmask_np`: a new fibre's mask is its creator's: `ENOTSUP`, but for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_setsigmask(
    _attr: *mut fibre_attr_t,
    mask: *const c_void,
) -> c_int {
    match mask.is_null() {
        true => 0,
        false => libc::ENOTSUP,
    }
}

/// `pthread_attr_getsigmask_np`: there is none, `PTHREAD_ATTR_NO_SIGMASK_NP`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_getsigmask(
    _attr: *const fibre_attr_t,
    _mask: *mut c_void,
) -> c_int {
    -1
}

/// The cluster that new fibres are to live in; null for the creator's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_setcluster(
    attr: *mut fibre_attr_t,
    cluster: *const fibre_cluster_t,
) -> c_int {
    change(attr, true, |attr| attr.cluster = cluster)
}

/// The name of new fibres: up to 15 bytes. `ERANGE` for a longer one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_setname(attr: *mut fibre_attr_t, name: *const c_char) -> c_int {
    // SAFETY: the caller's text.
    match unsafe { read_name(name) } {
        Some(name) => change(attr, true, |attr| attr.name = name),
        None => libc::ERANGE,
    }
}

/// The priority of new fibres: low, normal, high or background (see the constants above). `EINVAL`
/// for another one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_setpriority(attr: *mut fibre_attr_t, priority: c_int) -> c_int {
    change(attr, (BACKGROUND..=HIGH).contains(&priority), |attr| {
        attr.priority = (priority + OFFSET) as u8;
    })
}

/// A name that fits; `None` for a longer one.
///
/// # Safety
///
/// A text that ends with a zero.
pub unsafe fn read_name(text: *const c_char) -> Option<[c_char; NAME]> {
    let mut name = [0; NAME];
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) }.to_bytes();
    if text.len() >= NAME {
        return None;
    }
    for (place, byte) in name.iter_mut().zip(text) {
        *place = *byte as c_char;
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_one_of_the_set() {
        let attributes = |processors| fibre_attr_t {
            processors,
            ..DEFAULT
        };
        assert_eq!(attributes(0).processor(2, 2), None);
        assert_eq!(attributes(u64::MAX).processor(2, 2), None);
        assert_eq!(attributes(0b10).processor(2, 2), Some(1));
        let both = [(); 2].map(|()| attributes(0b1010).processor(4, 4));
        assert!(both.contains(&Some(1)) && both.contains(&Some(3)));
        assert_eq!(attributes(u64::MAX).processor(200, 200), None);
        // More processors than CPUs: all CPUs are all processors.
        assert_eq!(attributes(0b11).processor(4, 2), None);
        assert_eq!(attributes(0b10).processor(4, 2), Some(1));
        // More CPUs than processors.
        assert_eq!(attributes(0b1000).processor(2, 4), Some(1));
        assert_eq!(attributes(0b10).processor(1, 2), Some(0));
        assert_eq!(attributes(0b1001).processor(2, 4), Some(0));
        // None of them is there, whether a processor has the number or not.
        assert_eq!(attributes(0b100).processor(2, 2), Some(usize::MAX));
        assert_eq!(attributes(0b100).processor(4, 2), Some(usize::MAX));
        assert_eq!(attributes(0b110).processor(4, 2), Some(1));
    }

    #[test]
    fn priorities_are_those_of_fibres_or_of_a_policy() {
        let mut attributes = DEFAULT;
        assert_eq!(attributes.fibre_priority(), NORMAL);
        for priority in BACKGROUND..=HIGH {
            // SAFETY: attributes of this frame.
            let set = unsafe { fibre_attr_setpriority(&raw mut attributes, priority) };
            assert_eq!((set, attributes.fibre_priority()), (0, priority));
        }
        attributes = fibre_attr_t {
            explicit: 1,
            policy: libc::SCHED_RR as u8,
            priority: 7,
            ..DEFAULT
        };
        assert_eq!(attributes.fibre_priority(), HIGH);
        assert_eq!(attributes.scheduling(), (libc::SCHED_RR as u8, 7));
    }
}
