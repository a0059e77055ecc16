//! A reader of traces, written after the form that `fibre-inspect/src/trace/format.rs` tells.

use std::collections::HashMap;

/// Kinds of events, by their numbers.
pub const RUN: u8 = 1;
pub const START: u8 = 2;
pub const YIELD: u8 = 3;
pub const BLOCK: u8 = 4;
pub const END: u8 = 5;
pub const REST: u8 = 6;
pub const READY: u8 = 8;
pub const SPAWN: u8 = 9;
pub const STEAL: u8 = 10;
pub const SLEEP: u8 = 12;
pub const WAKE: u8 = 13;
pub const MARK: u8 = 14;
pub const TEXT: u8 = 15;
pub const THREAD: u8 = 16;
pub const BLOCK_BORN: u8 = 17;
pub const BLOCKS_ENDED: u8 = 18;
pub const RESCUE: u8 = 19;

/// An event.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    pub at: u64,
    pub kind: u8,
    pub word: u64,
    /// The track.
    pub track: usize,
}

impl Event {
    /// The fibre that it names.
    pub fn fibre(&self) -> u64 {
        self.word >> 22
    }

    /// What stands beside the fibre.
    pub fn beside(&self) -> u64 {
        self.word & 0x3f_ffff
    }
}

/// A track.
#[derive(Debug)]
pub struct Track {
    /// The name of the cluster; `None`: plain threads.
    pub cluster: Option<String>,
    pub processor: u32,
    pub lost: u64,
    pub events: Vec<Event>,
}

/// A trace.
#[derive(Debug, Default)]
pub struct Trace {
    pub process: u32,
    pub command: String,
    pub tracks: Vec<Track>,
    pub names: HashMap<u64, String>,
    /// Ticks, and nanoseconds of two clocks, at the beginning and at the end.
    pub clocks: Vec<u64>,
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().unwrap())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }

    fn text(&mut self) -> String {
        let length = self.u32() as usize;
        String::from_utf8(self.take(length).to_vec()).unwrap()
    }
}

impl Trace {
    /// Reads a trace that is whole.
    #[track_caller]
    pub fn read(bytes: &[u8]) -> Self {
        let mut bytes = Bytes(bytes);
        assert_eq!(bytes.take(8), b"fibretrc");
        assert_eq!(bytes.u32(), 1);
        let mut trace = Self::default();
        loop {
            let tag = bytes.take(4);
            let length = bytes.u64() as usize;
            let mut content = Bytes(bytes.take(length));
            match tag {
                b"PROC" => {
                    (trace.process, _) = (content.u32(), content.u32());
                    trace.command = content.text();
                }
                b"TRCK" => trace.track(content),
                b"NAME" => {
                    while !content.0.is_empty() {
                        trace.names.insert(content.u64(), content.text());
                    }
                }
                b"CLCK" => trace.clocks = (0..6).map(|_| content.u64()).collect(),
                b"DONE" => {
                    assert!(bytes.0.is_empty());
                    return trace;
                }
                _ => panic!("a section {tag:?}"),
            }
        }
    }

    fn track(&mut self, mut bytes: Bytes<'_>) {
        let is_processor = bytes.u32() == 1;
        let _number = bytes.u64();
        let (processor, _thread) = (bytes.u32(), bytes.u32());
        let (lost, _dropped) = (bytes.u64(), bytes.u64());
        let cluster = Some(bytes.text()).filter(|_| is_processor);
        let track = self.tracks.len();
        let mut events = Vec::new();
        while !bytes.0.is_empty() {
            let (stamp, word) = (bytes.u64(), bytes.u64());
            events.push(Event {
                at: stamp >> 8,
                kind: stamp as u8,
                word,
                track,
            });
        }
        assert!(
            events.is_sorted_by_key(|event| event.at),
            "events of one writer are in order"
        );
        self.tracks.push(Track {
            cluster,
            processor,
            lost,
            events,
        });
    }

    /// All events, in the order of their stamps.
    pub fn events(&self) -> Vec<Event> {
        let all = self.tracks.iter().flat_map(|track| &track.events);
        let mut all: Vec<_> = all.copied().collect();
        all.sort_by_key(|event| event.at);
        all
    }

    /// The fibre with this name.
    #[track_caller]
    pub fn named(&self, name: &str) -> u64 {
        let found = self.names.iter().find(|(_, known)| *known == name);
        *found.unwrap_or_else(|| panic!("no {name}")).0
    }

    /// The texts of all marks.
    pub fn marks(&self) -> Vec<String> {
        let mut marks = Vec::new();
        for track in &self.tracks {
            let mut text = Vec::new();
            for event in &track.events {
                match event.kind {
                    TEXT => text.extend(event.word.to_le_bytes()),
                    MARK => {
                        text.extend(event.word.to_le_bytes());
                        let whole = String::from_utf8(std::mem::take(&mut text)).unwrap();
                        marks.push(whole.trim_end_matches('\0').to_owned());
                    }
                    _ => {}
                }
            }
        }
        marks
    }
}
