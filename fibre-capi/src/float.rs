//! What a fibre has of its own instead of the kernel thread's, and the floating-point environment:
//! rounding modes, exceptions, the precision of the x87. The other one is the locale
//! ([`crate::locale`]).
//!
//! C has a floating-point environment for each thread. The CPU's is in two registers of the kernel
//! thread, MXCSR and the state of the x87, which a switch leaves alone. So a fibre that calls a
//! function here, for which `fenv.h`'s are mapped, has an environment of its own from then on: each
//! of its calls that may leave the stack puts it away, and takes it back at its end
//! (`errno::watch_calls`). Meanwhile the thread has the one that all begin with. Fibres without an
//! own environment pay for a look, once there is any with one, and nothing before.
//!
//! A fibre begins with a copy of its creator's, as C11 7.6 has it. What a program writes into the
//! registers by itself (`_mm_setcsr`, `_FPU_SETCW`) is kept once the fibre has called a function
//! here.

use crate::environment::{Environment, Locale, Registers, base, control_here};
use crate::errno;
use crate::record::{Record, of_fibre};
use fibre_core::in_fibre;
use std::ffi::{c_int, c_void};
use std::ptr;

/// Puts away what the calling fibre has of its own, or takes it back.
fn around_call(leaves: bool) {
    let Some(record) = of_fibre() else {
        return;
    };
    // SAFETY: the fibre's own.
    let Some(own) = (unsafe { record.environment.get().as_mut() }) else {
        return;
    };
    if leaves {
        if own.calls == 0 {
            own.put_away();
        }
        own.calls += 1;
    } else if own.calls > 0 {
        own.calls -= 1;
        if own.calls == 0 {
            own.take_back();
        }
    }
}

/// Has a fibre something of its own from now on; the fibre is the caller, or does not run yet.
/// `false`: there is no memory.
fn change(record: &Record, change: impl FnOnce(&mut Environment)) -> bool {
    if record.environment.get().is_null() {
        // Before the caller changes anything, as all others compute with what it has now.
        base();
        errno::watch_calls(around_call);
        // SAFETY: room for the value, which is written before it is used.
        let place = unsafe { libc::malloc(size_of::<Environment>()) }.cast::<Environment>();
        if place.is_null() {
            return false;
        }
        // SAFETY: as above.
        unsafe { place.write(Environment::default()) };
        record.environment.set(place);
    }
    // SAFETY: allocated above, and no other caller's.
    change(unsafe { &mut *record.environment.get() });
    true
}

/// Has the fibre compute in its own way. `false`: there is no memory.
fn keep(record: &Record, registers: Registers) -> bool {
    change(record, |own| own.registers = Some(registers))
}

/// Gives a new fibre its creator's floating-point environment, which is the caller. `false`: there
/// is no memory.
pub fn inherit(record: &Record) -> bool {
    record.environment.set(ptr::null_mut());
    if !in_fibre() {
        return control_here() == base().control() || keep(record, Registers::read());
    }
    let creators = of_fibre().map_or(ptr::null_mut(), |creator| creator.environment.get());
    // SAFETY: the caller's own, which its call has put away.
    let registers = unsafe { creators.as_ref() }.and_then(|own| own.registers);
    registers.is_none_or(|registers| keep(record, registers))
}

/// Gives the thread what the calling fibre, which begins, has inherited.
#[inline]
pub fn begin(record: &Record) {
    // SAFETY: the fibre's own.
    if let Some(own) = unsafe { record.environment.get().as_mut() } {
        own.take_back();
    }
}

/// Leaves the processor what all begin with, as the calling fibre ends.
#[inline]
pub fn end(record: &Record) {
    // SAFETY: the fibre's own.
    if let Some(own) = unsafe { record.environment.get().as_mut() } {
        own.put_away();
        forget(record);
    }
}

/// Frees what a fibre had that has ended, or does not begin.
pub fn forget(record: &Record) {
    // SAFETY: allocated by `change`, or null; nothing uses it any more.
    unsafe { libc::free(record.environment.replace(ptr::null_mut()).cast()) };
}

/// Gives the calling fibre a floating-point environment of its own from now on. `false`: there
/// is no memory. On a plain thread it has one anyway.
fn own_registers() -> bool {
    of_fibre().is_none_or(|record| {
        // SAFETY: the fibre's own.
        let own = unsafe { record.environment.get().as_ref() };
        own.is_some_and(|own| own.registers.is_some()) || keep(record, Registers::read())
    })
}

/// Gives the calling fibre a locale of its own from now on. `false`: there is no memory. On a plain
/// thread it has one anyway.
pub fn own_locale() -> bool {
    let keep = |own: &mut Environment| {
        own.locale.get_or_insert_with(Locale::of_thread);
    };
    of_fibre().is_none_or(|record| change(record, keep))
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
    if !own_registers() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { feclearexcept(exceptions) }
}

/// `feraiseexcept`: raises these exceptions. -1 if there is no memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_feraiseexcept(exceptions: c_int) -> c_int {
    if !own_registers() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { feraiseexcept(exceptions) }
}

/// `fesetexcept`: notes that these exceptions have been raised, and traps none. -1 if there is no
/// memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fesetexcept(exceptions: c_int) -> c_int {
    if !own_registers() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { fesetexcept(exceptions) }
}

/// `fesetexceptflag`: notes whether these exceptions have been raised, as kept in `flags`. -1 if
/// there is no memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fesetexceptflag(flags: *const c_void, exceptions: c_int) -> c_int {
    if !own_registers() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { fesetexceptflag(flags, exceptions) }
}

/// `fetestexcept`: which of these exceptions have been raised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fetestexcept(exceptions: c_int) -> c_int {
    if !own_registers() {
        return 0;
    }
    // SAFETY: passed on.
    unsafe { fetestexcept(exceptions) }
}

/// `fesetround`: sets the rounding mode. -1 if there is no memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fesetround(rounding: c_int) -> c_int {
    if !own_registers() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { fesetround(rounding) }
}

/// `feholdexcept`: keeps the environment, and goes on with one in which nothing has been raised and
/// nothing traps. -1 if there is no memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_feholdexcept(environment: *mut c_void) -> c_int {
    if !own_registers() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { feholdexcept(environment) }
}

/// `fesetenv`: sets the environment. -1 if there is no memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fesetenv(environment: *const c_void) -> c_int {
    if !own_registers() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { fesetenv(environment) }
}

/// `feupdateenv`: sets the environment, and raises what has been raised until now. -1 if there is
/// no memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_feupdateenv(environment: *const c_void) -> c_int {
    if !own_registers() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { feupdateenv(environment) }
}

/// `fesetmode`: sets what says how to compute. -1 if there is no memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fesetmode(modes: *const c_void) -> c_int {
    if !own_registers() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { fesetmode(modes) }
}

/// `feenableexcept`: has these exceptions trap; returns those that did. -1 if there is no memory to
/// keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_feenableexcept(exceptions: c_int) -> c_int {
    if !own_registers() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { feenableexcept(exceptions) }
}

/// `fedisableexcept`: has these exceptions trap no more; returns those that did. -1 if there is no
/// memory to keep the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fedisableexcept(exceptions: c_int) -> c_int {
    if !own_registers() {
        return -1;
    }
    // SAFETY: passed on.
    unsafe { fedisableexcept(exceptions) }
}
