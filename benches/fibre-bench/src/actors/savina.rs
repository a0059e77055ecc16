//! What Savina's programs have in common: their generator of numbers.

/// Savina's `PseudoRandom`: linear congruences modulo 2¹⁶. It is a poor generator, and part of the
/// programs: counts of reads and writes follow from it.
#[derive(Debug, Clone)]
pub struct PseudoRandom(u64);

impl PseudoRandom {
    /// The generator that begins with this number.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, below 65,536.
    pub fn draw(&mut self) -> u64 {
        self.0 = (self.0.wrapping_mul(1309).wrapping_add(13849)) & 0xffff;
        self.0
    }

    /// The next number below a limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit
    }
}

impl Default for PseudoRandom {
    /// Savina's usual one.
    fn default() -> Self {
        Self::new(74_755)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_savina() {
        let mut random = PseudoRandom::default();
        // (74755 × 1309 + 13849) mod 65536, and so on.
        assert_eq!(random.draw(), 22_896);
        assert_eq!(random.draw(), 34_761);
        assert_eq!(PseudoRandom::default().below(100), 96);
    }
}
