//! What CMake is told: `find_package(fibre-rt)` gives the targets `fibre-rt::shared` and
//! `fibre-rt::static`. The files find everything by their own place, so a package may be moved.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The targets. What stands for `PRIVATE` is what the static library needs to be linked.
const CONFIG: &str = r#"# The C library of fibre: `find_package(fibre-rt)`, then link with fibre-rt::shared or fibre-rt::static.
get_filename_component(_fibre_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET fibre-rt::shared)
    add_library(fibre-rt::shared SHARED IMPORTED)
    set_target_properties(fibre-rt::shared PROPERTIES
        IMPORTED_LOCATION "${_fibre_prefix}/lib/libfibre-rt.so"
        INTERFACE_INCLUDE_DIRECTORIES "${_fibre_prefix}/include;${_fibre_prefix}/include/fibre-rt")
    add_library(fibre-rt::static STATIC IMPORTED)
    set_target_properties(fibre-rt::static PROPERTIES
        IMPORTED_LOCATION "${_fibre_prefix}/lib/libfibre-rt.a"
        INTERFACE_LINK_LIBRARIES "PRIVATE"
        INTERFACE_INCLUDE_DIRECTORIES "${_fibre_prefix}/include;${_fibre_prefix}/include/fibre-rt")
endif()
unset(_fibre_prefix)
"#;

/// Which versions a program may ask for: before 1.0, those of the same minor version.
const VERSION: &str = r#"set(PACKAGE_VERSION "VERSION")
set(PACKAGE_VERSION_COMPATIBLE FALSE)
string(REGEX MATCH "^[0-9]+\\.[0-9]+" _fibre_own "${PACKAGE_VERSION}")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" _fibre_asked "${PACKAGE_FIND_VERSION}")
if(_fibre_own STREQUAL _fibre_asked AND NOT PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
endif()
"#;

/// A project that builds a program with both libraries.
const PROJECT: &str = r#"cmake_minimum_required(VERSION 3.13)
project(uses C)
find_package(fibre-rt VERSION REQUIRED)
foreach(kind shared static)
    add_executable(${kind} PROGRAM)
    target_link_libraries(${kind} fibre-rt::${kind})
endforeach()
"#;

/// The files, each with its name. `private` is what the static library needs to be linked.
pub(super) fn files(version: &str, private: &str) -> [(&'static str, String); 2] {
    let beside: Vec<&str> = private.split(' ').collect();
    [
        (
            "fibre-rt-config.cmake",
            CONFIG.replace("PRIVATE", &beside.join(";")),
        ),
        (
            "fibre-rt-config-version.cmake",
            VERSION.replace("VERSION\"", &format!("{version}\"")),
        ),
    ]
}

/// Whether there is a CMake.
pub(super) fn is_there() -> bool {
    crate::workspace::require_program("cmake", "").is_ok()
}

/// Builds a program as a project of CMake's, with both libraries, and runs it; asks for a version
/// that there is not.
pub(super) fn check(prefix: &Path, place: &Path, program: &Path) -> Result<String> {
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::create_dir_all(place)?;
    configure(prefix, place, program, "0.1")?;
    run(Command::new("cmake")
        .arg("--build")
        .arg(place.join("build")))?;
    for kind in ["shared", "static"] {
        run(&mut Command::new(place.join("build").join(kind)))?;
    }
    let other = configure(prefix, place, program, "7.3");
    ensure!(other.is_err(), "CMake finds version 7.3");
    fs::remove_dir_all(place)?;
    Ok("shared and static".into())
}

/// Has CMake look for the library.
fn configure(prefix: &Path, place: &Path, program: &Path, version: &str) -> Result<()> {
    let program = program.display().to_string();
    let text = PROJECT.replace(
        "find_package(fibre-rt VERSION",
        &format!("find_package(fibre-rt {version}"),
    );
    fs::write(
        place.join("CMakeLists.txt"),
        text.replace("PROGRAM", &program),
    )?;
    let mut cmake = Command::new("cmake");
    cmake
        .arg("-S")
        .arg(place)
        .arg("-B")
        .arg(place.join("build"));
    run(cmake.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())))
}

/// Runs a command that must succeed.
fn run(command: &mut Command) -> Result<()> {
    let said = command.output();
    let said = said.with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let words = [said.stdout, said.stderr].concat();
    let words = String::from_utf8_lossy(&words);
    ensure!(
        said.status.success(),
        "{:?} fails: {words}",
        command.get_program()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_say_what_is_linked_and_which_version_it_is() {
        let [(_, config), (_, version)] = files("0.1.0", "-lpthread -lm");
        assert!(config.contains("\"-lpthread;-lm\""), "{config}");
        assert!(
            version.contains("set(PACKAGE_VERSION \"0.1.0\")"),
            "{version}"
        );
        assert!(
            version.contains("VERSION_LESS PACKAGE_FIND_VERSION"),
            "{version}"
        );
    }
}
