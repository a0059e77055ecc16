//! Colours: which events never run at the same time.
//!
//! A colour is a number, or a key of any type that can be compared. Two keys are one colour only if
//! they are equal: a hash says where to look, and never what is the same. So two connections never
//! wait for each other because their hashes meet, which has brought servers to a standstill where
//! handlers block (Icinga 2, issues 10825 and 10857, over the 193 strands of asio).
//!
//! In the tables of the papers colours do meet. They are [`Colours`] other than `Exact`.

use std::any::Any;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, OnceLock};

/// Which events never run at the same time: those of one colour run one after the other, in the
/// order they were posted. Colour 0 is the default, so a program that names no colours runs one
/// event at a time. A handler does not hand its colour on to the events that it posts.
///
/// Source: Zeldovich, Yip, Dabek, Morris, Mazières, Kaashoek, "Multiprocessor support for
/// event-driven programs" (2003), section 3.
///
/// ```
/// use fibre_events::Colour;
///
/// assert_eq!(Colour::from(7), Colour::from(7));
/// assert_eq!(Colour::of("one"), Colour::of(&String::from("one")));
/// assert_ne!(Colour::of("one"), Colour::of("other"));
/// assert_ne!(Colour::of(&7_u64), Colour::from(7)); // keys and numbers are different colours
/// assert_eq!(Colour::default(), Colour::from(0));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Colour(Kind);

/// The two kinds of colours.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Kind {
    Number(u64),
    Key(Arc<Key>),
}

/// A key and its hash.
struct Key {
    hash: u64,
    value: Box<dyn AnyKey>,
}

impl Colour {
    /// The colour of a key: the same for equal keys of one type, and for no others. Takes an
    /// allocation; keep the colour, and clone it, where the same key comes again and again.
    pub fn of<K>(key: &K) -> Self
    where
        K: ToOwned + ?Sized,
        K::Owned: Hash + Eq + Send + Sync + 'static,
    {
        static STATE: OnceLock<RandomState> = OnceLock::new();
        let value: K::Owned = key.to_owned();
        let hash = STATE.get_or_init(RandomState::new).hash_one(&value);
        let value = Box::new(value);
        Self(Kind::Key(Arc::new(Key { hash, value })))
    }

    /// What tables are looked up by, and what gives a colour its first processor: the number, or
    /// the key's hash.
    pub(crate) fn number(&self) -> u64 {
        match &self.0 {
            Kind::Number(number) => *number,
            Kind::Key(key) => key.hash,
        }
    }
}

impl Default for Colour {
    fn default() -> Self {
        Self::from(0)
    }
}

impl From<u64> for Colour {
    fn from(number: u64) -> Self {
        Self(Kind::Number(number))
    }
}

impl From<&Self> for Colour {
    fn from(colour: &Self) -> Self {
        colour.clone()
    }
}

impl fmt::Debug for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Number(number) => write!(f, "Colour({number})"),
            Kind::Key(key) => write!(f, "Colour(key {:016x})", key.hash),
        }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.value.is_equal(&*other.value)
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// A key of a type that is not known here.
trait AnyKey: Any + Send + Sync {
    /// Whether the other one is of the same type, and equal.
    fn is_equal(&self, other: &dyn AnyKey) -> bool;
}

impl<K: Eq + Send + Sync + 'static> AnyKey for K {
    fn is_equal(&self, other: &dyn AnyKey) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<K>().is_some_and(|other| self == other)
    }
}

/// Which colours are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Colours {
    /// All of them: two colours are one only if their numbers or keys are equal.
    #[default]
    Exact,
    /// Only as many as the table has entries: colours meet if their numbers, or hashes, are
    /// congruent. Mely's table has 65536. Colours that meet run one after the other, so a handler
    /// that waits for one that its colour has met waits forever: for comparisons with the papers
    /// only.
    Fixed(u64),
    /// Those of libasync-smp: a table of 1024 entries, as `Fixed(1024)`.
    Mod1024,
}

impl Colours {
    /// The colour that `colour` is known under in this table.
    pub(crate) fn entry(self, colour: Colour) -> Colour {
        match self {
            Self::Exact => colour,
            Self::Fixed(entries) => Colour::from(colour.number() % entries.max(1)),
            Self::Mod1024 => Colour::from(colour.number() % 1024),
        }
    }

    /// Whether entries stay when their colours have no events.
    pub(crate) fn is_fixed(self) -> bool {
        self != Self::Exact
    }
}

/// Hashes colours for the table of those that are alive: numbers by a multiplication, keys by what
/// is their hash already.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ColourHasher(u64);

impl Hasher for ColourHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = spread(self.0 ^ number);
    }

    fn write_isize(&mut self, kind: isize) {
        self.0 ^= kind.cast_unsigned() as u64;
    }
}

/// Spreads a number over all bits (Fibonacci hashing: Knuth, volume 3, section 6.4).
pub(crate) fn spread(number: u64) -> u64 {
    let product = u128::from(number) * 0x9E37_79B9_7F4A_7C15;
    (product >> 64) as u64 ^ product as u64
}

/// Builds [`ColourHasher`]s.
pub(crate) type BuildColourHasher = std::hash::BuildHasherDefault<ColourHasher>;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A key with hashes that are all the same.
    #[derive(Clone, PartialEq, Eq)]
    struct Clash(u32);

    impl Hash for Clash {
        fn hash<H: Hasher>(&self, state: &mut H) {
            state.write_u32(0);
        }
    }

    #[test]
    fn keys_with_one_hash_are_different_colours() {
        let (one, other) = (Colour::of(&Clash(1)), Colour::of(&Clash(2)));
        assert_eq!(one.number(), other.number());
        assert_ne!(one, other);
        assert_eq!(one, Colour::of(&Clash(1)));
    }

    #[test]
    fn keys_of_two_types_are_different_colours() {
        assert_ne!(Colour::of(&1_u32), Colour::of(&1_i32));
        assert_ne!(Colour::of(&1_u64), Colour::from(1));
    }

    #[test]
    fn tables_of_the_papers_merge_congruent_colours() {
        let entry = |table: Colours, number: u64| table.entry(Colour::from(number));
        assert_eq!(entry(Colours::Mod1024, 5), entry(Colours::Mod1024, 1029));
        assert_eq!(entry(Colours::Fixed(65_536), 65_537), Colour::from(1));
        assert_ne!(entry(Colours::Exact, 5), entry(Colours::Exact, 1029));
    }
}
