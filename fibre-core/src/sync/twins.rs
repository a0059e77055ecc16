//! Macros for code that differs in models, so that shipped code needs no `cfg` for them. The
//! models' forms are in `model/twins.rs`.
//!
//! * `const_outside_models!`: functions that are `const`, but not in models, where atomics have
//!   constructors that are not; and associated constants, which models lack.
//! * `const_or!`: a constant, or what models have in its place.
//! * `end_of_frame!`: tells loom that an object ends with its frame.
//! * `layout!`: the size of an object, which differs in models.

/// Functions that are `const` outside of models, and constants that are there only outside of them.
#[doc(hidden)]
#[macro_export]
macro_rules! const_outside_models {
    ($($code:tt)*) => { $($code)* };
}

/// The first expression outside of models, the second in them.
#[doc(hidden)]
#[macro_export]
macro_rules! const_or {
    ($shipped:expr, $_model:expr) => {
        $shipped
    };
}

/// Tells loom of the end of an object: of these fields of a type, and after `for` its generics.
#[doc(hidden)]
#[macro_export]
macro_rules! end_of_frame {
    ($($code:tt)*) => {};
}

/// Asserts the size of a type, its alignment, and where a field lies.
#[doc(hidden)]
#[macro_export]
macro_rules! layout {
    ($type:ty: $size:literal, $align:literal $(, $field:ident at $place:literal)?) => {
        const _: () = {
            assert!(size_of::<$type>() == $size && align_of::<$type>() == $align);
            $(assert!(std::mem::offset_of!($type, $field) == $place);)?
        };
    };
}
