//! Pages of Markdown: their links, the anchors of their headings, their blocks of code.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

/// A link or an image.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// Where it leads.
    pub(crate) destination: String,
    /// The bytes of all of it.
    pub(crate) range: Range<usize>,
    /// Whether its destination stands in it, and not elsewhere in the page.
    pub(crate) is_inline: bool,
}

/// What the page consists of, with the bytes of each part.
fn parts(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    Parser::new_ext(text, options).into_offset_iter()
}

/// All links and images, in the order they begin.
pub(crate) fn links(text: &str) -> Vec<Link> {
    let links = parts(text).filter_map(|(event, range)| match event {
        Event::Start(
            Tag::Link {
                link_type,
                dest_url,
                ..
            }
            | Tag::Image {
                link_type,
                dest_url,
                ..
            },
        ) => Some(Link {
            destination: dest_url.into_string(),
            range,
            is_inline: link_type == LinkType::Inline,
        }),
        _ => None,
    });
    links.collect()
}

/// The names that links reach the page's headings by.
pub(crate) fn anchors(text: &str) -> BTreeSet<String> {
    let (mut heading, mut anchors) = (None::<String>, BTreeSet::new());
    let mut uses = BTreeMap::<String, usize>::new();
    for (event, _) in parts(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&part);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap_or_default());
                let earlier = uses.entry(anchor.clone()).or_default();
                anchors.insert(match *earlier {
                    0 => anchor,
                    number => format!("{anchor}-{number}"),
                });
                *earlier += 1;
            }
            _ => {}
        }
    }
    anchors
}

/// The name of a heading: its letters, digits and hyphens, with hyphens for spaces.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c => (c.is_alphanumeric() || matches!(c, '-' | '_')).then_some(c),
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// The title: the first heading of the highest level.
pub(crate) fn has_title(text: &str) -> bool {
    parts(text).next().is_some_and(|(event, _)| {
        matches!(
            event,
            Event::Start(Tag::Heading {
                level: HeadingLevel::H1,
                ..
            })
        )
    })
}

/// The fenced blocks of code in this language.
pub(crate) fn code(text: &str, language: &str) -> Vec<String> {
    let (mut block, mut blocks) = (None::<String>, Vec::new());
    for (event, _) in parts(text) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(of))) if &*of == language => {
                block = Some(String::new());
            }
            Event::Text(line) => {
                if let Some(block) = &mut block {
                    block.push_str(&line);
                }
            }
            Event::End(TagEnd::CodeBlock) => blocks.extend(block.take()),
            _ => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_but_not_in_code() {
        let text =
            "See [a](b.md#c), ![d](e.svg) and [f].\n\n`[g](h)`\n\n```\n[i](j)\n```\n\n[f]: k.md\n";
        let found = links(text);
        let found: Vec<_> = found
            .iter()
            .map(|l| (&*l.destination, l.is_inline))
            .collect();
        assert_eq!(found, [("b.md#c", true), ("e.svg", true), ("k.md", false)]);
    }

    #[test]
    fn headings_have_anchors() {
        let found = anchors("# Rule 1: no `std::sync` guard\n\n## It's late\n\n## It's late\n");
        let all = ["its-late", "its-late-1", "rule-1-no-stdsync-guard"];
        assert!(found.iter().eq(all.iter()), "{found:?}");
    }

    #[test]
    fn a_page_begins_with_its_title() {
        assert!(has_title("# Title\n"));
        assert!(!has_title("Text.\n\n# Title\n") && !has_title("## Part\n"));
    }

    #[test]
    fn blocks_are_found_by_their_language() {
        let text = "```c\nint a;\n\nint b;\n```\n```rust\nfn c() {}\n```\n```c\nint d;\n```\n";
        assert_eq!(code(text, "c"), ["int a;\n\nint b;\n", "int d;\n"]);
    }
}
