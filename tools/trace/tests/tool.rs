//! The tool, with a trace that a process of this test has written: its summary, and what Perfetto
//! gets, which is read by a reader of protocol buffers that knows no message.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use fibre::channel::bounded;
use fibre::{Builder, trace};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

/// Set in the environment of the process that is traced: the file.
const ROLE: &str = "FIBRE_TEST_ROLE";

/// How often the fibres of the traced program wake each other.
const ROUNDS: u32 = 100;

/// What is traced.
fn program() {
    let (to, from) = (bounded(1), bounded(1));
    let ping = Builder::new().name("ping").spawn(move || {
        let helper = Builder::new()
            .name("helper")
            .spawn(|| fibre::sleep(Duration::from_micros(50)));
        helper.unwrap().join().unwrap();
        for number in 0..ROUNDS {
            to.0.send(number).unwrap();
            from.1.recv().unwrap();
        }
        trace::mark("ping is through");
    });
    let pong = Builder::new().name("pong").spawn(move || {
        while let Ok(number) = to.1.recv() {
            fibre::sleep(Duration::from_micros(300));
            from.0.send(number).unwrap();
        }
    });
    ping.unwrap().join().unwrap();
    pong.unwrap().join().unwrap();
}

/// A folder for one test, with a trace in it; goes when this does.
struct Folder(PathBuf);

impl Folder {
    /// Makes another process run the calling test, and the program in it.
    fn with_trace() -> Self {
        let test = thread::current().name().unwrap().to_owned();
        let name = format!("fibre-tool-{}-{test}", std::process::id());
        let folder = Self(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&folder.0).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", &test, "--test-threads=1"]);
        child.env(ROLE, "traced").env("FIBRE_PROCESSORS", "2");
        child.env("FIBRE_TRACE", folder.trace());
        let output = child.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        folder
    }

    fn trace(&self) -> PathBuf {
        self.0.join("of.trace")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether this is the process that is traced, and through with it. The trace is written at its
/// end.
fn was_traced() -> bool {
    let is_it = std::env::var_os(ROLE).is_some();
    if is_it {
        program();
    }
    is_it
}

/// Runs the tool.
fn tool(trace: &Path, options: &[&str]) -> Output {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_fibre-trace"));
    tool.arg(trace).args(options).output().unwrap()
}

#[test]
fn the_summary_tells_what_the_program_did() {
    if was_traced() {
        return;
    }
    let folder = Folder::with_trace();
    let output = tool(&folder.trace(), &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    for words in [
        "trace of process ",
        " events\n",
        "0 of \"fibre\" (1)",
        " by fibres",
        " by deadlines",
        "spawned: 3\n",
        "longest runs without a switch:\n",
        "\"ping\", for: channel: ",
        &format!("\"pong\", for: sleep: {ROUNDS} times"),
        "channel at 0x",
        "        1  ping is through\n",
    ] {
        assert!(text.contains(words), "no {words:?} in: {text}");
    }
    // No table of what there is not.
    assert!(
        !text.contains("not whole") && !text.contains("mutex"),
        "{text}"
    );
    let asked = tool(&folder.trace(), &["--summary"]);
    assert_eq!(String::from_utf8(asked.stdout).unwrap(), text);
}

/// The fields of a message: numbers with what they have, an integer or bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Value<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Value::Number(varint(&mut bytes)),
            1 => {
                let (number, rest) = bytes.split_first_chunk().unwrap();
                bytes = rest;
                Value::Number(u64::from_le_bytes(*number))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (taken, rest) = bytes.split_at(length);
                bytes = rest;
                Value::Bytes(taken)
            }
            kind => panic!("wire type {kind}"),
        };
        fields.push((key >> 3, value));
    }
    fields
}

/// What a field has.
#[derive(Debug, Clone, Copy)]
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The next integer.
fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return number;
        }
    }
    panic!("an integer without an end")
}

/// The values of one field.
fn values<'a>(message: &'a [u8], number: u64) -> impl Iterator<Item = Value<'a>> {
    let all = fields(message).into_iter();
    all.filter(move |(field, _)| *field == number)
        .map(|(_, value)| value)
}

/// The only integer of a field.
fn integer(message: &[u8], number: u64) -> Option<u64> {
    values(message, number).find_map(|value| match value {
        Value::Number(number) => Some(number),
        Value::Bytes(_) => None,
    })
}

/// The integers of a field, packed or not: eight bytes each.
fn integers(message: &[u8], number: u64) -> Vec<u64> {
    let mut all = Vec::new();
    for value in values(message, number) {
        match value {
            Value::Number(number) => all.push(number),
            Value::Bytes(bytes) => {
                let (words, rest) = bytes.as_chunks();
                assert!(rest.is_empty());
                all.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
            }
        }
    }
    all
}

/// The messages, or texts, of a field.
fn messages(message: &[u8], number: u64) -> Vec<&[u8]> {
    let all = values(message, number).filter_map(|value| match value {
        Value::Bytes(bytes) => Some(bytes),
        Value::Number(_) => None,
    });
    all.collect()
}

/// An arrow's end: the time, and the name of the slice.
type End = (u64, String);

/// What a drawing has.
#[derive(Default)]
struct Drawing {
    names: HashMap<u64, String>,
    tracks: HashSet<u64>,
    /// The names of tracks, and the tracks that they stand below.
    titles: HashMap<u64, (String, Option<u64>)>,
    /// Where arrows begin and end.
    begins: HashMap<u64, End>,
    ends: HashMap<u64, End>,
    /// When the slices of each track began that have not ended.
    open: HashMap<u64, Vec<u64>>,
}

impl Drawing {
    /// Reads a drawing, and checks that it fits together.
    fn read(bytes: &[u8]) -> Self {
        let mut drawing = Self::default();
        for packet in messages(bytes, 1) {
            for descriptor in messages(packet, 60) {
                if let Some(parent) = integer(descriptor, 5) {
                    assert!(
                        drawing.tracks.contains(&parent),
                        "a track comes before its parent"
                    );
                }
                let track = integer(descriptor, 1).unwrap();
                drawing.tracks.insert(track);
                if let Some(name) = messages(descriptor, 2).first() {
                    let title = String::from_utf8(name.to_vec()).unwrap();
                    let parent = integer(descriptor, 5);
                    drawing.titles.insert(track, (title, parent));
                }
            }
            for interned in messages(packet, 12) {
                for name in messages(interned, 2) {
                    let text = String::from_utf8(messages(name, 2)[0].to_vec()).unwrap();
                    drawing.names.insert(integer(name, 1).unwrap(), text);
                }
            }
            for event in messages(packet, 11) {
                drawing.event(integer(packet, 8).unwrap(), event);
            }
        }
        assert!(drawing.open.values().all(Vec::is_empty), "all slices end");
        drawing
    }

    /// Takes in an event.
    fn event(&mut self, at: u64, event: &[u8]) {
        let track = integer(event, 11).unwrap();
        assert!(self.tracks.contains(&track));
        let name = || self.names[&integer(event, 10).unwrap()].clone();
        match integer(event, 9).unwrap() {
            1 => {
                self.open.entry(track).or_default().push(at);
                let ended = integers(event, 48).into_iter();
                self.ends.extend(ended.map(|arrow| (arrow, (at, name()))));
            }
            2 => assert!(self.open.get_mut(&track).unwrap().pop().unwrap() <= at),
            3 => {
                let begun = integers(event, 47).into_iter();
                self.begins.extend(begun.map(|arrow| (arrow, (at, name()))));
            }
            kind => panic!("an event of kind {kind}"),
        }
    }
}

#[test]
fn perfetto_gets_arrows_from_wakers_to_woken() {
    if was_traced() {
        return;
    }
    let folder = Folder::with_trace();
    let drawn = folder.0.join("out.pftrace");
    let output = tool(&folder.trace(), &["-o", drawn.to_str().unwrap()]);
    assert!(output.status.success() && output.stdout.is_empty());
    let Drawing {
        names,
        begins,
        ends,
        ..
    } = Drawing::read(&std::fs::read(drawn).unwrap());
    assert!(ends.len() as u32 >= 2 * ROUNDS, "{} arrows", ends.len());
    for (arrow, (at, _)) in &ends {
        assert!(begins[arrow].0 <= *at, "an arrow goes back in time");
    }
    let to = |fibre: &str| {
        let its = ends.values().filter(|(_, name)| name.ends_with(fibre));
        its.count() as u32
    };
    assert!(to("\"ping\"") >= ROUNDS / 2 && to("\"pong\"") >= ROUNDS);
    let texts: HashSet<_> = names.values().map(String::as_str).collect();
    for text in [
        "wakes",
        "spawns",
        "asleep",
        "ping is through",
        "waits: sleep",
    ] {
        assert!(texts.contains(text), "no {text:?}");
    }
}

#[test]
fn tracks_of_fibres_stand_below_those_of_their_parents() {
    if was_traced() {
        return;
    }
    let folder = Folder::with_trace();
    let drawn = folder.0.join("out.pftrace");
    let above = |options: &[&str], fibre: &str| {
        let output = ["-o", drawn.to_str().unwrap()];
        assert!(
            tool(&folder.trace(), &[&output, options].concat())
                .status
                .success()
        );
        let Drawing { titles, .. } = Drawing::read(&std::fs::read(&drawn).unwrap());
        let mut its = titles.values().filter(|(title, _)| title.ends_with(fibre));
        let parent = its.next().map(|(_, parent)| parent.unwrap());
        assert!(its.next().is_none(), "each fibre has one track");
        parent.map(|parent| titles[&parent].0.clone())
    };
    let helpers = above(&[], "\"helper\"").unwrap();
    assert!(helpers.ends_with("\"ping\""), "{helpers}");
    for fibre in ["\"ping\"", "\"pong\""] {
        assert_eq!(above(&[], fibre).as_deref(), Some("fibres"));
    }
    // The parent may have no track.
    assert_eq!(above(&["--fibres", "0"], "\"helper\""), None);
}

#[test]
fn a_picture_shows_fibres_by_name_and_who_woke_them() {
    if was_traced() {
        return;
    }
    let folder = Folder::with_trace();
    let drawn = folder.0.join("out.svg");
    let options = ["--picture", drawn.to_str().unwrap(), "--length", "1h"];
    let output = tool(&folder.trace(), &options);
    assert!(output.status.success() && output.stdout.is_empty());
    let text = std::fs::read_to_string(drawn).unwrap();
    let count = |words: &str| text.matches(words).count() as u32;
    assert!(count("ping for ") >= ROUNDS && count("pong for ") >= ROUNDS);
    assert!(count("marker-end") >= 2 * ROUNDS, "arrows");
    assert!(count("asleep for ") > 0 && count("▾ ping is through") == 1);
}

#[test]
fn what_it_cannot_read_or_write_is_told() {
    if was_traced() {
        return;
    }
    let folder = Folder::with_trace();
    let other = folder.0.join("other");
    std::fs::write(&other, "no trace").unwrap();
    let failed = |trace: &Path, options: &[&str], words: &str| {
        let output = tool(trace, options);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && errors.contains(words),
            "{errors}"
        );
    };
    failed(&folder.0.join("nowhere"), &[], "cannot read");
    failed(&other, &[], "it is no trace of a fibre program");
    // It has no end, and need not have one to be refused.
    failed(
        Path::new("/dev/zero"),
        &[],
        "it is no trace of a fibre program",
    );
    failed(Path::new("/dev/null"), &[], "it is empty");
    failed(&folder.trace(), &["-o", "x.json"], "would be no JSON");
    failed(&folder.trace(), &["--length", "soon"], "--length");
    failed(&folder.trace(), &["-p", "/dev/full"], "cannot write");
    failed(
        &folder.trace(),
        &["-o", "/dev/full"],
        "cannot write /dev/full",
    );
    // A file that the disk had no room for.
    let bytes = std::fs::read(folder.trace()).unwrap();
    std::fs::write(&other, &bytes[..bytes.len() / 2]).unwrap();
    let cut = tool(&other, &[]);
    let text = String::from_utf8(cut.stdout).unwrap();
    assert!(
        cut.status.success() && text.contains("the file is not whole"),
        "{text}"
    );
}
