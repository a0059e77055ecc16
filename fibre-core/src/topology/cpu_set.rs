//! Sets of CPUs, in the notation that the kernel's files use: `0-3,8`.

use crate::sys::current;
use rustix::io::Errno;
use rustix::thread::{CpuSet as Mask, Pid, sched_getaffinity, sched_setaffinity};
use std::fmt::{self, Display};
use std::io;
use std::str::FromStr;
use std::sync::OnceLock;

/// CPU numbers beyond this are refused: a range that is a typing error must not
/// become a set of billions. Linux knows 8192 at most.
const LIMIT: usize = 1 << 16;

/// A set of CPUs, by the numbers that the kernel gives them.
///
/// ```
/// use fibre::topology::CpuSet;
///
/// let cpus: CpuSet = "0-3,8".parse().unwrap();
/// assert_eq!(cpus.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 8]);
/// assert_eq!(cpus.to_string(), "0-3,8");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuSet {
    /// In ascending order, each once.
    numbers: Vec<usize>,
}

impl CpuSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            numbers: Vec::new(),
        }
    }

    /// The CPUs that the calling thread may run on: its affinity mask.
    ///
    /// # Errors
    ///
    /// The kernel's; also if it knows more CPUs than the 1024 that the mask has room for.
    pub fn of_thread() -> io::Result<Self> {
        let mask = sched_getaffinity(None)?;
        Ok((0..Mask::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).collect())
    }

    /// The CPUs that any of these threads may run on, as far as the kernel says.
    pub(crate) fn of_threads(threads: impl IntoIterator<Item = i32>) -> Self {
        let mut all = Mask::new();
        let masks = threads
            .into_iter()
            .filter_map(|thread| sched_getaffinity(Some(Pid::from_raw(thread)?)).ok());
        for mask in masks {
            let set = (0..Mask::MAX_CPU).filter(|&cpu| mask.is_set(cpu));
            set.for_each(|cpu| all.set(cpu));
        }
        (0..Mask::MAX_CPU).filter(|&cpu| all.is_set(cpu)).collect()
    }

    /// The CPUs that the program may run on: the caller's affinity mask. A processor may be pinned,
    /// so for a fibre it is the mask of the first thread that has asked.
    ///
    /// # Errors
    ///
    /// As for [`of_thread`](Self::of_thread).
    pub fn of_program() -> io::Result<Self> {
        static FIRST: OnceLock<CpuSet> = OnceLock::new();
        match FIRST.get() {
            Some(first) if !current::processor().is_null() => Ok(first.clone()),
            _ => {
                let here = Self::of_thread()?;
                let _ = FIRST.set(here.clone());
                Ok(here)
            }
        }
    }

    /// Keeps the calling thread to these CPUs. Threads that it starts inherit this.
    ///
    /// # Errors
    ///
    /// The kernel's, if none of them is online and allowed; a CPU with a number of 1024 or more is
    /// invalid input.
    pub(crate) fn confine_thread(&self) -> io::Result<()> {
        self.confine_to(None)
    }

    /// Keeps the thread of this number to these CPUs.
    ///
    /// # Errors
    ///
    /// As [`confine_thread`](Self::confine_thread); `ESRCH` for number 0, which no thread has.
    pub(crate) fn confine(&self, thread: i32) -> io::Result<()> {
        let thread = Pid::from_raw(thread).ok_or(Errno::SRCH)?;
        self.confine_to(Some(thread))
    }

    /// Confines a thread, see [`confine_thread`](Self::confine_thread); `None` is the calling
    /// thread.
    fn confine_to(&self, thread: Option<Pid>) -> io::Result<()> {
        let mut mask = Mask::new();
        for cpu in self {
            if cpu >= Mask::MAX_CPU {
                let words = format!("CPU {cpu} is beyond the largest that can be pinned to");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
            }
            mask.set(cpu);
        }
        Ok(sched_setaffinity(thread, &mask)?)
    }

    /// Whether the CPU is in the set.
    #[must_use]
    pub fn contains(&self, cpu: usize) -> bool {
        self.numbers.binary_search(&cpu).is_ok()
    }

    /// How many CPUs are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The smallest number in the set.
    #[must_use]
    pub fn first(&self) -> Option<usize> {
        self.numbers.first().copied()
    }

    /// The numbers, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.into_iter()
    }

    /// The CPUs that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.iter().filter(|&cpu| other.contains(cpu)).collect()
    }
}

impl<'a> IntoIterator for &'a CpuSet {
    type Item = usize;
    type IntoIter = std::iter::Copied<std::slice::Iter<'a, usize>>;

    fn into_iter(self) -> Self::IntoIter {
        self.numbers.iter().copied()
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> Self {
        let mut numbers: Vec<usize> = numbers.into_iter().collect();
        numbers.sort_unstable();
        numbers.dedup();
        Self { numbers }
    }
}

/// The error of a text that is no list of CPUs. See [`CpuSet`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseCpuSetError {
    /// The part that is wrong.
    part: String,
}

impl Display for ParseCpuSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no CPU or range of CPUs, as in 0-3,8", self.part)
    }
}

impl std::error::Error for ParseCpuSetError {}

impl FromStr for CpuSet {
    type Err = ParseCpuSetError;

    /// Reads a list as the kernel writes it; an empty one is the empty set.
    fn from_str(text: &str) -> Result<Self, ParseCpuSetError> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Self::new());
        }
        let mut numbers = Vec::new();
        for part in text.split(',') {
            let (first, last) = range(part).ok_or_else(|| ParseCpuSetError {
                part: part.to_owned(),
            })?;
            numbers.extend(first..=last);
        }
        Ok(numbers.into_iter().collect())
    }
}

/// The ends of `3` or `0-3`.
fn range(part: &str) -> Option<(usize, usize)> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last) = (number(first)?, number(last)?);
    (first <= last && last < LIMIT).then_some((first, last))
}

/// A number of digits only: `parse` alone would accept a sign.
fn number(text: &str) -> Option<usize> {
    let text = text.trim();
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}

impl Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for run in self.numbers.chunk_by(|before, after| before + 1 == *after) {
            match run {
                [only] => write!(f, "{comma}{only}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [] => {}
            }
            comma = ",";
        }
        Ok(())
    }
}

/// A set for each of these CPUs, as a processor has that is pinned to it.
#[cfg(test)]
pub(crate) fn each(cpus: impl IntoIterator<Item = usize>) -> Vec<CpuSet> {
    let single = |cpu| [cpu].into_iter().collect();
    cpus.into_iter().map(single).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn reads_what_kernels_write() {
        for (text, numbers) in [
            ("0\n", &[0][..]),
            ("0-1\n", &[0, 1]),
            ("0-3,8", &[0, 1, 2, 3, 8]),
            ("8,0-3", &[0, 1, 2, 3, 8]),
            ("0-2,2-4,4", &[0, 1, 2, 3, 4]),
            (" 5 - 6 , 9 ", &[5, 6, 9]),
            ("\n", &[]),
            ("", &[]),
        ] {
            let set: CpuSet = text.parse().unwrap();
            assert_eq!(set.iter().collect::<Vec<_>>(), numbers, "{text:?}");
        }
    }

    #[test]
    fn refuses_what_is_none() {
        let huge = format!("0-{}", usize::MAX);
        for text in [
            "a", "-", "-1", "1-", "3-1", "0,,1", ",", "0,", "+1", "0x3", "1 2", "0-1-2", "65536",
            &huge,
        ] {
            let error = text.parse::<CpuSet>().unwrap_err();
            assert!(error.to_string().contains("no CPU"), "{text:?}");
        }
    }

    /// Writing and reading is the identity; no text makes the reader panic.
    #[test]
    fn random_sets_and_texts() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..2000 {
            let size = random.usize(..40);
            let set: CpuSet = (0..size).map(|_| random.usize(..64)).collect();
            assert_eq!(set.to_string().parse::<CpuSet>().unwrap(), set);
            let length = random.usize(..12);
            let text: String = (0..length)
                .map(|_| char::from(b"0123456789-, \nx+"[random.usize(..16)]))
                .collect();
            if let Ok(set) = text.parse::<CpuSet>() {
                assert_eq!(set.to_string().parse::<CpuSet>().unwrap(), set, "{text:?}");
            }
        }
    }

    #[test]
    fn set_operations() {
        let (low, odd): (CpuSet, CpuSet) = ((0..4).collect(), [1, 3, 5].into_iter().collect());
        assert_eq!(low.intersection(&odd).to_string(), "1,3");
        assert!(odd.contains(5) && !odd.contains(4));
        assert_eq!((odd.len(), odd.first()), (3, Some(1)));
        assert!(CpuSet::new().is_empty() && CpuSet::new().first().is_none());
    }
}
