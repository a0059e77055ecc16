//! What the guide needs so that its pages are right both as files of the repository and as a book.
//!
//! As files they link to pages of `docs/` and to sources, by relative paths. In the book, chapters
//! that lie outside of its folder move to `reference/`, links between chapters follow, and of links
//! to what is no chapter only the text is left. mdBook calls this as a preprocessor: the book is
//! JSON, `[context, book]` in and `book` out.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::markdown;
use crate::tidy::links;

/// The folder of chapters that lie elsewhere in the repository.
const REFERENCE: &str = "reference";

/// Where each chapter goes: from the path of its file to that in the book, both from the root of
/// the repository, as the pages' folder is deep enough in there.
type Moves = BTreeMap<String, String>;

/// The book with its chapters where they belong.
pub(crate) fn preprocess(input: &str) -> Result<String> {
    let mut input: Value = serde_json::from_str(input)?;
    let mut book = input.get_mut(1).context("no book")?.take();
    let mut moves = Moves::new();
    for_each_chapter(&mut book, &mut |chapter| {
        if let Some(source) = source_of(chapter) {
            let target = place(&source);
            moves.insert(source, target);
        }
    });
    for_each_chapter(&mut book, &mut |chapter| {
        let Some(source) = source_of(chapter) else {
            return;
        };
        if let Some(Value::String(text)) = chapter.get("content") {
            let text = relink(text, &source, &moves);
            chapter["content"] = text.into();
        }
        let target = moves[&source].strip_prefix(links::GUIDE);
        let target = target.map(|path| path.trim_start_matches('/').to_owned());
        chapter["path"] = target.unwrap_or(source).into();
    });
    Ok(serde_json::to_string(&book)?)
}

/// Calls `f` with each chapter of the book or below the chapter, those below others included.
fn for_each_chapter(book: &mut Value, f: &mut impl FnMut(&mut Value)) {
    for list in ["items", "sub_items"] {
        let items = book.get_mut(list).and_then(Value::as_array_mut);
        for item in items.into_iter().flatten() {
            // The other kinds of items are titles of parts, and separators.
            if let Some(chapter) = item.get_mut("Chapter") {
                f(chapter);
                for_each_chapter(chapter, f);
            }
        }
    }
}

/// The file of a chapter, from the root of the repository.
fn source_of(chapter: &Value) -> Option<String> {
    let path = chapter.get("source_path")?.as_str()?;
    links::resolve(&format!("{}/SUMMARY.md", links::GUIDE), path)
}

/// Where the chapter in this file goes.
fn place(source: &str) -> String {
    if Path::new(source).starts_with(links::GUIDE) {
        return source.to_owned();
    }
    let name = source.rsplit('/').next().unwrap_or(source);
    format!("{}/{REFERENCE}/{}", links::GUIDE, name.to_lowercase())
}

/// The text of a page with its links as the book needs them.
fn relink(text: &str, source: &str, moves: &Moves) -> String {
    let mut changed = text.to_owned();
    // From the last to the first, so that what stands before stays where it is.
    for link in markdown::links(text).iter().rev() {
        let whole = &text[link.range.clone()];
        let opening = whole.find('[').unwrap_or_default();
        let (Some(middle), true) = (whole.rfind("]("), link.is_inline) else {
            continue;
        };
        match destination(&link.destination, source, moves) {
            Some(to) if to == link.destination => {}
            Some(to) => {
                let range = link.range.start + middle + 2..link.range.end - 1;
                changed.replace_range(range, &to);
            }
            None => changed.replace_range(link.range.clone(), &whole[opening + 1..middle]),
        }
    }
    changed
}

/// Where a link of this page leads in the book; `None`: to nothing that is in there.
fn destination(link: &str, source: &str, moves: &Moves) -> Option<String> {
    if link.contains("://") || link.starts_with('#') {
        return Some(link.to_owned());
    }
    let (path, anchor) = match link.split_once('#') {
        Some((path, anchor)) => (path, format!("#{anchor}")),
        None => (link, String::new()),
    };
    let target = moves.get(&links::resolve(source, path)?)?;
    let here = moves.get(source)?;
    Some(relative(here, target) + &anchor)
}

/// The path from one page to another.
fn relative(from: &str, to: &str) -> String {
    let from: Vec<&str> = from.split('/').collect();
    let to: Vec<&str> = to.split('/').collect();
    let folders = from.len().min(to.len()) - 1;
    let common = (0..folders).take_while(|&at| from[at] == to[at]).count();
    let up = "../".repeat(from.len() - 1 - common);
    up + &to[common..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A chapter in this file.
    fn chapter(path: &str, content: &str) -> Value {
        let chapter =
            json!({ "path": path, "source_path": path, "content": content, "sub_items": [] });
        json!({ "Chapter": chapter })
    }

    /// The path and the text of each chapter.
    fn chapters(items: Value) -> Vec<(String, String)> {
        let input = json!([{ "root": "/" }, { "items": items }]).to_string();
        let mut book: Value = serde_json::from_str(&preprocess(&input).unwrap()).unwrap();
        let mut chapters = Vec::new();
        for_each_chapter(&mut book, &mut |chapter| {
            let text = |key: &str| chapter[key].as_str().unwrap().to_owned();
            chapters.push((text("path"), text("content")));
        });
        chapters
    }

    #[test]
    fn chapters_from_elsewhere_move_and_links_follow() {
        let items = json!([
            chapter("a.md", "[B](cook/b.md#x), [C](../../C.md), [`d`](../../../src/d.rs), [e](f://g)"),
            { "PartTitle": "Cook" },
            chapter("cook/b.md", "[C](../../../C.md#y) [here](#z)"),
            "Separator",
            chapter("../../C.md", "[A](guide/src/a.md) and ![no](picture.svg)"),
        ]);
        let found = chapters(items);
        let a = "[B](cook/b.md#x), [C](reference/c.md), `d`, [e](f://g)";
        assert_eq!(found[0], ("a.md".into(), a.into()));
        let b = "[C](../reference/c.md#y) [here](#z)";
        assert_eq!(found[1], ("cook/b.md".into(), b.into()));
        let c = "[A](../a.md) and no";
        assert_eq!(found[2], ("reference/c.md".into(), c.into()));
    }

    #[test]
    fn what_is_no_chapter_stays() {
        let items = json!([{ "PartTitle": "Cook" }, "Separator"]);
        let input = json!([{}, { "items": items }]).to_string();
        assert_eq!(
            preprocess(&input).unwrap(),
            json!({ "items": items }).to_string()
        );
    }

    #[test]
    fn chapters_below_others_are_seen() {
        let mut above = chapter("a.md", "");
        above["Chapter"]["sub_items"] = json!([chapter("b.md", "[D](../../D.md)")]);
        assert_eq!(chapters(json!([above]))[1], ("b.md".into(), "D".into()));
    }
}
