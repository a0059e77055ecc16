//! How sizes and times are spread, by their quantiles.
//!
//! A distribution is asked for the value that a share of all values stays below, so one uniform
//! number makes one value, and numbers that follow from a key make sizes that do so, too.
//!
//! The parameters of *ETC* are those of the general-purpose pool of Facebook's caches (Atikoglu et
//! al.: "Workload Analysis of a Large-Scale Key-Value Store", SIGMETRICS 2012, section 5.1): the
//! size of keys is a generalised extreme value distribution, that of values and the time between
//! requests generalised Pareto distributions.

use std::fmt;
use std::str::FromStr;

/// A distribution of numbers that are not negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Fixed(f64),
    /// All between two bounds alike.
    Uniform(f64, f64),
    /// Exponential, by its mean.
    Exponential(f64),
    /// Generalised Pareto: location, scale, shape.
    Pareto(f64, f64, f64),
    /// Generalised extreme value: location, scale, shape.
    ExtremeValue(f64, f64, f64),
}

/// Sizes of keys of ETC, in bytes.
pub const ETC_KEY: Distribution = Distribution::ExtremeValue(30.7984, 8.20449, 0.078_688);
/// Sizes of values of ETC, in bytes.
pub const ETC_VALUE: Distribution = Distribution::Pareto(15.0, 214.476, 0.348_238);
/// Times between requests of ETC, in microseconds.
pub const ETC_GAP: Distribution = Distribution::Pareto(0.0, 16.0292, 0.154_971);

/// How many quantiles stand for a distribution without a simple formula of its mean.
const STEPS: u32 = 1 << 16;

impl Distribution {
    /// The value that a share of all values stays below; the share is in `[0, 1)`.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let value = match *self {
            Self::Fixed(value) => value,
            Self::Uniform(low, high) => low + share * (high - low),
            Self::Exponential(mean) => -mean * (1.0 - share).ln(),
            Self::Pareto(location, scale, 0.0) => location - scale * (1.0 - share).ln(),
            Self::Pareto(location, scale, shape) => {
                location + scale * ((1.0 - share).powf(-shape) - 1.0) / shape
            }
            Self::ExtremeValue(location, scale, shape) => {
                // The lowest one may be at infinity.
                let depth = -share.max(f64::MIN_POSITIVE).ln();
                if shape == 0.0 {
                    location - scale * depth.ln()
                } else {
                    location + scale * (depth.powf(-shape) - 1.0) / shape
                }
            }
        };
        value.max(0.0)
    }

    /// The mean; that of an extreme value distribution by quantiles, without the farthest tail.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Fixed(value) => value,
            Self::Uniform(low, high) => f64::midpoint(low, high),
            Self::Exponential(mean) => mean,
            Self::Pareto(location, scale, shape) => location + scale / (1.0 - shape),
            Self::ExtremeValue(..) => {
                let middle = |step: u32| (f64::from(step) + 0.5) / f64::from(STEPS);
                let sum: f64 = (0..STEPS).map(|step| self.quantile(middle(step))).sum();
                sum / f64::from(STEPS)
            }
        }
    }

    /// The quantile as a size, between two bounds.
    #[must_use]
    pub fn size(&self, share: f64, least: usize, most: usize) -> usize {
        (self.quantile(share).round() as usize).clamp(least, most)
    }

    /// What is wrong with the parameters.
    fn fault(&self) -> Option<&'static str> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        match *self {
            Self::Fixed(value) => (!positive(value)).then_some("a size or time is above 0"),
            Self::Uniform(low, high) => (!(low >= 0.0 && high > low && high.is_finite()))
                .then_some("uniform:LOW,HIGH with 0 <= LOW < HIGH"),
            Self::Exponential(mean) => (!positive(mean)).then_some("the mean is above 0"),
            Self::Pareto(location, scale, shape) | Self::ExtremeValue(location, scale, shape) => {
                (!(location >= 0.0 && positive(scale) && (-1.0..1.0).contains(&shape)))
                    .then_some("LOCATION >= 0, SCALE > 0, SHAPE from -1 to less than 1")
            }
        }
    }
}

impl FromStr for Distribution {
    type Err = String;

    /// A number, or `fixed:N`, `uniform:LOW,HIGH`, `exponential:MEAN`,
    /// `pareto:LOCATION,SCALE,SHAPE`, `gev:LOCATION,SCALE,SHAPE`, `etc-key`, `etc-value`,
    /// `etc-gap`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, list) = text.split_once(':').unwrap_or(match text {
            "etc-key" => return Ok(ETC_KEY),
            "etc-value" => return Ok(ETC_VALUE),
            "etc-gap" => return Ok(ETC_GAP),
            number => ("fixed", number),
        });
        let numbers: Result<Vec<f64>, _> = list.split(',').map(str::parse).collect();
        let numbers = numbers.map_err(|error| format!("{list:?}: {error}"))?;
        let distribution = match (name, numbers.as_slice()) {
            ("fixed", &[value]) => Self::Fixed(value),
            ("uniform", &[low, high]) => Self::Uniform(low, high),
            ("exponential", &[mean]) => Self::Exponential(mean),
            ("pareto", &[location, scale, shape]) => Self::Pareto(location, scale, shape),
            ("gev", &[location, scale, shape]) => Self::ExtremeValue(location, scale, shape),
            _ => {
                return Err(format!(
                    "no distribution of that name and so many parameters: {text}"
                ));
            }
        };
        distribution
            .fault()
            .map_or(Ok(distribution), |fault| Err(fault.into()))
    }
}

impl fmt::Display for Distribution {
    /// Writes it so that it can be parsed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Fixed(value) => write!(f, "fixed:{value}"),
            Self::Uniform(low, high) => write!(f, "uniform:{low},{high}"),
            Self::Exponential(mean) => write!(f, "exponential:{mean}"),
            ETC_VALUE => f.write_str("etc-value"),
            ETC_GAP => f.write_str("etc-gap"),
            ETC_KEY => f.write_str("etc-key"),
            Self::Pareto(location, scale, shape) => write!(f, "pareto:{location},{scale},{shape}"),
            Self::ExtremeValue(location, scale, shape) => {
                write!(f, "gev:{location},{scale},{shape}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    /// Whether two figures differ by less than a share.
    fn close(a: f64, b: f64, share: f64) -> bool {
        (a - b).abs() <= share * b.abs()
    }

    #[test]
    fn quantiles_are_the_known_ones() {
        // At 1 - 1/e an exponential value is its mean, and a Gumbel value has -ln(-ln(1 - 1/e)).
        let share = 1.0 - (-1.0_f64).exp();
        assert!(close(
            Distribution::Exponential(3.0).quantile(share),
            3.0,
            1e-12
        ));
        let gumbel = Distribution::ExtremeValue(10.0, 2.0, 0.0);
        assert!(close(
            gumbel.quantile(0.5),
            10.0 + 2.0 * 0.366_512_920_581_664_3,
            1e-12
        ));
        // At exp(-1) an extreme value is the location, whatever the shape.
        assert!(close(ETC_KEY.quantile((-1.0_f64).exp()), 30.7984, 1e-12));
        // Computed from the formulas with 30 digits.
        assert!(close(ETC_KEY.quantile(0.5), 33.849_233_4, 1e-8));
        assert!(close(ETC_KEY.quantile(0.99), 76.275_645_0, 1e-8));
        assert!(close(ETC_VALUE.quantile(0.5), 183.140_766_2, 1e-8));
        assert!(close(ETC_VALUE.quantile(0.99), 2_460.923_012_4, 1e-8));
        assert!(close(ETC_GAP.quantile(0.9), 44.352_154_1, 1e-8));
        assert_eq!(ETC_VALUE.quantile(0.0), 15.0);
        assert!(ETC_KEY.quantile(0.0).is_finite());
    }

    #[test]
    fn samples_have_the_quantiles_and_the_mean() {
        let all = [
            ETC_KEY,
            ETC_VALUE,
            ETC_GAP,
            Distribution::Exponential(5.0),
            Distribution::Uniform(2.0, 6.0),
        ];
        for distribution in all {
            let mut random = stream(1, 0);
            let mut samples: Vec<f64> = (0..200_000)
                .map(|_| distribution.quantile(random.f64()))
                .collect();
            samples.sort_by(f64::total_cmp);
            for share in [0.1, 0.5, 0.9, 0.99] {
                let sampled = samples[(share * 200_000.0) as usize];
                assert!(
                    close(sampled, distribution.quantile(share), 0.03),
                    "{distribution}"
                );
            }
            let mean = samples.iter().sum::<f64>() / 200_000.0;
            assert!(
                close(mean, distribution.mean(), 0.03),
                "{distribution}: {mean}"
            );
        }
    }

    #[test]
    fn text_goes_both_ways_and_nonsense_is_refused() {
        for text in [
            "fixed:30",
            "uniform:1,9",
            "pareto:1,2,0.5",
            "gev:1,2,0.1",
            "etc-key",
            "etc-gap",
        ] {
            let parsed: Result<Distribution, _> = text.parse();
            assert_eq!(parsed.map(|it| it.to_string()), Ok(text.into()));
        }
        assert_eq!("200".parse(), Ok(Distribution::Fixed(200.0)));
        for text in [
            "",
            "0",
            "-1",
            "nan",
            "uniform:9,1",
            "pareto:1,2",
            "pareto:0,1,1",
            "zeta:3",
            "gev:0,0,0",
        ] {
            assert!(text.parse::<Distribution>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_stay_within_their_bounds() {
        assert_eq!(ETC_VALUE.size(0.999_999_999, 8, 1000), 1000);
        assert_eq!(ETC_KEY.size(0.0, 12, 250), 12);
        assert_eq!(Distribution::Fixed(30.4).size(0.3, 1, 250), 30);
    }
}
