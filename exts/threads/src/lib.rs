//! What `libfibre-threads.so` and `libfibre-threads.a` are made of: the names of `fibre-libc` for C
//! programs. A program that is linked with one of them, and not recompiled, has fibres for threads.
//!
//! The library's names stand before the C library's, as it is linked before that. Its initialiser
//! runs before `main`, and only notes what the program wants: the first `pthread_create` starts the
//! runtime ([`fibre_libc::threads_when_created`]). So a program may fork before that, as daemons
//! do, and one without threads pays for nothing.
//!
//! `docs/LIBC.md` of the repository says what a C program gets, and how it is linked.

/// Called before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

/// Makes the program's threads fibres, once it creates some.
extern "C" fn begin() {
    // SAFETY: whoever links a program with this library has promised it, as docs/LIBC.md says:
    // nothing in the program ties memory to a kernel thread by a system call.
    unsafe { fibre_libc::threads_when_created() };
}
