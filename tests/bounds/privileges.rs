//! Programs that have more rights than who starts them: set-user-ID, set-group-ID, with file
//! capabilities. Their environment is chosen by somebody with fewer rights, and must not matter.
//!
//! Root makes such programs, of a copy of this one, and starts them as a user without rights.
//! Anybody else cannot; so there is one more form for all, a program that finds the kernel's mark
//! of such programs (`AT_SECURE`) because it has set it itself.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::Cluster;
use rustix::fs::{Mode, XattrFlags, chmod, setxattr};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use support::process::{child_of, end_after, no_core_file, plays};

/// The longest that a program may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A user, and a group, without any rights.
const NOBODY: u32 = 65_534;

/// What the file that `FIBRE_TRACE` names has in it before.
const PRECIOUS: &str = "precious";

/// How a program comes by its rights.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rights {
    /// It has none but those of who starts it.
    None,
    /// The bit of its file that gives it the owner's.
    SetUserId,
    /// The bit of its file that gives it the group's.
    SetGroupId,
    /// Capabilities of its file.
    Capabilities,
    /// It believes so.
    Marked,
}

/// A folder that all may write to, with a copy of this program in it.
struct Copy {
    folder: PathBuf,
    rights: Rights,
}

impl Copy {
    /// Makes the program, which gets these rights.
    fn new(name: &str, rights: Rights) -> Self {
        let unique = format!("fibre-rights-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(unique);
        fs::create_dir(&folder).unwrap();
        chmod(&folder, Mode::from_raw_mode(0o777)).unwrap();
        let copy = Self { folder, rights };
        let program = copy.program();
        // Another process writes it: a child of a test beside this one could inherit a descriptor
        // that this one had for that, and as long nobody can start the program.
        let mut copying = Command::new("cp");
        copying.arg(std::env::current_exe().unwrap()).arg(&program);
        assert!(copying.status().unwrap().success());
        let mode = match rights {
            Rights::None | Rights::Capabilities | Rights::Marked => 0o755,
            Rights::SetUserId => 0o4755,
            Rights::SetGroupId => 0o2755,
        };
        if is_root() {
            chown(&program, Some(0), Some(0)).unwrap();
        }
        chmod(&program, Mode::from_raw_mode(mode)).unwrap();
        if rights == Rights::Capabilities {
            // The kernel's form of the second version: flags, of which one makes them effective;
            // the lower permitted (CAP_CHOWN) and inheritable ones, and the upper ones.
            let value = [0x0200_0001_u32, 1, 0, 0, 0].map(u32::to_le_bytes).concat();
            let name = "security.capability";
            setxattr(&program, name, &value, XattrFlags::empty()).unwrap();
        }
        copy
    }

    fn program(&self) -> PathBuf {
        self.folder.join("program")
    }

    /// The path of a file in the folder.
    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }

    /// The command that starts the program in a role, as a user without rights.
    fn command(&self, role: &str, environment: &[(&str, &str)]) -> Command {
        let mut command = child_of(&self.program(), role, environment);
        command.env(
            "MARKED",
            u8::from(self.rights == Rights::Marked).to_string(),
        );
        let has_rights = u8::from(self.rights != Rights::None).to_string();
        command.env("RIGHTS", has_rights).current_dir(&self.folder);
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn is_root() -> bool {
    geteuid().is_root()
}

/// Whether the kernel says that this program has more rights than who has started it.
fn is_marked() -> bool {
    // SAFETY: reads what the kernel has handed to the process.
    (unsafe { libc::getauxval(libc::AT_SECURE) }) != 0
}

/// Sets the kernel's mark in this process: the vector that it lies in is behind the environment.
fn mark() {
    // SAFETY: the process has changed no variable, so this is the environment that the kernel has
    // laid out, with the vector behind its end. No other thread reads the vector now.
    unsafe {
        let mut word = libc::environ.cast::<usize>();
        while *word != 0 {
            word = word.add(1);
        }
        word = word.add(1);
        while *word != libc::AT_SECURE as usize {
            assert_ne!(*word, libc::AT_NULL as usize, "the kernel says nothing");
            word = word.add(2);
        }
        *word.add(1) = 1;
    }
}

/// Begins the part of a program: with the rights that its parent says it has.
fn begin_as_told() {
    no_core_file();
    end_after(LIMIT);
    if std::env::var("MARKED").unwrap() == "1" {
        mark();
    }
    let told = std::env::var("RIGHTS").unwrap() == "1";
    let words = "the kernel has given the program no rights: is the folder of temporary files \
         mounted nosuid, or is no_new_privs set?";
    assert_eq!(is_marked(), told, "{words}");
}

/// A server: starts a cluster, and stays until its standard input ends.
fn serve() {
    begin_as_told();
    let cluster = Cluster::builder().processors(1).build().unwrap();
    cluster.spawn(|| ()).join().unwrap();
    println!("\nserves");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    cluster.stop();
}

/// What a text file has in it, nothing if there is none.
fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Waits until one of these files has these words in it.
#[track_caller]
fn wait_for(words: &str, files: [&str; 2]) {
    let begun = Instant::now();
    while !files.iter().any(|file| text(file).contains(words)) {
        let late = begun.elapsed() > LIMIT;
        assert!(!late, "no {words:?} in {:?}", files.map(text));
        thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a server in an environment that names files and a port, and sends it SIGQUIT. Without
/// rights of its own it writes and serves what it was told to; with these it does nothing of that.
fn check_that_rights_decide(name: &str, rights: Rights) {
    if plays("server") {
        return serve();
    }
    let copy = Copy::new(name, rights);
    let [trace, dump, output, errors] = ["trace", "dump", "output", "errors"].map(|n| copy.path(n));
    fs::write(&trace, PRECIOUS).unwrap();
    let environment = [
        ("FIBRE_TRACE", trace.as_str()),
        ("FIBRE_DUMP", &dump),
        ("FIBRE_METRICS", "127.0.0.1:0"),
        ("FIBRE_DEBUG", "config"),
        ("FIBRE_STATS", "1"),
        ("FIBRE_no_such_setting", "1"),
    ];
    let mut command = copy.command("server", &environment);
    command
        .stdin(Stdio::piped())
        .stdout(File::create(&output).unwrap())
        .stderr(File::create(&errors).unwrap());
    let mut server = command.spawn().unwrap();
    wait_for("serves", [&output, &errors]);
    let process = Pid::from_child(&server);
    kill_process(process, Signal::QUIT).unwrap();
    wait_for("fibre: dump of", [&dump, &errors]);
    drop(server.stdin.take());
    let status = server.wait().unwrap();
    let said = text(&errors);
    assert!(status.success(), "{status}: {} {said}", text(&output));
    let obeyed = rights == Rights::None;
    assert_eq!(text(&trace) != PRECIOUS, obeyed, "the trace's file");
    assert_eq!(Path::new(&dump).exists(), obeyed, "the dump's file");
    for words in ["/metrics", "settings of", "means nothing", "switches"] {
        assert_eq!(said.contains(words), obeyed, "{words:?} in {said}");
    }
}

#[test]
fn who_starts_a_program_decides_what_it_writes() {
    check_that_rights_decide("none", Rights::None);
}

#[cfg(not(feature = "sanitizer"))] // Its leak checker cannot trace such a program.
#[test]
fn a_set_user_id_program_has_no_environment() {
    if is_root() || plays("server") {
        check_that_rights_decide("user", Rights::SetUserId);
    }
}

#[cfg(not(feature = "sanitizer"))] // Its leak checker cannot trace such a program.
#[test]
fn a_set_group_id_program_has_no_environment() {
    if is_root() || plays("server") {
        check_that_rights_decide("group", Rights::SetGroupId);
    }
}

#[cfg(not(feature = "sanitizer"))] // Its leak checker cannot trace such a program.
#[test]
fn a_program_with_capabilities_has_no_environment() {
    if is_root() || plays("server") {
        check_that_rights_decide("capabilities", Rights::Capabilities);
    }
}

#[test]
fn a_marked_program_has_no_environment() {
    check_that_rights_decide("marked", Rights::Marked);
}

/// Nonsense of somebody else's keeps no program with rights from starting, and no setting counts.
#[test]
fn somebody_elses_nonsense_is_no_error() {
    if plays("nonsense") {
        begin_as_told();
        let cluster = Cluster::builder().build().unwrap();
        assert!(cluster.processors() < 77);
        cluster.spawn(|| ()).join().unwrap();
        cluster.stop();
        return;
    }
    let rights = if is_root() {
        Rights::SetUserId
    } else {
        Rights::Marked
    };
    let copy = Copy::new("nonsense", rights);
    let environment = [
        ("FIBRE_SPIN", "nonsense"),
        ("FIBRE_QUIT", "abort"),
        ("FIBRE_STACK_SIZE", "1"),
        ("FIBRE_PROCESSORS", "77"),
        ("FIBRE_MAX_FIBRES", "0"),
    ];
    let output = copy.command("nonsense", &environment).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
