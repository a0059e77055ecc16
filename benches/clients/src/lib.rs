//! Blocking clients that know nothing of fibres, and what is needed to run and to measure them.
//!
//! | room | idea |
//! |---|---|
//! | [`foreign`] | libpq and libcurl as Rust sees them |
//! | [`client`] | each client as the same thing: connect, then call |
//! | [`way`] | on what they run: threads, or fibres in three ways |
//! | [`load`] | many clients at once, all answers checked, and what they cost |
//! | [`serving`] | a server of the crate `tiny_http` |
//! | [`waiting`] | an HTTP server that waits before it answers |
//! | [`servers`] | Redis, MariaDB and PostgreSQL for the time of a test |
//!
//! The programs `counter`, `query`, `crawler`, `sums` and `fetch` are what a user would write.
//! `compare-clients` measures.

pub mod client;
pub mod foreign;
pub mod load;
pub mod servers;
pub mod serving;
pub mod waiting;
pub mod way;
