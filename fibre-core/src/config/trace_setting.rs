//! `FIBRE_TRACE`: whether processors record what they do, and where that is written.

use crate::config::settings::variable;
use std::path::PathBuf;
use std::str::FromStr;

/// The bytes of each processor's ring, unless the variable says otherwise.
const DEFAULT_RING: usize = 8 << 20;

/// The smallest ring, which has room for a few thousand events.
const SMALLEST_RING: usize = 64 << 10;

/// The largest ring.
const LARGEST_RING: usize = 4 << 30;

/// What `FIBRE_TRACE` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceSetting {
    /// The bytes of each processor's ring.
    pub ring: usize,
    /// The file that traces are written to, if the variable names one.
    pub file: Option<PathBuf>,
}

impl TraceSetting {
    /// The possible values in words.
    pub(crate) const WORDS: &str = "off, ring, ring:SIZE as in ring:8M with a size from 64K to 4G, \
         or the name of a file with a dot or a slash in it, alone or behind ring:SIZE and a comma";

    /// What the environment asks for. `None`: nothing is recorded.
    #[must_use]
    pub fn from_environment() -> Option<Self> {
        variable::<TraceChoice>("FIBRE_TRACE")?.0
    }
}

/// A value of the variable.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TraceChoice(Option<TraceSetting>);

impl FromStr for TraceChoice {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "off" {
            return Ok(Self(None));
        }
        let (ring, file) = match text.split_once(',') {
            Some((ring, file)) => (Some(ring), Some(file)),
            None if text == "ring" || text.starts_with("ring:") => (Some(text), None),
            None => (None, Some(text)),
        };
        Ok(Self(Some(TraceSetting {
            ring: ring.map_or(Ok(DEFAULT_RING), ring_bytes)?,
            file: file.map(file_name).transpose()?,
        })))
    }
}

/// The bytes of a ring.
fn ring_bytes(text: &str) -> Result<usize, ()> {
    let size = match text.strip_prefix("ring").ok_or(())? {
        "" => return Ok(DEFAULT_RING),
        size => size.strip_prefix(':').ok_or(())?,
    };
    let units = [('K', 10), ('M', 20), ('G', 30)];
    let with_unit = |(unit, shift)| Some((size.strip_suffix(unit)?, shift));
    let (digits, shift) = units.into_iter().find_map(with_unit).unwrap_or((size, 0));
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
    let number: usize = digits.parse().ok().filter(|_| is_number).ok_or(())?;
    let bytes = number.checked_mul(1 << shift).ok_or(())?;
    let fits = (SMALLEST_RING..=LARGEST_RING).contains(&bytes);
    fits.then_some(bytes).ok_or(())
}

/// The name of a file. A number or a word, such as `1` or `rign`, is probably a slip.
fn file_name(text: &str) -> Result<PathBuf, ()> {
    let is_number = text.parse::<f64>().is_ok();
    let is_file = text.contains(['.', '/']) && !text.ends_with('/') && !is_number;
    is_file.then(|| PathBuf::from(text)).ok_or(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Result<Option<(usize, Option<&str>)>, ()> {
        let setting = text.parse::<TraceChoice>()?.0;
        Ok(setting.map(|setting| {
            let file = setting.file.map(|file| &*file.display().to_string().leak());
            (setting.ring, file)
        }))
    }

    #[test]
    fn rings_have_sizes_and_traces_have_files() {
        assert_eq!(told("off"), Ok(None));
        assert_eq!(told("ring"), Ok(Some((8 << 20, None))));
        assert_eq!(told("ring:8M"), Ok(Some((8 << 20, None))));
        assert_eq!(told("ring:64K"), Ok(Some((64 << 10, None))));
        assert_eq!(told("ring:100000"), Ok(Some((100_000, None))));
        assert_eq!(told("ring:4G"), Ok(Some((4 << 30, None))));
        assert_eq!(told("out.trace"), Ok(Some((8 << 20, Some("out.trace")))));
        assert_eq!(told("/tmp/x"), Ok(Some((8 << 20, Some("/tmp/x")))));
        assert_eq!(told("ring:1M,./a,b"), Ok(Some((1 << 20, Some("./a,b")))));
    }

    #[test]
    fn slips_are_refused() {
        for wrong in [
            "",
            "1",
            "1.5",
            "on",
            "rign",
            "ring:",
            "ring8M",
            "ring:8m",
            "ring:8MM",
            "ring:63K",
            "ring:5G",
            "ring:+8M",
            "ring:-8M",
            "ring:1T",
            "ring:8M,",
            "ring:8M,file",
            "8M,a.b",
            "dir/",
            "ring:99999999999999999999",
        ] {
            assert_eq!(told(wrong), Err(()), "{wrong}");
        }
    }
}
