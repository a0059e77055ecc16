//! What unwinds the stack of a thread by force.

/// What an unwinder passes on. Its own words are behind the first two.
#[repr(C, align(16))]
pub(super) struct Exception {
    /// Its origin.
    class: u64,
    /// How it is dropped: not at all.
    cleanup: Option<unsafe extern "C" fn()>,
    /// The unwinder's own.
    private: [usize; 6],
}

impl Exception {
    /// The end of a thread.
    pub(super) const fn new() -> Self {
        Self {
            class: u64::from_ne_bytes(*b"FIBREEND"),
            cleanup: None,
            private: [0; 6],
        }
    }
}
