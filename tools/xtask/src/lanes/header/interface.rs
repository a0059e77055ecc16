//! Declarations of C headers, one a line: what a compiled program has taken from them.
//!
//! A function counts with its types, a structure with its fields, a constant with its value, and a
//! macro with its text. Comments, the order, and what only the preprocessor sees do not count.
//! Names of parameters do: who renames one takes the old line off the list, and breaks nothing.

/// What stands above the list.
const TITLE: &str = "# What programs are compiled with: `cargo xtask header` adds to it, and \
    `header --check` fails if a line is gone.\n";

/// The declarations of a header, in its order.
pub(super) fn declarations(header: &str) -> Vec<String> {
    let text = without_comments(header).replace("\\\n", " ");
    let mut found = Vec::new();
    let mut declaration = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(directive) = line.strip_prefix('#') {
            found.extend(defined(directive));
            continue;
        }
        if line.starts_with("extern \"C\"") {
            continue;
        }
        for piece in line.split_inclusive(';') {
            declaration.push(' ');
            declaration.push_str(piece);
            if piece.ends_with(';') && is_whole(&declaration) {
                found.push(spaced(&declaration));
                declaration.clear();
            }
        }
        // The end of `extern "C"`.
        if declaration.trim() == "}" {
            declaration.clear();
        }
    }
    found
}

/// The definition in a directive, if it gives a name a meaning.
fn defined(directive: &str) -> Option<String> {
    let definition = directive.trim().strip_prefix("define ")?;
    // A name without a meaning tells a header that it has been included.
    (definition.split_whitespace().count() > 1).then(|| spaced(&format!("#define {definition}")))
}

/// Whether all brackets are closed.
fn is_whole(declaration: &str) -> bool {
    let count = |bracket: char| declaration.matches(bracket).count();
    count('{') == count('}') && count('(') == count(')')
}

/// The words with one space between.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The header without comments of either kind.
fn without_comments(header: &str) -> String {
    let mut text = String::new();
    let mut left = header;
    while let Some((before, after)) = left.split_once("/*") {
        text.push_str(before);
        left = after.split_once("*/").map_or("", |(_, after)| after);
    }
    text.push_str(left);
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    lines
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

/// What the second has not of the first.
pub(super) fn gone(kept: &[String], now: &[String]) -> Vec<String> {
    let missing = kept.iter().filter(|declaration| !now.contains(declaration));
    missing.cloned().collect()
}

/// The list as it is kept.
pub(super) fn write(declarations: &[String]) -> String {
    let mut lines = declarations.to_vec();
    lines.sort();
    lines.dedup();
    TITLE.to_owned() + &lines.join("\n") + "\n"
}

/// Reads the list.
pub(super) fn read(list: &str) -> Vec<String> {
    let lines = list.lines().filter(|line| !line.starts_with("# "));
    lines
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with a guard, a constant, a structure, functions, and a macro of two lines.
    const HEADER: &str = r#"#ifndef FIBRE_H
#define FIBRE_H
/* One
 of two; lines. */
#define FIBRE_LOW (-1) // low
#ifdef __cplusplus
extern "C" {
#endif
typedef struct fibre_a {
    int x; /* an x */
    char y[3];
} fibre_a;
int fibre_f(int a,
            int b);
#define fibre_m(x) \
    fibre_f(x, x)
void fibre_g(void);
#ifdef __cplusplus
}
#endif
#endif
"#;

    #[test]
    fn declarations_are_found() {
        let expected = [
            "#define FIBRE_LOW (-1)",
            "typedef struct fibre_a { int x; char y[3]; } fibre_a;",
            "int fibre_f(int a, int b);",
            "#define fibre_m(x) fibre_f(x, x)",
            "void fibre_g(void);",
        ];
        assert_eq!(declarations(HEADER), expected);
        assert_eq!(read(&write(&declarations(HEADER))).len(), expected.len());
    }

    #[test]
    fn a_declaration_that_is_gone_or_changed_is_found() {
        let kept = declarations(HEADER);
        for (change, by) in [
            ("void fibre_g(void);\n", ""),
            ("char y[3]", "char y[4]"),
            ("(-1)", "(-2)"),
            ("int b", "long b"),
        ] {
            let now = declarations(&HEADER.replace(change, by));
            assert_eq!(gone(&kept, &now).len(), 1, "{change}");
        }
        let more = declarations(&(HEADER.to_owned() + "int fibre_h(void);\n"));
        assert!(gone(&kept, &more).is_empty());
        assert_eq!(gone(&more, &kept), ["int fibre_h(void);"]);
    }
}
