//! The events in a file, as `fibre-core/src/trace/event.rs` tells them.

/// Why a fibre has been made ready, if not by the fibre that runs there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Doing {
    /// By that fibre; if none runs, by the processor itself.
    Nothing,
    /// An event of a descriptor has come.
    Polls,
    /// A deadline has passed.
    FiresTimers,
    /// The fibre that ran last has handed its processor over.
    HandsOver,
    /// It was woken while it was leaving its stack.
    FindsWoken,
}

impl Doing {
    /// What stands beside a fibre.
    fn of(beside: u32) -> Self {
        match beside {
            1 => Self::Polls,
            2 => Self::FiresTimers,
            3 => Self::HandsOver,
            4 => Self::FindsWoken,
            _ => Self::Nothing,
        }
    }
}

/// What has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// The processor lets the fibre go on, or run for the first time.
    Run {
        fibre: u64,
        first: bool,
    },
    /// The fibre has let others run, and is ready.
    Yield(u64),
    /// The running fibre waits.
    Block {
        object: u64,
    },
    /// The fibre has ended.
    End(u64),
    /// The activity rests until it is made ready again.
    Rest(u64),
    /// The fibre has left for another cluster.
    Leave(u64),
    /// The fibre has been made ready, or is new, by what happens on a processor.
    Ready {
        fibre: u64,
        doing: Doing,
        spawned: bool,
    },
    /// The fibre has been made ready, or is new, by a plain thread.
    ReadyByThread {
        fibre: u64,
        thread: u32,
        spawned: bool,
    },
    /// The fibre has been taken from another processor.
    Steal {
        fibre: u64,
        victim: u32,
    },
    /// So many events have been delivered, which took so many ticks.
    Poll {
        took: u64,
        events: u64,
    },
    /// The processor sleeps.
    Sleep,
    /// It is awake again.
    Wake {
        by_thread: bool,
    },
    /// A thread block has been made, or so many have been ended.
    BlockBorn,
    BlocksEnded(u64),
    /// Something has been done for a processor that did not switch.
    Rescue(Rescue),
    /// A mark of the program; on the track of plain threads with the thread's number.
    Mark {
        text: String,
        thread: Option<u32>,
    },
}

/// What others have done for a processor that did not switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rescue {
    /// The number of its cluster, and its number there.
    pub(crate) cluster: u64,
    pub(crate) processor: u32,
    /// Whether waits have ended there; else fibres were taken.
    pub(crate) timers: bool,
    /// How many fibres or waits.
    pub(crate) count: u64,
}

impl Rescue {
    /// What the word of the event says; `None`: it is of a kind that is not known.
    fn of(word: u64) -> Option<Self> {
        let what = word & 0xf;
        (what < 2).then_some(Self {
            cluster: word >> 44,
            processor: (word >> 28 & 0xffff) as u32,
            timers: what == 1,
            count: word >> 4 & 0xff_ffff,
        })
    }
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// When, in ticks.
    pub(crate) at: u64,
    pub(crate) what: What,
}

/// The parts of a mark that have been read.
#[derive(Default)]
struct Parts {
    text: Vec<u8>,
    thread: Option<u32>,
}

impl Parts {
    /// The mark that ends with these eight bytes of text.
    fn take_mark(&mut self, word: u64) -> What {
        self.text.extend(word.to_le_bytes());
        let Self { text, thread } = std::mem::take(self);
        let text = String::from_utf8_lossy(&text);
        What::Mark {
            text: text.trim_end_matches('\0').to_owned(),
            thread,
        }
    }
}

/// Reads the events of a track, of a processor or of all plain threads. Those of a kind that is not
/// known are left out.
pub(crate) fn read(words: &[[u64; 2]], is_processor: bool) -> Vec<Event> {
    let mut parts = Parts::default();
    let events = words.iter().filter_map(|[first, second]| {
        let what = what(*first as u8, *second, is_processor, &mut parts)?;
        Some(Event {
            at: first >> 8,
            what,
        })
    });
    events.collect()
}

/// What an event of this kind says.
fn what(kind: u8, word: u64, is_processor: bool, parts: &mut Parts) -> Option<What> {
    let (fibre, beside) = (word >> 22, (word & 0x3f_ffff) as u32);
    let ready = |spawned| {
        if is_processor {
            let doing = Doing::of(beside);
            What::Ready {
                fibre,
                doing,
                spawned,
            }
        } else {
            What::ReadyByThread {
                fibre,
                thread: beside,
                spawned,
            }
        }
    };
    Some(match kind {
        1 | 2 => What::Run {
            fibre,
            first: kind == 2,
        },
        3 => What::Yield(fibre),
        4 => What::Block { object: word },
        5 => What::End(fibre),
        6 => What::Rest(fibre),
        7 => What::Leave(fibre),
        8 | 9 => ready(kind == 9),
        10 => What::Steal {
            fibre,
            victim: beside,
        },
        11 => What::Poll {
            took: word >> 16,
            events: word & 0xffff,
        },
        12 => What::Sleep,
        13 => What::Wake {
            by_thread: word != 0,
        },
        14 => parts.take_mark(word),
        15 => {
            parts.text.extend(word.to_le_bytes());
            return None;
        }
        16 => {
            parts.thread = Some(word as u32);
            return None;
        }
        17 => What::BlockBorn,
        18 => What::BlocksEnded(word),
        19 => What::Rescue(Rescue::of(word)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_put_together() {
        let text = |text: &[u8; 8]| u64::from_le_bytes(*text);
        let words = [
            [16, 33],
            [15, text(b"a longer")],
            [14, text(b" mark\0\0\0")],
            [14 | 9 << 8, text(b"short\0\0\0")],
            [200, 1],
        ];
        let marks = read(&words, false);
        let mark = |text: &str, thread| What::Mark {
            text: text.into(),
            thread,
        };
        let whats: Vec<_> = marks.iter().map(|event| event.what.clone()).collect();
        assert_eq!(
            whats,
            [mark("a longer mark", Some(33)), mark("short", None)]
        );
        assert_eq!(marks[1].at, 9);
    }

    #[test]
    fn rescues_name_the_processor() {
        let word = |what: u64| 3 << 44 | 2 << 28 | 70 << 4 | what;
        let words = [
            [19, word(0)],
            [19, word(1)],
            [19, word(7)],
            [18, 5],
            [17, 0],
        ];
        let whats = read(&words, false).into_iter().map(|event| event.what);
        let rescue = |timers| {
            What::Rescue(Rescue {
                cluster: 3,
                processor: 2,
                timers,
                count: 70,
            })
        };
        let expected = [
            rescue(false),
            rescue(true),
            What::BlocksEnded(5),
            What::BlockBorn,
        ];
        assert!(whats.eq(expected));
    }

    #[test]
    fn what_stands_beside_a_fibre_depends_on_the_track() {
        let words = [[8, 7 << 22 | 2]];
        assert_eq!(
            read(&words, true)[0].what,
            What::Ready {
                fibre: 7,
                doing: Doing::FiresTimers,
                spawned: false
            }
        );
        assert_eq!(
            read(&words, false)[0].what,
            What::ReadyByThread {
                fibre: 7,
                thread: 2,
                spawned: false
            }
        );
    }
}
