//! What compilers make of the mapping header: in whatever way a program is compiled, no call of it
//! reaches the system's threads.
//!
//! With every C and C++ compiler of gcc and clang that is installed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The mapping header.
const HEADER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../fibre-capi/include/fibre_pthread.h"
);

/// Calls whose buffers and lengths a fortified call checks, in C and C++; and words of the program
/// that are mapped names.
const CALLS: &str = "
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
struct operations { ssize_t (*read)(int, void *, size_t); int close; };
static int sem_post(int poll) { int send = poll; return send; }
static int once(const char *p) { char b[64]; ssize_t got = 0; size_t n = (size_t)*p; struct pollfd fds[2] = {{0, POLLIN, 0}, {1, POLLIN, 0}};
    struct operations o; char *words[1] = {0};
    o.read = &read; o.close = 3;
    errno = 0;
    got += read(0, b, n);
    got += read(0, b, sizeof b);
    got += o.read(0, b, n);
    got += pread((0), b, n, 0);
    got += pread(0, b, 7, 0);
    got += pwrite(0, p, n, 0);
    got += recv(0, b, n, 0);
    got += recv(0, b, 5, 0);
    got += recvfrom(0, b, n, 0, 0, 0);
    got += poll(fds, n, 0);
    got += poll(fds, 2, 0);
    got += write(1, b, n);
    got += open(p, O_RDONLY) + open(p, (int)n) + open(p, O_CREAT, 0600) + openat(AT_FDCWD, p, (int)n) + openat(0, p, O_CREAT, 0) + creat(\"x\", 0);
    got += fcntl(0, F_GETFL) + fcntl((0), F_SETFL, 0) + dup(0);
    got += sendfile(1, 0, 0, n) + waitpid(-1, 0, WNOHANG) + select(0, 0, 0, 0, 0);
    got += close(o.close) + posix_fallocate(0, 0, 1);
    got += system(p) + execv(p, words) + execve(p, words, words) + execvp(p, words) + posix_spawn(0, p, 0, 0, words, words);
    return (int)got + errno + sem_post(2);
}
static void tidy(void *a) { errno = a != 0; }
static void *run(void *a)
{
    pthread_cleanup_push(tidy, a);
    pthread_testcancel();
    pthread_cleanup_pop(1);
    once((const char *)a);
    return pthread_equal(pthread_self(), pthread_self()) ? a : 0;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    return pthread_create(&thread, 0, run, argv[argc - 1]) + pthread_join(thread, 0) + pthread_mutex_unlock(&lock);
}
";

/// Calls that only `_GNU_SOURCE` declares; the program says so itself.
const GNU_CALLS: &str = "
#define _GNU_SOURCE
#include <pthread.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct pollfd fd[1] = {{0, POLLIN, 0}};
    struct iovec v[1];
    v[0].iov_base = fd;
    v[0].iov_len = (size_t)argc;
    pthread_yield();
    return pthread_tryjoin_np(pthread_self(), 0) + pthread_setname_np(pthread_self(), \"x\") + ppoll(fd, (nfds_t)argc, 0, 0)
        + (int)preadv(0, v, 1, 0) + (int)pwritev(0, v, 1, 0) + (int)pread64(0, fd, sizeof fd, 0) + (int)preadv2(0, v, 1, 0, 0)
        + (int)pwritev2(0, v, 1, 0, 0) + fallocate(0, 0, 0, 1) + execvpe(\"x\", argv, argv)
        + lockf(0, F_LOCK, 0) + lockf64(0, F_LOCK, 0) + h_errno + (gethostbyname(*argv) != 0);
}
";

/// Both headers in one program.
const BOTH_HEADERS: &str = "
#include <pthread.h>
#include <fibre.h>
#include <errno.h>
static void tidy(void *a) { errno = a != 0; }
int main(void)
{
    pthread_t me = pthread_self();
    fibre_cleanup_push(tidy, 0);
    fibre_cleanup_pop(1);
    return fibre_equal(me, fibre_self()) + fibre_yield();
}
";

/// The parts of C++'s threads, and a program's own call beside each.
const STANDARD_THREADS: &str = "
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>
#include <pthread.h>
#include <unistd.h>
struct connection { long read(void *to, unsigned long most) { return ::read(0, to, most); } int close() { return ::close(0); } };
std::mutex lock;
std::condition_variable changed;
pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
int main()
{
    bool done = false;
    std::thread other([&] { std::lock_guard<std::mutex> held(lock); done = true; changed.notify_all(); });
    { std::unique_lock<std::mutex> held(lock); changed.wait(held, [&] { return done; }); }
    other.join();
    std::this_thread::yield();
    char byte;
    std::ifstream file(\"/dev/null\");
    file.read(&byte, 1);
    connection c;
    return pthread_mutex_lock(&own) + pthread_mutex_unlock(&own) + c.close() + (int)c.read(&byte, 1);
}
";

/// A folder for one test's files.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The installed compilers among these; the first one must be there.
fn installed<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let runs = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let found: Vec<_> = names.iter().copied().filter(runs).collect();
    assert_eq!(found.first(), names.first(), "a compiler is needed");
    found
}

/// Compiles a source with the header; the object.
fn object(folder: &Path, compiler: &str, file: &str, source: &str, options: &str) -> PathBuf {
    fs::write(folder.join(file), source).unwrap();
    let output = Command::new(compiler)
        .args(["-include", HEADER, "-Wall", "-Wextra", "-Werror"])
        .args(["-Wno-deprecated-declarations", "-Wno-unused-value"])
        .args(options.split_whitespace())
        .args(["-c", file, "-o", "x.o"])
        .current_dir(folder)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler} {options}: {errors}");
    folder.join("x.o")
}

/// What the checker says of an object's calls, but for the last line.
fn calls(object: &Path) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_fibre-check"))
        .arg("--calls")
        .arg(object)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines.pop();
    lines
}

#[test]
fn no_call_of_a_c_program_is_the_systems() {
    let folder = folder("c");
    for compiler in installed(&["gcc", "clang"]) {
        for options in [
            "-O0",
            "-O2",
            "-O3 -fPIC",
            "-O2 -D_FORTIFY_SOURCE=2",
            "-O2 -D_FILE_OFFSET_BITS=64",
            "-O2 -D_FORTIFY_SOURCE=2 -D_FILE_OFFSET_BITS=64",
            "-O2 -fexceptions",
            "-O2 -DFIBRE_MAIN -flto -ffat-lto-objects",
            "-std=c89 -D_XOPEN_SOURCE=700",
            "-std=c99 -pedantic-errors -D_POSIX_C_SOURCE=200809L",
            "-std=c17 -D_XOPEN_SOURCE=700",
            "-std=gnu2x -O1",
        ] {
            if compiler == "clang" && options.contains("lto") {
                // Its objects are no machine code then.
                continue;
            }
            let left = calls(&object(&folder, compiler, "calls.c", CALLS, options));
            assert!(left.is_empty(), "{compiler} {options}: {left:?}");
        }
        for options in ["-O1", "-O2 -D_FORTIFY_SOURCE=2 -D_FILE_OFFSET_BITS=64"] {
            let left = calls(&object(&folder, compiler, "gnu.c", GNU_CALLS, options));
            assert!(left.is_empty(), "{compiler} {options}: {left:?}");
        }
    }
}

#[test]
fn no_call_of_a_cpp_program_is_the_systems() {
    let folder = folder("cpp");
    for compiler in installed(&["g++", "clang++"]) {
        for options in [
            "-std=c++98 -O1",
            "-std=c++17 -O2 -D_FORTIFY_SOURCE=2 -D_FILE_OFFSET_BITS=64",
            "-std=c++20 -O1 -DFIBRE_MAIN",
        ] {
            let left = calls(&object(&folder, compiler, "calls.cpp", CALLS, options));
            assert!(left.is_empty(), "{compiler} {options}: {left:?}");
        }
    }
}

#[test]
fn the_librarys_own_header_may_be_included_too() {
    let folder = folder("both");
    let include = Path::new(HEADER).with_file_name("");
    for (compiler, file, version) in [("gcc", "both.c", "c99"), ("g++", "both.cpp", "c++11")] {
        let options = format!(
            "-std={version} -D_POSIX_C_SOURCE=200809L -I{}",
            include.display()
        );
        let left = calls(&object(&folder, compiler, file, BOTH_HEADERS, &options));
        assert!(left.is_empty(), "{compiler}: {left:?}");
    }
}

/// The inline half of C++'s threads goes to where the compiled half is, in every version of the
/// language that has them.
#[test]
fn standard_threads_are_the_systems_throughout() {
    let folder = folder("standard");
    for compiler in installed(&["g++", "clang++"]) {
        for version in ["11", "20"] {
            let options = format!("-O2 -std=c++{version}");
            let object = object(&folder, compiler, "std.cpp", STANDARD_THREADS, &options);
            let left = calls(&object).join("\n");
            assert!(left.contains("`pthread_mutex_lock`"), "{options}: {left}");
            let wanted = Command::new("nm").arg("-u").arg(&object).output().unwrap();
            let wanted = String::from_utf8(wanted.stdout).unwrap();
            let has = |name: &str| {
                wanted
                    .lines()
                    .any(|line| line.trim() == format!("U {name}"))
            };
            assert!(has("fibre_mutex_lock") && has("fibre_read") && has("fibre_close"));
            // Of the condition variable, the mutex and the thread nothing is ours.
            assert!(!wanted.contains("fibre_cond") && !wanted.contains("fibre_create"));
        }
    }
}
