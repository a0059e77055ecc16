//! Counts that guard soundness: they end the process rather than wrap.

use super::stderr;

/// A count that goes up, or down, by a few. Ends the process if it cannot: what it guards would be
/// open.
#[inline]
pub(crate) fn counted(count: u32, by: i32, what: &str) -> u32 {
    match count.checked_add_signed(by) {
        Some(count) => count,
        None => end(what),
    }
}

/// Ends the process, as a count is at its end.
#[cold]
fn end(what: &str) -> ! {
    stderr::abort_with(format_args!("more {what} than can be counted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_up_to_the_last_number() {
        assert_eq!(counted(0, 1, "things"), 1);
        assert_eq!(counted(1, -1, "things"), 0);
        assert_eq!(counted(1 << 16, 1, "things"), (1 << 16) + 1);
        assert_eq!(counted(u32::MAX - 1, 1, "things"), u32::MAX);
    }
}
