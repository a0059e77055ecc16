//! Named choices: enums with values that have names in the environment, in C builders and in
//! reports.
//!
//! [`named_choice!`](named_choice) declares one. Each value is a line that ends with its name. The
//! macro makes the list of all values, parsing, printing and the text of errors from these lines,
//! so a new value is in all of them at once.

use std::fmt;

/// The names of a choice's values, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Names(pub &'static [&'static str]);

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.0.len() - 1;
        for (place, name) in self.0.iter().enumerate() {
            let before = match place {
                0 => "",
                _ if place == last => " or ",
                _ => ", ",
            };
            write!(f, "{before}{name}")?;
        }
        Ok(())
    }
}

/// A number with the noun that it counts: "1 fibre", "2 fibres".
#[cfg_attr(loom, allow(dead_code, reason = "models report nothing"))]
#[derive(Debug, Clone, Copy)]
pub struct Count<N>(pub N, pub &'static str);

impl<N: fmt::Display + PartialEq + From<u8>> fmt::Display for Count<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number, noun) = self;
        let ending = if *number == N::from(1) { "" } else { "s" };
        write!(f, "{number} {noun}{ending}")
    }
}

/// The error of a text that names no value of a choice; it lists the values.
///
/// ```
/// let error = "pull".parse::<fibre::Placement>().unwrap_err();
/// assert_eq!(error.to_string(), "a placement is push, staging, local or head");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownChoice {
    /// What the text was to name, with its article.
    what: &'static str,
    names: Names,
}

impl UnknownChoice {
    /// The error of a text that is not one of these names.
    pub const fn new(what: &'static str, names: Names) -> Self {
        Self { what, names }
    }
}

impl fmt::Display for UnknownChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.what, self.names)
    }
}

impl std::error::Error for UnknownChoice {}

/// An enum that [`named_choice!`](named_choice) has declared.
pub(crate) trait NamedChoice: std::str::FromStr {
    /// The names of its values.
    const NAMES: Names;
}

/// Declares an enum with named values: what it is called in errors, and for each value its name.
macro_rules! named_choice {
    (
        $(#[$of_choice:meta])*
        $seen:vis enum $choice:ident, $what:literal {
            $($(#[$of_value:meta])* $value:ident = $name:literal,)+
        }
    ) => {
        $(#[$of_choice])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $seen enum $choice {
            $($(#[$of_value])* $value,)+
        }

        impl $choice {
            /// All values, in their order.
            $seen const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// The value's name, as the environment has it.
            const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }

        impl $crate::choice::NamedChoice for $choice {
            const NAMES: $crate::choice::Names = $crate::choice::Names(&[$($name),+]);
        }

        impl ::std::fmt::Display for $choice {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl ::std::str::FromStr for $choice {
            type Err = $crate::choice::UnknownChoice;

            fn from_str(text: &str) -> ::std::result::Result<Self, Self::Err> {
                let names = <Self as $crate::choice::NamedChoice>::NAMES;
                let mut all = Self::ALL.into_iter();
                all.find(|value| value.name() == text)
                    .ok_or($crate::choice::UnknownChoice::new($what, names))
            }
        }
    };
}

pub(crate) use named_choice;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Count;

    super::named_choice! {
        /// A test.
        #[derive(Default)]
        pub enum Colour, "a colour" {
            /// The colour of blood.
            #[default]
            Red = "red",
            /// The colour of the sky.
            Blue = "light-blue",
            /// The colour of grass.
            Green = "green",
        }
    }

    #[test]
    fn every_name_means_its_value() {
        for value in Colour::ALL {
            assert_eq!(value.to_string().parse(), Ok(value));
        }
        assert_eq!(Colour::Blue.to_string(), "light-blue");
        assert_eq!(Colour::default(), Colour::ALL[0]);
    }

    #[test]
    fn nonsense_is_answered_with_all_names() {
        for text in ["", "Red", "red ", "blue"] {
            let error = text.parse::<Colour>().unwrap_err();
            assert_eq!(error.to_string(), "a colour is red, light-blue or green");
        }
    }

    #[test]
    fn only_one_is_singular() {
        let all = [0_usize, 1, 2].map(|number| Count(number, "fibre").to_string());
        assert_eq!(all, ["0 fibres", "1 fibre", "2 fibres"]);
    }
}
