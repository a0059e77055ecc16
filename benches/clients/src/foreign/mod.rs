//! C libraries, each as much of it as the programs here need.

#[cfg(feature = "libcurl")]
pub mod curl;
#[cfg(feature = "libpq")]
pub mod pq;
