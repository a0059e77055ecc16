//! The labels of a fibre: what it says of itself in dumps, to gdb, and when it overflows its stack
//! or panics.
//!
//! They are kept in the text form that is shown, a line `key=value` for each. The text lies in an
//! allocation of its own, which exists from the first label on. Others read it while the fibre
//! runs, under a short lock. The fibre holds the lock only to copy the text, and no reader waits
//! for it. A debugger reads the text as it is.

use crate::sync::short_lock::ShortLock;
use std::fmt::{self, Write};

/// Bytes of a text.
pub(crate) const ROOM: usize = 240;

/// What ends a label.
const END: char = '\n';

/// The labels, behind their lock. It begins with the text, for debuggers.
pub(crate) type Labels = ShortLock<LabelText>;

/// The text.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabelText {
    /// How many bytes it has.
    length: u16,
    /// Its bytes.
    bytes: [u8; ROOM],
}

impl Default for LabelText {
    fn default() -> Self {
        Self {
            length: 0,
            bytes: [0; ROOM],
        }
    }
}

impl LabelText {
    /// Where its bytes are, for debuggers.
    pub(crate) const BYTES: usize = std::mem::offset_of!(Self, bytes);

    /// The label of this key: what the value is shown as. Control characters become spaces, and so
    /// does what would end the key. Runs code of the value, so not under the lock.
    pub(crate) fn label(key: &str, value: fmt::Arguments<'_>) -> Self {
        let mut label = Self::default();
        // What there is no room for is left out.
        let _ = label.write_str(key).and_then(|()| {
            let length = usize::from(label.length);
            label.bytes[..length]
                .iter_mut()
                .filter(|byte| **byte == b'=')
                .for_each(|byte| *byte = b' ');
            label.push('=')?;
            label.write_fmt(value)
        });
        label.end();
        label
    }

    /// The text: lines of `key=value`.
    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }

    /// Takes in a label, in the place of an earlier one with its key. One without a value only
    /// takes that away.
    pub(crate) fn set(&mut self, label: &Self) {
        let label = label.as_str();
        let Some((key, value)) = label.split_once('=') else {
            return;
        };
        let mut others = Self::default();
        for other in self.as_str().split_inclusive(END) {
            if other.split_once('=').map(|(key, _)| key) != Some(key) {
                others.append(other);
            }
        }
        if !value.trim_end_matches(END).is_empty() {
            others.append(label);
        }
        *self = others;
    }

    /// Appends those labels of `others` that have other keys.
    pub(crate) fn add_others(&mut self, others: &Self) {
        let key_of = |label: &str| label.split_once('=').map(|(key, _)| key.len());
        for other in others.as_str().split_inclusive(END) {
            let is_there = |label: &str| {
                let (key, its) = (key_of(label), key_of(other));
                key == its && key.is_some_and(|key| label[..key] == other[..key])
            };
            if !self.as_str().split_inclusive(END).any(is_there) {
                self.append(other);
            }
        }
    }

    /// Appends a label, and cuts its end off if there is no room.
    fn append(&mut self, label: &str) {
        let key = label
            .split_once('=')
            .map_or(label.len(), |(key, _)| key.len());
        // A key alone would say nothing.
        if usize::from(self.length) + key + 2 < ROOM {
            let _ = self.write_str(label.trim_end_matches(END));
            self.end();
        }
    }

    /// Ends a label.
    fn end(&mut self) {
        self.bytes[usize::from(self.length)] = END as u8;
        self.length += 1;
    }

    /// Appends a character, and leaves room for the end.
    fn push(&mut self, character: char) -> fmt::Result {
        let length = usize::from(self.length);
        let place = &mut self.bytes[length..ROOM - 1];
        let width = character.len_utf8();
        if place.len() < width {
            return Err(fmt::Error);
        }
        character.encode_utf8(place);
        self.length += width as u16;
        Ok(())
    }
}

impl Write for LabelText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let shown = |c: char| if c.is_control() { ' ' } else { c };
        text.chars().try_for_each(|c| self.push(shown(c)))
    }
}

/// Labels as reports show them: `key=value key=value`.
#[derive(Debug, Clone, Copy)]
pub struct LabelLine<'a>(pub &'a str);

impl fmt::Display for LabelLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, label) in self.0.lines().enumerate() {
            write!(f, "{}{label}", if at > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with these labels, set one after the other.
    fn with(labels: &[(&str, &str)]) -> LabelText {
        let mut text = LabelText::default();
        for (key, value) in labels {
            text.set(&LabelText::label(key, format_args!("{value}")));
        }
        text
    }

    #[test]
    fn the_last_value_of_a_key_counts() {
        let text = with(&[("conn", "1"), ("user", "eve"), ("conn", "42")]);
        assert_eq!(text.as_str(), "user=eve\nconn=42\n");
        assert_eq!(LabelLine(text.as_str()).to_string(), "user=eve conn=42");
        let text = with(&[("conn", "1"), ("con", "2"), ("conn", "")]);
        assert_eq!(text.as_str(), "con=2\n");
        assert_eq!(with(&[("none", "")]).as_str(), "");
    }

    #[test]
    fn others_come_behind_unless_their_keys_are_there() {
        let mut text = with(&[("conn", "1"), ("user", "eve")]);
        text.add_others(&with(&[("con", "2"), ("user", "bob"), ("peer", "")]));
        text.add_others(&LabelText::default());
        assert_eq!(text.as_str(), "conn=1\nuser=eve\ncon=2\n");
        let mut none = LabelText::default();
        none.add_others(&text);
        assert_eq!(none.as_str(), text.as_str());
    }

    #[test]
    fn what_would_break_the_text_is_replaced() {
        let text = with(&[("a=b\n", "c=d\ne\u{1b}"), ("", "f")]);
        assert_eq!(text.as_str(), "a b =c=d e \n=f\n");
    }

    #[test]
    fn what_has_no_room_is_cut_off() {
        let long = "é".repeat(ROOM);
        let text = with(&[("long", &long), ("more", "1")]);
        let shown = text.as_str();
        assert!(
            shown.starts_with("long=éé") && shown.ends_with("é\n"),
            "{shown}"
        );
        assert!(
            shown.len() >= ROOM - 2 && shown.lines().count() == 1,
            "{shown}"
        );
        assert_eq!(with(&[(&long, "1")]).as_str(), "");
        let many: Vec<String> = (0..100).map(|number| format!("key{number}")).collect();
        let many: Vec<_> = many.iter().map(|key| (&**key, "value")).collect();
        let text = with(&many);
        assert!(text.as_str().len() <= ROOM, "{}", text.as_str());
        assert!(text.as_str().lines().all(|line| line.starts_with("key")));
    }
}
