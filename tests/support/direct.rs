//! Reads past the page cache, which wait for the device.

/// A block of memory as `O_DIRECT` wants it.
#[repr(C, align(4096))]
pub struct DirectBlock(pub [u8; Self::SIZE]);

impl DirectBlock {
    /// How long it is.
    pub const SIZE: usize = 4096;
}

impl Default for DirectBlock {
    fn default() -> Self {
        Self([0; Self::SIZE])
    }
}
