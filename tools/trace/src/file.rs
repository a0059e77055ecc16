//! The form of a file, as `fibre-inspect/src/trace/format.rs` tells it.
//!
//! A file may end early, if the disk was full. Then what is there is read, and that is said.

use anyhow::{Context, Result, bail, ensure};
use std::collections::HashMap;

/// The first bytes of a file.
pub(crate) const MAGIC: &[u8] = b"fibretrc";

/// The version of the form that is understood.
const VERSION: u32 = 1;

/// The clocks at one moment.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clock {
    /// The ticks that events are stamped with.
    pub(crate) ticks: u64,
    /// Nanoseconds of a clock that goes on.
    pub(crate) monotonic: u64,
    /// Nanoseconds since 1970.
    pub(crate) realtime: u64,
}

/// The events of one writer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Track {
    /// The name of the cluster; `None`: the track of all plain threads.
    pub(crate) cluster: Option<String>,
    /// The number of the cluster.
    pub(crate) number: u64,
    /// The processor's number in its cluster.
    pub(crate) processor: u32,
    /// The kernel's number of the processor's thread.
    pub(crate) thread: u32,
    /// How many events came before, and are lost.
    pub(crate) lost: u64,
    /// How many events were lost as two plain threads had some at the same moment.
    pub(crate) dropped: u64,
    /// The events, in the order they were written.
    pub(crate) events: Vec<[u64; 2]>,
}

/// What is in a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct File {
    /// The number of the process.
    pub(crate) process: u32,
    /// Whether ticks are of one length, whatever the CPU does.
    pub(crate) steady: bool,
    /// The command.
    pub(crate) command: String,
    pub(crate) tracks: Vec<Track>,
    /// Names of fibres.
    pub(crate) names: HashMap<u64, String>,
    /// The clocks at the beginning, and when the file was written.
    pub(crate) clocks: Option<[Clock; 2]>,
    /// Whether the file is whole.
    pub(crate) whole: bool,
}

/// Bytes that are still to be read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// The next so many bytes.
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).context("it ends early")?;
        self.0 = rest;
        Ok(taken)
    }

    /// The next so many bytes, as an array.
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into()?)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn text(&mut self) -> Result<String> {
        let length = self.u32()? as usize;
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }
}

impl File {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If it is no trace, or one of another version, or damaged.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        ensure!(!bytes.is_empty(), "it is empty");
        let mut bytes = Bytes(bytes);
        let magic = bytes.take(MAGIC.len()).unwrap_or_default();
        ensure!(magic == MAGIC, "it is no trace of a fibre program");
        let version = bytes.u32()?;
        if version != VERSION {
            bail!("it has version {version}, and this program reads version {VERSION}");
        }
        let mut file = Self::default();
        while !file.whole && !bytes.0.is_empty() {
            let Ok((tag, length)) = bytes.array().and_then(|tag| Ok((tag, bytes.u64()?))) else {
                break;
            };
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let is_cut = length > bytes.0.len();
            let content = bytes.take(length.min(bytes.0.len()))?;
            if is_cut && &tag != b"TRCK" {
                break;
            }
            let name = String::from_utf8_lossy(&tag).into_owned();
            match file.section(&tag, Bytes(content)) {
                Err(_) if is_cut => break,
                result => result.with_context(|| format!("the section {name} is damaged"))?,
            }
        }
        Ok(file)
    }

    /// Reads a section.
    fn section(&mut self, tag: &[u8; 4], mut bytes: Bytes<'_>) -> Result<()> {
        match tag {
            b"PROC" => {
                self.process = bytes.u32()?;
                self.steady = bytes.u32()? & 1 != 0;
                self.command = bytes.text()?;
            }
            b"TRCK" => self.tracks.push(track(bytes)?),
            b"NAME" => {
                while !bytes.0.is_empty() {
                    let fibre = bytes.u64()?;
                    self.names.insert(fibre, bytes.text()?);
                }
            }
            b"CLCK" => self.clocks = Some([clock(&mut bytes)?, clock(&mut bytes)?]),
            b"DONE" => self.whole = true,
            // Of a later time.
            _ => {}
        }
        Ok(())
    }
}

/// Reads a track. A last event with a part missing is left out.
fn track(mut bytes: Bytes<'_>) -> Result<Track> {
    let is_processor = bytes.u32()? != 0;
    let mut track = Track {
        number: bytes.u64()?,
        processor: bytes.u32()?,
        thread: bytes.u32()?,
        lost: bytes.u64()?,
        dropped: bytes.u64()?,
        ..Track::default()
    };
    track.cluster = Some(bytes.text()?).filter(|_| is_processor);
    while bytes.0.len() >= 16 {
        track.events.push([bytes.u64()?, bytes.u64()?]);
    }
    Ok(track)
}

/// Reads the clocks of one moment.
fn clock(bytes: &mut Bytes<'_>) -> Result<Clock> {
    Ok(Clock {
        ticks: bytes.u64()?,
        monotonic: bytes.u64()?,
        realtime: bytes.u64()?,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// A section.
    fn section(tag: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let length = (content.len() as u64).to_le_bytes();
        [&tag[..], &length, content].concat()
    }

    /// The content of a processor's track with these events.
    fn track(events: &[[u64; 2]]) -> Vec<u8> {
        let mut content = [&1_u32.to_le_bytes()[..], &7_u64.to_le_bytes()].concat();
        content.extend(2_u32.to_le_bytes());
        content.extend(99_u32.to_le_bytes());
        content.extend(5_u64.to_le_bytes());
        content.extend(6_u64.to_le_bytes());
        content.extend(3_u32.to_le_bytes());
        content.extend(b"web");
        content.extend(
            events
                .as_flattened()
                .iter()
                .flat_map(|word| word.to_le_bytes()),
        );
        content
    }

    /// A file.
    fn file(sections: &[Vec<u8>]) -> Vec<u8> {
        [MAGIC, &VERSION.to_le_bytes(), &sections.concat()].concat()
    }

    #[test]
    fn everything_comes_back() {
        let name = [&4_u64.to_le_bytes()[..], &1_u32.to_le_bytes(), b"x"].concat();
        let clocks: Vec<u8> = (1..=6_u64).flat_map(u64::to_le_bytes).collect();
        let bytes = file(&[
            section(b"LATE", b"skipped"),
            section(b"TRCK", &track(&[[1, 2], [3, 4]])),
            section(b"NAME", &name),
            section(b"CLCK", &clocks),
            section(b"DONE", b""),
        ]);
        let file = File::read(&bytes).unwrap();
        assert!(file.whole);
        assert_eq!(file.names[&4], "x");
        assert_eq!(file.clocks.unwrap()[1].monotonic, 5);
        let expected = Track {
            cluster: Some("web".into()),
            number: 7,
            processor: 2,
            thread: 99,
            lost: 5,
            dropped: 6,
            events: vec![[1, 2], [3, 4]],
        };
        assert_eq!(file.tracks, [expected]);
    }

    #[test]
    fn what_is_left_of_a_file_is_read() {
        let whole = file(&[
            section(b"TRCK", &track(&[[1, 2], [3, 4]])),
            section(b"DONE", b""),
        ]);
        // Within the second event, and at any other place.
        let cut = File::read(&whole[..whole.len() - 12 - 4]).unwrap();
        assert!(!cut.whole);
        assert_eq!(cut.tracks[0].events, [[1, 2]]);
        for length in 12..whole.len() {
            assert!(!File::read(&whole[..length]).unwrap().whole);
        }
    }

    #[test]
    fn other_files_are_refused() {
        for wrong in [
            &b""[..],
            b"fibre",
            b"fibretrc\x02\0\0\0",
            b"{\"traceEvents\":[]}",
        ] {
            assert!(File::read(wrong).is_err());
        }
        assert!(File::read(&file(&[section(b"TRCK", b"short")])).is_err());
    }
}
