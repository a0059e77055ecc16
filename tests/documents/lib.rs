//! The examples in the documentation of the facade that need other crates than it: tests of this
//! package, so that the facade is built without these.

#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../src/tracing/carry.md")]
    mod carry {}
    #[doc = include_str!("../../src/tracing/spans.md")]
    mod spans {}
    #[doc = include_str!("../../src/tracing/with_default.md")]
    mod with_default {}
}
