//! Links the C libraries of the clients that are asked for.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "libpq")]
    link("libpq");
    #[cfg(feature = "libcurl")]
    link("libcurl");
}

/// Links a library as `pkg-config` says, or ends the build with the reason.
#[cfg(any(feature = "libpq", feature = "libcurl"))]
fn link(library: &str) {
    if let Err(error) = pkg_config::probe_library(library) {
        println!("cargo::error=the feature {library} needs the library: {error}");
    }
}
