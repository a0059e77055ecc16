//! The nth Fibonacci number, by calls that run in parallel down to a grain (Program 1 of the
//! paper).

use anyhow::ensure;

/// What is to be computed.
#[derive(Debug, Clone, Copy)]
pub struct Fib {
    /// Which number.
    pub n: u64,
    /// Numbers up to this one are computed without a further call in parallel.
    pub grain: u64,
}

impl Default for Fib {
    fn default() -> Self {
        Self { n: 35, grain: 18 }
    }
}

impl Fib {
    /// How many calls split into two.
    #[must_use]
    pub fn splits(self) -> u64 {
        let half = |n| Self { n, ..self };
        match self.is_fine() {
            true => 0,
            false => 1 + half(self.n - 1).splits() + half(self.n - 2).splits(),
        }
    }

    /// Whether no call in parallel is worth its while.
    #[must_use]
    pub fn is_fine(self) -> bool {
        self.n <= self.grain.max(1)
    }

    /// The two numbers that add up to this one.
    #[must_use]
    pub fn halves(self) -> (Self, Self) {
        let half = |n| Self { n, ..self };
        (half(self.n - 1), half(self.n - 2))
    }

    /// Checks a number that has come out.
    ///
    /// # Errors
    ///
    /// If it is another one.
    pub fn check(self, outcome: u64) -> anyhow::Result<()> {
        let (mut this, mut next) = (0_u64, 1);
        for _ in 0..self.n {
            (this, next) = (next, this + next);
        }
        ensure!(outcome == this, "fib({}) = {outcome}", self.n);
        Ok(())
    }
}

/// The number, by calls one after the other.
#[must_use]
pub fn plain(n: u64) -> u64 {
    match n {
        0 | 1 => n,
        _ => plain(n - 1) + plain(n - 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_splits_down_to_the_grain() -> anyhow::Result<()> {
        assert_eq!(Fib { n: 5, grain: 4 }.splits(), 1);
        assert_eq!(Fib { n: 6, grain: 4 }.splits(), 2);
        assert_eq!(Fib { n: 2, grain: 0 }.splits(), 1);
        Fib { n: 20, grain: 5 }.check(plain(20))?;
        assert!(Fib { n: 20, grain: 5 }.check(1).is_err());
        Ok(())
    }
}
