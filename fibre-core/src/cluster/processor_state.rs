//! A processor as layers above see it while it goes on.

/// A processor, as it was at some time during the look.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ProcessorState {
    /// A number that the cluster has to itself as long as it exists.
    pub cluster: usize,
    /// Its number in its cluster.
    pub index: usize,
    /// The kernel's number of its thread.
    pub thread: i32,
    /// Which fibre it runs, for comparison only; zero: none. No address, which would count as a
    /// reference to the fibre.
    pub running: usize,
    /// How often it has looked after other things than its fibres. A processor with fibres that
    /// switch does so every 200 µs or so, and at each 256th switch at the latest.
    pub services: u64,
}
