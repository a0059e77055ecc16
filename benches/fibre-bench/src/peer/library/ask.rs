//! What comes out of questions.

use hdrhistogram::Histogram;

/// What has been counted and measured.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The sum of the answers; each is its question plus one.
    pub sum: u64,
    /// How long one question in [`Asked::TIMED`] took, in nanoseconds.
    pub latency: Histogram<u64>,
}

impl Asked {
    /// One question in so many is timed by itself, as clocks cost time, too.
    pub const TIMED: u64 = 16;

    /// Nothing asked yet.
    ///
    /// # Errors
    ///
    /// When there is no memory for the histogram.
    pub fn new() -> anyhow::Result<Self> {
        // Three digits are 0.1 %.
        let latency = Histogram::new(3)?;
        Ok(Self { sum: 0, latency })
    }
}
