//! The files of the paper's load, and how often each is asked for: those of SPECweb99.
//!
//! A directory has 36 files, nine in each of four classes: a tenth of a kilobyte and its multiples,
//! and ten, a hundred and a thousand times as much. Twenty directories are 720 files of 100 MB.

use std::fs;
use std::io;
use std::path::Path;

/// How many directories there are.
pub(crate) const DIRECTORIES: u64 = 20;

/// How many of a hundred requests are for each class.
const CLASSES: [u64; 4] = [35, 50, 14, 1];

/// How many of a thousand requests for a class are for each of its files.
const FILES: [u64; 9] = [39, 59, 88, 178, 353, 118, 71, 50, 44];

/// A file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct File {
    directory: u64,
    class: u32,
    number: u64,
}

impl File {
    /// All files of so many directories.
    pub(crate) fn all(directories: u64) -> impl Iterator<Item = Self> {
        (0..directories).flat_map(|directory| {
            (0..4).flat_map(move |class| {
                (0..9).map(move |number| Self {
                    directory,
                    class,
                    number,
                })
            })
        })
    }

    #[allow(dead_code, reason = "for clients")]
    /// The file of the next request, by three random numbers: a directory by Zipf's law, a class,
    /// and a file of that.
    pub(crate) fn chosen(directories: u64, random: [u64; 3]) -> Self {
        let weights: Vec<u64> = (1..=directories).map(|rank| (1 << 20) / rank).collect();
        Self {
            directory: among(&weights, random[0]),
            class: among(&CLASSES, random[1]) as u32,
            number: among(&FILES, random[2]),
        }
    }

    /// Its path at the server.
    pub(crate) fn path(self) -> String {
        let Self {
            directory,
            class,
            number,
        } = self;
        format!("dir{directory:05}/class{class}_{number}")
    }

    /// How many bytes it has.
    pub(crate) fn size(self) -> usize {
        (self.number as usize + 1) * 10_usize.pow(self.class) * 1024 / 10
    }

    /// Its bytes: its path, again and again.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let line = self.path() + "\n";
        line.bytes().cycle().take(self.size()).collect()
    }
}

/// Which of some things a random number chooses that have these weights.
fn among(weights: &[u64], random: u64) -> u64 {
    let mut left = random % weights.iter().sum::<u64>();
    for (index, weight) in weights.iter().enumerate() {
        if left < *weight {
            return index as u64;
        }
        left -= weight;
    }
    0
}

/// Makes the files of so many directories. Blocks the thread.
pub(crate) fn make(root: &Path, directories: u64) -> io::Result<()> {
    for file in File::all(directories) {
        let path = root.join(file.path());
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(path, file.bytes())?;
    }
    Ok(())
}
