//! Labels of logarithmic axes.

use std::ops::Range;

/// Pixels between two labels, at least.
const APART: f64 = 44.0;

/// Where the labels of an axis of so many pixels are: at as many of 1, 2 and 5 times a power of ten
/// as have room.
pub(super) fn ticks(range: &Range<f64>, pixels: u32) -> Vec<f64> {
    let decade = f64::from(pixels) / (range.end / range.start).log10();
    // From 2 to 5 is the widest of three steps, from 1 to 2 the narrowest.
    let steps: &[f64] = match decade * 2_f64.log10() {
        room if room >= APART => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    // Powers of ten from one that is labelled to the next.
    let step = (APART / decade).ceil().max(1.0) as i32;
    let powers = range.start.log10().floor() as i32..=range.end.log10().ceil() as i32;
    let powers = powers.filter(|power| power.rem_euclid(step) == 0);
    let ticks = powers.flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
    ticks.filter(|tick| range.contains(tick)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_room() {
        for pixels in [280, 330, 530] {
            for range in [0.9..3.0, 0.5..50.0, 700.0..24_000.0, 1.0..1e6, 1e-3..1e12] {
                let ticks = ticks(&range, pixels);
                let length = (range.end / range.start).ln();
                assert!(!ticks.is_empty(), "{range:?}");
                for pair in ticks.windows(2) {
                    let apart = f64::from(pixels) * (pair[1] / pair[0]).ln() / length;
                    assert!(apart >= 0.99 * APART, "{apart} in {ticks:?}");
                }
            }
        }
    }
}
