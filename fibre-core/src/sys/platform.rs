//! The supported platform. The runtime's assembly is for one kind of CPU, and its system calls are
//! for one kernel; elsewhere the compiler would complain about unknown registers and functions.

#[cfg(not(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_pointer_width = "64"
)))]
compile_error!(
    "fibre runs on Linux on 64-bit x86-64 only: its context switch, its thread-local and its system \
     calls are written for that, and no other target is supported yet"
);
