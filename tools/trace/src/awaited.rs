//! What fibres wait for, in words.
//!
//! An object is a word as `fibre-core/src/wait/wait_object.rs` makes it: its kind in the lowest
//! byte, its address or number from bit 16 on, and in the highest bit which of the two it is.

/// The kinds, by their numbers, which begin with one.
const KINDS: [&str; 21] = [
    "something",
    "mutex",
    "read-write lock",
    "condition variable",
    "semaphore",
    "barrier",
    "event",
    "wait group",
    "notification",
    "initialisation",
    "channel",
    "one of several things",
    "input or output",
    "end of a fibre",
    "fibres of a scope",
    "sleep",
    "processors of a cluster",
    "call that blocks a thread",
    "processor",
    "nothing",
    "one of several things, or input",
];

/// The kind of an object.
pub(crate) fn kind(object: u64) -> &'static str {
    let number = usize::from(object as u8);
    let kind = number.checked_sub(1).and_then(|number| KINDS.get(number));
    kind.copied().unwrap_or("something")
}

/// An object with its address or number, without the place of its owner.
pub(crate) fn name(object: u64) -> String {
    let kind = kind(object);
    let place = object << 1 >> 17;
    if object >> 63 != 0 {
        format!("{kind} ({place})")
    } else if place != 0 {
        format!("{kind} at {place:#x}")
    } else {
        kind.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_kinds_and_places() {
        assert_eq!(
            name(0x7f00_1234_5678 << 16 | 3 << 8 | 2),
            "mutex at 0x7f0012345678"
        );
        assert_eq!(name(1 << 63 | 12 << 16 | 13), "input or output (12)");
        assert_eq!(name(16), "sleep");
        assert_eq!((name(0).as_str(), kind(255)), ("something", "something"));
    }
}
