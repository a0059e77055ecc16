//! Models of what is read while others write it, over all interleavings.
//!
//! One program, which `cargo xtask loom` builds with `--cfg loom`; without that there is nothing in
//! it.
#![cfg(loom)]

mod page;
mod request;
