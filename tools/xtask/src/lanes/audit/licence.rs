//! Expressions for licences: names with AND, OR, WITH and brackets. `A/B`, as older packages write,
//! is `A OR B`.

use anyhow::{Result, bail, ensure};

/// Whether what the expression leaves to choose can be chosen such that all of it is allowed.
/// `allows` is asked for each licence, with its exception.
pub(crate) fn permitted(expression: &str, allows: &mut dyn FnMut(&str) -> bool) -> Result<bool> {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let mut words: Vec<&str> = spaced.split_whitespace().rev().collect();
    let permitted = any(&mut words, allows)?;
    ensure!(words.is_empty(), "there is no meaning in `{}`", words[0]);
    Ok(permitted)
}

/// Parts with OR between them. The next word is the last one.
fn any(words: &mut Vec<&str>, allows: &mut dyn FnMut(&str) -> bool) -> Result<bool> {
    let mut permitted = all(words, allows)?;
    while words.pop_if(|word| *word == "OR").is_some() {
        permitted |= all(words, allows)?;
    }
    Ok(permitted)
}

/// Parts with AND between them.
fn all(words: &mut Vec<&str>, allows: &mut dyn FnMut(&str) -> bool) -> Result<bool> {
    let mut permitted = one(words, allows)?;
    while words.pop_if(|word| *word == "AND").is_some() {
        permitted &= one(words, allows)?;
    }
    Ok(permitted)
}

/// A licence, or an expression in brackets.
fn one(words: &mut Vec<&str>, allows: &mut dyn FnMut(&str) -> bool) -> Result<bool> {
    match words.pop() {
        Some("(") => {
            let permitted = any(words, allows)?;
            ensure!(words.pop() == Some(")"), "a bracket is not closed");
            Ok(permitted)
        }
        Some(")" | "OR" | "AND" | "WITH") | None => bail!("a licence is missing"),
        Some(name) => {
            if words.pop_if(|word| *word == "WITH").is_none() {
                return Ok(allows(name));
            }
            let exception = words.pop().unwrap_or_default();
            Ok(allows(&format!("{name} WITH {exception}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether it is permitted if `A`, `B` and `C WITH x` are allowed.
    fn judged(expression: &str) -> Option<bool> {
        permitted(expression, &mut |one| ["A", "B", "C WITH x"].contains(&one)).ok()
    }

    #[test]
    fn what_may_be_chosen_is_enough() {
        for fine in [
            "A",
            "A OR D",
            "D/A",
            "A AND B",
            "D OR A AND B",
            "(D OR A) AND B",
            "C WITH x",
        ] {
            assert_eq!(judged(fine), Some(true), "{fine}");
        }
        for refused in [
            "D",
            "A AND D",
            "D OR A AND E",
            "(D OR E) AND A",
            "C",
            "A WITH x",
        ] {
            assert_eq!(judged(refused), Some(false), "{refused}");
        }
    }

    #[test]
    fn nonsense_is_an_error() {
        for nonsense in ["", "A OR", "(A", "A B", "A)", "AND A"] {
            assert_eq!(judged(nonsense), None, "{nonsense}");
        }
    }
}
