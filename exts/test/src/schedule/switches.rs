//! Where a run leaves the default order.
//!
//! The *default order*: a fibre goes on at a switch point; where it waits, ends, or yields by
//! itself, the one runs next that has been ready for longest. A run is known by its *switches*, the
//! places where another fibre has run. A place is known by the fibre that ran, and by how often it
//! has left its stack: so it is the same place if the others have run in another order meanwhile.
//!
//! As a text: `0.3-2,1.5-0` is "where fibre 0 leaves for the third time, fibre 2 runs; where fibre
//! 1 leaves for the fifth time, fibre 0 runs". Fibres count by the order of their appearance in the
//! run. No switches at all are `-`. No shell has a meaning of its own for these characters.

use std::collections::BTreeMap;
use std::fmt;

/// A place where a run leaves the default order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Switch {
    /// The fibre that ran.
    pub(crate) from: usize,
    /// How often it has left its stack, with this time.
    pub(crate) step: u64,
    /// The fibre that runs next.
    pub(crate) to: usize,
}

/// The switches of a run, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Switches(pub(crate) Vec<Switch>);

impl Switches {
    /// Reads what [`Display`](fmt::Display) writes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == "-" {
            return Some(Self::default());
        }
        let switches: Option<Vec<_>> = text.split(',').map(Switch::parse).collect();
        switches.map(Self)
    }

    /// The fibre that runs next, by the place.
    pub(crate) fn by_place(&self) -> BTreeMap<(usize, u64), usize> {
        let place = |switch: &Switch| ((switch.from, switch.step), switch.to);
        self.0.iter().map(place).collect()
    }
}

impl Switch {
    /// Reads one.
    fn parse(text: &str) -> Option<Self> {
        let (place, to) = text.split_once('-')?;
        let (from, step) = place.split_once('.')?;
        let (from, step, to) = (from.parse().ok()?, step.parse().ok()?, to.parse().ok()?);
        Some(Self { from, step, to })
    }
}

impl fmt::Display for Switches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("-");
        }
        for (number, Switch { from, step, to }) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            write!(f, "{comma}{from}.{step}-{to}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for text in ["-", "0.3-2", "0.3-2,1.5-0"] {
            let switches = Switches::parse(text);
            assert_eq!(switches.map(|it| it.to_string()).as_deref(), Some(text));
        }
        for nonsense in [
            "", ",", "0.3", "0-3", "0.3-2,", "a.3-2", "0.3-2,-", "-1.2-3",
        ] {
            assert_eq!(Switches::parse(nonsense), None, "{nonsense:?}");
        }
    }
}
