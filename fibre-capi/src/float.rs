//! Floating-point environments of fibres: rounding modes, exceptions, the precision of the x87.
//!
//! C has an environment for each thread. The CPU's is in two registers of the kernel thread, MXCSR
//! and the state of the x87, which a switch leaves alone. So a fibre that calls a function here,
//! for which `fenv.h`'s are mapped, has an environment of its own from then on: each of its calls
//! that may leave the stack puts it away, and takes it back at its end (`errno::watch_calls`).
//! Meanwhile the thread has the one that all begin with. Fibres without an own environment pay for
//! a look, once there is any with one, and nothing before.
//!
//! A fibre begins with a copy of its creator's, as C11 7.6 has it. What a program writes into the
//! registers by itself (`_mm_setcsr`, `_FPU_SETCW`) is kept once the fibre has called a function
//! here.

use crate::errno;
use crate::record::{Environment, Record, Registers, of_fibre};
use fibre_core::in_fibre;
use std::arch::asm;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

/// The bits of MXCSR that say what has happened.
const RAISED: u32 = 0x3f;

/// The environment that all begin with: the one of the first creator.
static BASE: OnceLock<Registers> = OnceLock::new();

impl Registers {
    /// Reads those of this thread.
    fn read() -> Self {
        let mut own = Self {
            x87: [0; 7],
            mxcsr: 0,
        };
        // SAFETY: writes to this frame; the instruction masks all exceptions, so the state is
        // loaded again.
        unsafe {
            asm!(
                "fnstenv [{x87}]",
                "fldenv [{x87}]",
                "stmxcsr [{mxcsr}]",
                x87 = in(reg) &raw mut own.x87,
                mxcsr = in(reg) &raw mut own.mxcsr,
                options(nostack),
            );
        }
        own
    }

    /// Writes them.
    fn write(&self) {
        // SAFETY: they have been read by `read`, and C programs ask for it. No code of ours
        // computes with them: it runs while a fibre's are put away.
        unsafe {
            asm!(
                "fnclex",
                "fldenv [{x87}]",
                "ldmxcsr [{mxcsr}]",
                x87 = in(reg) &raw const self.x87,
                mxcsr = in(reg) &raw const self.mxcsr,
                options(nostack, readonly),
            );
        }
    }

    /// What says how to compute, without what has happened.
    fn control(&self) -> [u32; 2] {
        [self.x87[0] & 0xffff, self.mxcsr & !RAISED]
    }
}

/// That of this thread, for less than it takes to read all.
fn control_here() -> [u32; 2] {
    let (mut word, mut mxcsr) = (0_u16, 0_u32);
    // SAFETY: writes to this frame.
    unsafe {
        asm!(
            "fnstcw [{word}]",
            "stmxcsr [{mxcsr}]",
            word = in(reg) &raw mut word,
            mxcsr = in(reg) &raw mut mxcsr,
            options(nostack, preserves_flags),
        );
    }
    [word.into(), mxcsr & !RAISED]
}

/// The environment that all begin with.
fn base() -> &'static Registers {
    BASE.get_or_init(Registers::read)
}

/// Puts the calling fibre's environment away, if it has one, or takes it back.
fn around_call(leaves: bool) {
    let Some(record) = of_fibre() else {
        return;
    };
    // SAFETY: the fibre's own.
    let Some(own) = (unsafe { record.float.get().as_mut() }) else {
        return;
    };
    if leaves {
        if own.calls == 0 {
            own.registers = Registers::read();
            base().write();
        }
        own.calls += 1;
    } else if own.calls > 0 {
        own.calls -= 1;
        if own.calls == 0 {
            own.registers.write();
        }
    }
}

/// Keeps an environment with a fibre. `false`: there is no memory.
fn keep(record: &Record, registers: Registers) -> bool {
    // Before the caller changes anything, as those of all others are what it has now.
    base();
    errno::watch_calls(around_call);
    // SAFETY: room for the value, which is written before it is used.
    let place = unsafe { libc::malloc(size_of::<Environment>()) }.cast::<Environment>();
    if place.is_null() {
        return false;
    }
    let calls = 0;
    // SAFETY: as above.
    unsafe { place.write(Environment { registers, calls }) };
    record.float.set(place);
    true
}

/// Gives a new fibre its creator's environment, which is the caller. `false`: there is no memory.
pub fn inherit(record: &Record) -> bool {
    record.float.set(ptr::null_mut());
    if !in_fibre() {
        return control_here() == base().control() || keep(record, Registers::read());
    }
    let creators = of_fibre().map_or(ptr::null_mut(), |creator| creator.float.get());
    // SAFETY: the caller's own, which its call has put away.
    unsafe { creators.as_ref() }.is_none_or(|own| keep(record, own.registers))
}

/// Has the calling fibre, which begins, compute with what it has inherited.
#[inline]
pub fn begin(record: &Record) {
    // SAFETY: the fibre's own.
    if let Some(own) = unsafe { record.float.get().as_ref() } {
        own.registers.write();
    }
}

/// Leaves the processor the environment that all begin with, as the calling fibre ends.
#[inline]
pub fn end(record: &Record) {
    if !record.float.get().is_null() {
        base().write();
        forget(record);
    }
}

/// Frees the environment of a fibre that has ended, or does not begin.
pub fn forget(record: &Record) {
    // SAFETY: allocated by `keep`, or null; nothing uses it any more.
    unsafe { libc::free(record.float.replace(ptr::null_mut()).cast()) };
}

/// Has the calling fibre an environment of its own from now on. `false`: there is no memory. On a
/// plain thread it has one anyway.
fn own() -> bool {
    let record = of_fibre().filter(|record| record.float.get().is_null());
    record.is_none_or(|record| keep(record, Registers::read()))
}

#[link(name = "m")]
unsafe extern "C" {
    fn feclearexcept(exceptions: c_int) -> c_int;
    fn feraiseexcept(exceptions: c_int) -> c_int;
    fn fesetexcept(exceptions: c_int) -> c_int;
    fn fesetexceptflag(flags: *const c_void, exceptions: c_int) -> c_int;
    fn fetestexcept(exceptions: c_int) -> c_int;
    fn fesetround(rounding: c_int) -> c_int;
    fn feholdexcept(environment: *mut c_void) -> c_int;
    fn fesetenv(environment: *const c_void) -> c_int;
    fn feupdateenv(environment: *const c_void) -> c_int;
    fn fesetmode(modes: *const c_void) -> c_int;
    fn feenableexcept(exceptions: c_int) -> c_int;
    fn fedisableexcept(exceptions: c_int) -> c_int;
}

/// `feclearexcept`: forgets that these exceptions have been raised. -1 if there is no memory to
/// keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_feclearexcept(exceptions: c_int) -> c_int {
    if !own() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { feclearexcept(exceptions) }
}

/// `feraiseexcept`: raises these exceptions. -1 if there is no memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_feraiseexcept(exceptions: c_int) -> c_int {
    if !own() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { feraiseexcept(exceptions) }
}

/// `fesetexcept`: notes that these exceptions have been raised, and traps none. -1 if there is no
/// memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fesetexcept(exceptions: c_int) -> c_int {
    if !own() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { fesetexcept(exceptions) }
}

/// `fesetexceptflag`: notes whether these exceptions have been raised, as kept in `flags`. -1 if
/// there is no memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fesetexceptflag(flags: *const c_void, exceptions: c_int) -> c_int {
    if !own() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { fesetexceptflag(flags, exceptions) }
}

/// `fetestexcept`: which of these exceptions have been raised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fetestexcept(exceptions: c_int) -> c_int {
    if !own() {
        return 0;
    }
    // SAFETY: passed on.
    unsafe { fetestexcept(exceptions) }
}

/// `fesetround`: sets the rounding mode. -1 if there is no memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fesetround(rounding: c_int) -> c_int {
    if !own() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { fesetround(rounding) }
}

/// `feholdexcept`: keeps the environment, and goes on with one in which nothing has been raised and
/// nothing traps. -1 if there is no memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_feholdexcept(environment: *mut c_void) -> c_int {
    if !own() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { feholdexcept(environment) }
}

/// `fesetenv`: sets the environment. -1 if there is no memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fesetenv(environment: *const c_void) -> c_int {
    if !own() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { fesetenv(environment) }
}

/// `feupdateenv`: sets the environment, and raises what has been raised until now. -1 if there is
/// no memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_feupdateenv(environment: *const c_void) -> c_int {
    if !own() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { feupdateenv(environment) }
}

/// `fesetmode`: sets what says how to compute. -1 if there is no memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fesetmode(modes: *const c_void) -> c_int {
    if !own() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { fesetmode(modes) }
}

/// `feenableexcept`: has these exceptions trap; returns those that did. -1 if there is no memory to
/// keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_feenableexcept(exceptions: c_int) -> c_int {
    if !own() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { feenableexcept(exceptions) }
}

/// `fedisableexcept`: has these exceptions trap no more; returns those that did. -1 if there is no
/// memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fedisableexcept(exceptions: c_int) -> c_int {
    if !own() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { fedisableexcept(exceptions) }
}
