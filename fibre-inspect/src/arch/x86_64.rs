//! 64-bit x86: whether its clock can be relied on.

use std::arch::x86_64::__cpuid;

/// Whether the time stamp counter goes on at one rate, whatever the CPU does.
pub(crate) fn has_steady_counter() -> bool {
    const POWER: u32 = 0x8000_0007;
    __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & 1 << 8 != 0
}
