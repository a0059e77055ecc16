//! The names of the faults that models plant in shipped code.
//!
//! `faults!` declares a crate's names, as constants in a module for each subject. Shipped code and
//! models name a fault by its constant, so a misspelt name does not compile.

/// Declares faults: `subject { FAULT, … }`, each with its documentation.
#[doc(hidden)]
#[macro_export]
macro_rules! faults {
    ($($subject:ident { $($(#[$about:meta])* $fault:ident,)+ })+) => {
        $(
            #[doc = concat!("Faults of `", stringify!($subject), "`.")]
            pub mod $subject {
                $(
                    $(#[$about])*
                    pub const $fault: &str =
                        concat!(stringify!($subject), "::", stringify!($fault));
                )+
            }
        )+
    };
}
