//! How the shared library is linked, by cargo-c and `cargo xtask capi`.
//!
//! rustc gives the linker a list of what is exported, without a version, and no linker takes a
//! second list beside it. GNU's can give all of them one version, which is the library's own name.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Asked for by cargo-c and xtask; else no shared library is made.
    if std::env::var_os("CARGO_FEATURE_CAPI").is_some() {
        println!("cargo::rustc-link-arg=-fuse-ld=bfd");
        println!("cargo::rustc-link-arg=-Wl,--default-symver");
        // Debuggers find by it what is stripped from the library.
        println!("cargo::rustc-link-arg=-Wl,--build-id");
        // Processors run its code until the process ends.
        println!("cargo::rustc-link-arg=-Wl,-z,nodelete");
    }
}
