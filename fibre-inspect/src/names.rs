//! Shortens names of functions to a readable length.
//!
//! If debug information has lines only, names come from the symbol table, with all of their generic
//! arguments: the name of an iterator's method may then take kilobytes. A name that is too long
//! first loses its innermost arguments: `Vec<Option<A<B>>>` becomes `Vec<Option<…>>`, then
//! `Vec<…>`. `<Type as Trait>::method` keeps the type and the trait as long as any argument.

use std::borrow::Cow;

/// A name longer than this, in bytes, is cut.
const LONG: usize = 120;

/// What stands for what was left out.
const LEFT_OUT: char = '…';

/// The deepest level of arguments that is tried to be kept.
const DEEPEST: usize = 4;

/// The name with so few generic arguments that it is not long, or with as few as can be.
pub(crate) fn cut(name: &str) -> Cow<'_, str> {
    if name.len() <= LONG {
        return Cow::Borrowed(name);
    }
    let mut shortest = None;
    for level in (0..=DEEPEST).rev() {
        match cut_below(name, level) {
            Some(candidate) if candidate.len() <= LONG => return Cow::Owned(candidate),
            candidate => shortest = candidate,
        }
    }
    let whole = shortest.unwrap_or_else(|| name.to_owned());
    if whole.len() <= 2 * LONG {
        return Cow::Owned(whole);
    }
    // What the name ends with tells more than what it begins with.
    let head: String = whole.chars().take(LONG / 2).collect();
    let tail = whole.chars().count() - LONG;
    let tail: String = whole.chars().skip(tail).collect();
    Cow::Owned(format!("{head}{LEFT_OUT}{tail}"))
}

/// The name without the arguments that lie deeper than `level` brackets. Arguments in a bracket at
/// the name's beginning lie one level less deep. `None`: its brackets hold no arguments.
fn cut_below(name: &str, level: usize) -> Option<String> {
    let base = level + usize::from(name.starts_with('<'));
    let (mut depth, mut before) = (0_usize, ' ');
    let mut shown = String::new();
    for letter in name.chars() {
        // That of `->` is no bracket.
        let closes = letter == '>' && before != '-';
        if closes {
            depth = depth.checked_sub(1)?;
        }
        if depth <= base {
            shown.push(letter);
        }
        if letter == '<' {
            depth += 1;
            if depth == base + 1 {
                shown.push(LEFT_OUT);
            }
        }
        before = letter;
    }
    (depth == 0).then_some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that is too long, by a type in the place of `T`.
    fn with_long(name: &str) -> String {
        name.replace('T', &format!("a::{}<B>", "x".repeat(LONG)))
    }

    #[test]
    fn short_names_stay_as_they_are() {
        for name in [
            "main",
            "<a::B<C> as d::E>::f",
            "operator<<",
            "a<b<c<d<e>>>>",
        ] {
            assert_eq!(cut(name), name);
        }
    }

    #[test]
    fn innermost_arguments_go_first() {
        for (name, short) in [
            ("a::B<c::D<T>>::e", "a::B<c::D<…>>::e"),
            ("a::B<T>::e::{{closure}}", "a::B<…>::e::{{closure}}"),
            ("<a::B<T> as c::D<e::F>>::g", "<a::B<…> as c::D<…>>::g"),
            ("a::b<fn(u8) -> T, c>::d<T>", "a::b<…>::d<…>"),
        ] {
            assert_eq!(cut(&with_long(name)), short);
        }
    }

    #[test]
    fn names_without_arguments_lose_their_middle() {
        let long = format!("begin::{}::end", "middle::".repeat(1000));
        let short = cut(&long);
        assert!(short.chars().count() <= 2 * LONG, "{short}");
        assert!(short.starts_with("begin::") && short.ends_with("::end"));
        // Unbalanced, as in C++.
        let shift = format!("operator<< {}", "x".repeat(4 * LONG));
        assert!(cut(&shift).starts_with("operator<<"));
        assert!(cut(&shift).len() <= 2 * LONG + LEFT_OUT.len_utf8());
    }
}
