//! The forms that models have; see `sync/twins.rs`.

/// Functions lose their `const`, constants are left out.
#[doc(hidden)]
#[macro_export]
macro_rules! const_outside_models {
    () => {};
    ($(#[$_of:meta])* const $_name:ident: $_type:ty $(= $_value:expr)?; $($rest:tt)*) => {
        $crate::const_outside_models! { $($rest)* }
    };
    (
        $(#[$of:meta])*
        $visible:vis const fn $name:ident($($arguments:tt)*) -> $result:ty $body:block
        $($rest:tt)*
    ) => {
        $(#[$of])*
        $visible fn $name($($arguments)*) -> $result $body
        $crate::const_outside_models! { $($rest)* }
    };
}

/// The second expression.
#[doc(hidden)]
#[macro_export]
macro_rules! const_or {
    ($_shipped:expr, $model:expr) => {
        $model
    };
}

/// Tells loom of the end of these fields.
#[doc(hidden)]
#[macro_export]
macro_rules! end_of_frame {
    ($type:ty: $($field:tt),+ $(; for $($generic:tt)+)?) => {
        impl $(<$($generic)+>)? $crate::sync::EndOfFrame for $type {
            fn end_of_frame(&mut self) {
                $(self.$field.end_of_frame();)+
            }
        }
    };
}

/// Nothing, as the atomics of models are larger.
#[doc(hidden)]
#[macro_export]
macro_rules! layout {
    ($($code:tt)*) => {};
}
