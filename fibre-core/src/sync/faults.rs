//! The names that models plant faults by, in shipped code.
//!
//! `faults!` declares those of a crate, as constants in a module for each subject. Shipped code and
//! models name a fault by its constant, so a name with a slip does not compile.

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
