//! The attribute `#[fibre_test::test]`, which `fibre-test` has under that name and describes.
//!
//! It is small enough to be written without a parser of Rust: an attribute has names with values,
//! and of a function only its name counts, and whether it has an argument. So nobody's test program
//! waits for a parser to be built.

use proc_macro::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};

/// The settings that have values: functions of `fibre_test::Builder`.
const SETTINGS: [&str; 6] = [
    "seed",
    "seeds",
    "schedule",
    "most_switches",
    "patience",
    "shorten_for",
];

/// The setting that has no value.
const FLAG: &str = "allow_leaks";

/// What may stand between a function's attributes and its name, and be no obstacle.
const BEFORE: [&str; 2] = ["pub", "fn"];

/// What is wrong, and where.
struct Wrong(Span, String);

/// A test on fibres; see `fibre_test::test`.
#[proc_macro_attribute]
pub fn test(attribute: TokenStream, item: TokenStream) -> TokenStream {
    match expand(attribute, item.clone()) {
        Ok(test) => test,
        // With the function, so that the compiler checks that, too.
        Err(wrong) => [wrong.into_tokens(), item].into_iter().collect(),
    }
}

/// The function that the harness calls, with the user's inside.
fn expand(attribute: TokenStream, item: TokenStream) -> Result<TokenStream, Wrong> {
    let settings = settings(attribute)?;
    let function = Function::find(item)?;
    let call = match function.has_argument {
        true => "(sim)",
        false => "()",
    };
    let ended = [name(&function.name), parse(call)];
    let run = [
        parse("let _ = sim; ::fibre_test::macros::Ends::end"),
        group(Delimiter::Parenthesis, ended.into_iter().collect()),
    ];
    let closure = [
        parse("|sim: &::fibre_test::Sim|"),
        group(Delimiter::Brace, run.into_iter().collect()),
    ];
    let body = [
        function.item,
        parse("let _ = ::fibre_test::Sim::builder()"),
        settings,
        parse(".run"),
        group(Delimiter::Parenthesis, closure.into_iter().collect()),
        parse(";"),
    ];
    let test = [
        parse("#[::core::prelude::v1::test]"),
        function.attributes,
        parse("fn"),
        name(&function.name),
        parse("()"),
        group(Delimiter::Brace, body.into_iter().collect()),
    ];
    Ok(test.into_iter().collect())
}

/// The calls that the attribute's settings are.
fn settings(attribute: TokenStream) -> Result<TokenStream, Wrong> {
    let mut calls = TokenStream::new();
    let mut tokens = attribute.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let setting = token.to_string();
        let has_value = tokens.next_if(|next| is_punct(next, '=')).is_some();
        let value: TokenStream =
            std::iter::from_fn(|| tokens.next_if(|next| !is_punct(next, ','))).collect();
        tokens.next();
        let wrong = |words: String| Err(Wrong(token.span(), words));
        match (SETTINGS.contains(&setting.as_str()), has_value) {
            (false, false) if setting == FLAG && value.is_empty() => {}
            (true, true) if !value.is_empty() => {}
            (true, _) => return wrong(format!("`{setting}` has a value: `{setting} = …`")),
            (false, _) if setting == FLAG => return wrong(format!("`{FLAG}` has no value")),
            (false, _) => {
                let known = SETTINGS.join("`, `");
                return wrong(format!("a test has the settings `{known}` and `{FLAG}`"));
            }
        }
        calls.extend([
            parse("."),
            TokenStream::from(token),
            group(Delimiter::Parenthesis, value),
        ]);
    }
    Ok(calls)
}

/// A user's function.
struct Function {
    /// Its attributes, and the comments that are some.
    attributes: TokenStream,
    /// All the rest.
    item: TokenStream,
    name: Ident,
    has_argument: bool,
}

impl Function {
    /// Finds what counts of a function.
    fn find(item: TokenStream) -> Result<Self, Wrong> {
        let mut tokens = item.into_iter().peekable();
        let mut attributes = TokenStream::new();
        while let Some(hash) = tokens.next_if(|token| is_punct(token, '#')) {
            attributes.extend([hash]);
            attributes.extend(tokens.next());
        }
        let rest: Vec<TokenTree> = tokens.collect();
        let wrong = |at: usize, words: &str| {
            let span = rest.get(at).map_or_else(Span::call_site, TokenTree::span);
            Wrong(span, words.to_owned())
        };
        let is_fn = |token: &TokenTree| token.to_string() == "fn";
        let Some(place) = rest.iter().position(is_fn) else {
            return Err(wrong(0, "a test is a function"));
        };
        let words = rest[..place].iter().enumerate();
        let mut odd = words.filter(|(_, token)| matches!(token, TokenTree::Ident(_)));
        if let Some((at, _)) = odd.find(|(_, token)| !BEFORE.contains(&token.to_string().as_str()))
        {
            let words = "a test is a plain function: its waits block its fibre";
            return Err(wrong(at, words));
        }
        let Some(TokenTree::Ident(name)) = rest.get(place + 1) else {
            return Err(wrong(place, "a test has a name"));
        };
        let Some(TokenTree::Group(arguments)) = rest.get(place + 2) else {
            return Err(wrong(place + 1, "a test has no type parameters"));
        };
        let arguments: Vec<_> = arguments.stream().into_iter().collect();
        let commas = arguments.iter().rev().skip(1);
        if commas.filter(|token| is_punct(token, ',')).count() > 0 {
            let words = "a test has one argument, `sim: &Sim`, or none";
            return Err(wrong(place + 2, words));
        }
        let (name, has_argument) = (name.clone(), !arguments.is_empty());
        let item = rest.into_iter().skip(place).collect();
        Ok(Self {
            attributes,
            item,
            name,
            has_argument,
        })
    }
}

impl Wrong {
    /// What has the compiler say so.
    fn into_tokens(self) -> TokenStream {
        let Self(span, words) = self;
        let message = parse(&format!("({words:?})"));
        let tokens = [parse("::core::compile_error!"), message, parse(";")];
        let tokens = tokens.into_iter().flatten();
        let there = tokens.map(|mut token| {
            token.set_span(span);
            token
        });
        there.collect()
    }
}

/// Tokens of a text of this file.
fn parse(text: &str) -> TokenStream {
    // They are all right, or no test of the attribute passes.
    text.parse().unwrap_or_default()
}

/// A name, as tokens.
fn name(name: &Ident) -> TokenStream {
    TokenStream::from(TokenTree::Ident(name.clone()))
}

/// Tokens within parentheses or braces.
fn group(delimiter: Delimiter, tokens: TokenStream) -> TokenStream {
    TokenStream::from(TokenTree::Group(Group::new(delimiter, tokens)))
}

/// Whether a token is this character, alone.
fn is_punct(token: &TokenTree, character: char) -> bool {
    let alone = |punct: &Punct| punct.spacing() == Spacing::Alone || character != '=';
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character && alone(punct))
}
