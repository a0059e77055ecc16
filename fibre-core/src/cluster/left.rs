//! How an error shows abandoned fibres: similar ones as a group.
//!
//! Fibres are alike if they have the same name, and wait for the same kind of thing. Numbers in
//! names ("client 7") make no difference.

use super::stop::StopError;
use crate::scheduler::domain::LeftFibre;
use crate::wait::wait_object::WaitKind;
use std::collections::BTreeMap;
use std::fmt;

/// How many groups are shown.
const GROUPS: usize = 16;

/// How many fibres of a group are shown by their numbers.
const NUMBERS: usize = 4;

/// What fibres of a group have in common: whether they had begun, a name without its numbers, the
/// number of the kind of what they wait for.
type Likeness = (bool, Option<String>, Option<u8>);

/// The fibres in groups, the largest ones first.
struct Groups<'a>(Vec<Vec<&'a LeftFibre>>);

impl<'a> Groups<'a> {
    /// Groups these.
    fn of(left: &'a [LeftFibre]) -> Self {
        let mut groups: BTreeMap<Likeness, Vec<&LeftFibre>> = BTreeMap::new();
        for fibre in left {
            groups.entry(likeness(fibre)).or_default().push(fibre);
        }
        let mut groups: Vec<_> = groups.into_values().collect();
        groups.sort_by_key(|group| (std::cmp::Reverse(group.len()), group[0].id));
        Self(groups)
    }
}

/// See [`Likeness`].
fn likeness(fibre: &LeftFibre) -> Likeness {
    let letters = |name: &String| {
        name.chars()
            .filter(|letter| !letter.is_ascii_digit())
            .collect()
    };
    let kind = |kind: WaitKind| kind as u8;
    (
        fibre.started,
        fibre.name.as_ref().map(letters),
        fibre.awaited.map(|awaited| kind(awaited.kind())),
    )
}

impl fmt::Display for Groups<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, group) in self.0.iter().take(GROUPS).enumerate() {
            if place > 0 {
                f.write_str(", ")?;
            }
            match group[..] {
                [one] => show_one(one, f)?,
                _ => show_many(group, f)?,
            }
        }
        Ok(())
    }
}

/// Shows a fibre that is like no other.
fn show_one(fibre: &LeftFibre, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{}", fibre.id)?;
    if let Some(name) = &fibre.name {
        write!(f, " ({name:?})")?;
    }
    match fibre.awaited {
        Some(awaited) => write!(f, " that waits for {awaited}"),
        None => Ok(()),
    }
}

/// Shows fibres that are alike: how many, the numbers of the first ones, and one of the names.
fn show_many(group: &[&LeftFibre], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{} (", group.len())?;
    for (place, fibre) in group.iter().take(NUMBERS).enumerate() {
        let comma = if place > 0 { ", " } else { "" };
        write!(f, "{comma}{}", fibre.id)?;
    }
    if group.len() > NUMBERS {
        f.write_str(" …")?;
    }
    f.write_str(")")?;
    if let Some(name) = &group[0].name {
        let alike = group.iter().all(|fibre| fibre.name.as_ref() == Some(name));
        write!(f, " {}{name:?}", if alike { "" } else { "like " })?;
    }
    match group[0].awaited {
        Some(awaited) => write!(f, " that wait for {}", awaited.kind().words()),
        None => Ok(()),
    }
}

impl fmt::Display for StopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = Groups::of(&self.left);
        match self.left.len() + self.unseen {
            1 => f.write_str("1 fibre was left behind")?,
            count => write!(f, "{count} fibres were left behind")?,
        }
        if !self.left.is_empty() {
            write!(f, ": {groups}")?;
        }
        let others = groups.0.iter().skip(GROUPS).map(Vec::len).sum::<usize>() + self.unseen;
        if others > 0 && !self.left.is_empty() {
            write!(f, ", and {others} others")?;
        }
        for processor in &self.stuck {
            write!(f, "; {processor} does not stop")?;
        }
        Ok(())
    }
}

impl fmt::Debug for StopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = Groups::of(&self.left);
        f.debug_struct("StopError")
            .field("left", &format_args!("{} [{groups}]", self.left.len()))
            .field("unseen", &self.unseen)
            .field("stuck", &self.stuck)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::wait_object::WaitObject;

    /// So many fibres with names by this function, which wait for something of this kind.
    fn left(
        numbers: std::ops::Range<u64>,
        name: impl Fn(u64) -> Option<String>,
        kind: Option<WaitKind>,
    ) -> impl Iterator<Item = LeftFibre> {
        numbers.map(move |id| LeftFibre {
            id,
            name: name(id),
            started: kind.is_some(),
            awaited: kind.map(WaitObject::placeless),
        })
    }

    /// An error with these.
    fn error(left: impl Iterator<Item = LeftFibre>, unseen: usize) -> StopError {
        StopError {
            left: left.collect(),
            unseen,
            stuck: Vec::new(),
        }
    }

    #[test]
    fn fibres_that_are_alike_are_a_group() {
        let clients = left(
            10..5010,
            |id| Some(format!("client {id}")),
            Some(WaitKind::Channel),
        );
        let named = left(7..8, |_| Some("endless".to_owned()), Some(WaitKind::Sleep));
        let new = left(6000..6003, |_| None, None);
        let error = error(clients.chain(named).chain(new), 2);
        let channel = WaitKind::Channel.words();
        let sleep = WaitKind::Sleep.words();
        let groups = format!(
            "5000 (10, 11, 12, 13 …) like \"client 10\" that wait for {channel}, \
             3 (6000, 6001, 6002), 7 (\"endless\") that waits for {sleep}"
        );
        assert_eq!(
            error.to_string(),
            format!("5006 fibres were left behind: {groups}, and 2 others")
        );
        assert_eq!(
            format!("{error:?}"),
            format!("StopError {{ left: 5004 [{groups}], unseen: 2, stuck: [] }}")
        );
    }

    #[test]
    fn groups_are_not_shown_without_end() {
        let letters = |id: u64| "x".repeat(id as usize);
        let all = left(1..1001, |id| Some(letters(id)), Some(WaitKind::Event));
        let text = error(all, 0).to_string();
        assert!(text.ends_with(", and 984 others"), "{text}");
        assert!(text.len() < 2000, "{}", text.len());
        assert_eq!(
            error(left(3..4, |_| None, None), 0).to_string(),
            "1 fibre was left behind: 3"
        );
        assert_eq!(
            error(left(0..0, |_| None, None), 5).to_string(),
            "5 fibres were left behind"
        );
    }
}
