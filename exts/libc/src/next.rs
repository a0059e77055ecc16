//! The C library's own function of a name that is defined here.

use fibre_core::internal::abort_with;
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The next definition of a name, which is looked for when it is first needed.
pub(crate) struct Next {
    /// The name.
    name: &'static CStr,
    /// The function; null before it is first asked for.
    found: AtomicPtr<c_void>,
}

impl Next {
    /// The next definition of this name.
    pub(crate) const fn of(name: &'static CStr) -> Self {
        Self {
            name,
            found: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The function.
    pub(crate) fn function(&self) -> *mut c_void {
        let found = self.find();
        if found.is_null() {
            abort_with(format_args!("the C library has no {:?}", self.name));
        }
        found
    }

    /// The function; null if this C library is too old to have it.
    pub(crate) fn find(&self) -> *mut c_void {
        let mut found = self.found.load(Ordering::Relaxed);
        if found.is_null() {
            // SAFETY: a name.
            found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            self.found.store(found, Ordering::Relaxed);
        }
        found
    }
}

/// Executes a program that is looked for where `PATH` says.
pub(crate) static EXECVPE: Next = Next::of(c"execvpe");

/// Executes a program that is open.
pub(crate) static FEXECVE: Next = Next::of(c"fexecve");

/// Finds what a forked child calls, as it must not look for a name.
pub(crate) fn find_for_children() {
    EXECVPE.function();
    FEXECVE.function();
}

/// Calls the C library's own function of this name.
macro_rules! call_next {
    ($name:ident: fn($($argument:expr => $type:ty),*) -> $result:ty) => {{
        static NEXT: $crate::next::Next = $crate::next::Next::of(
            // SAFETY: it ends in a zero, the only one.
            unsafe {
                std::ffi::CStr::from_bytes_with_nul_unchecked(
                    concat!(stringify!($name), "\0").as_bytes(),
                )
            },
        );
        // SAFETY: what the C library has by this name is this function.
        let next = unsafe {
            std::mem::transmute::<
                *mut std::ffi::c_void,
                unsafe extern "C-unwind" fn($($type),*) -> $result,
            >(NEXT.function())
        };
        // SAFETY: the caller's arguments.
        unsafe { next($($argument),*) }
    }};
}
pub(crate) use call_next;
