//! The supported platform. The runtime's assembly is for two kinds of CPU, and its system calls are
//! for one kernel; elsewhere the compiler would complain about unknown registers and functions.

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_endian = "little",
    target_pointer_width = "64"
)))]
compile_error!(
    "fibre runs on Linux on 64-bit x86-64 and 64-bit ARM (little-endian) only: its context switch, its \
     thread-local and its system calls are written for these, and no other target is supported yet"
);
