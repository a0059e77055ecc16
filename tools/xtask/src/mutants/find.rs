//! Finds the mutants of a file.
//!
//! Three kinds are found here: memory orderings, each weakened to all that are one step weaker;
//! statements that are left out; and conditions that are always true, or never. What functions
//! return and what operators do is cargo-mutants' business: where its list has a place of this
//! file, that mutant is woven in, too.
//!
//! Nothing is changed in tests, constants, patterns and macros, nor in what only models have. And
//! two things are no mistakes anywhere: a hint that is not given, and flags, which are disjoint
//! bits, joined by an exclusive or.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use anyhow::{Context, Result};
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, ExprMethodCall, ImplItemFn, Item, ItemFn, ItemImpl, Stmt};

use crate::mutants::listed::Listed;
use crate::mutants::mutant::{Kind, Mutant};
use crate::tidy::source::{is_test_only, item_attributes};

/// Statements that are hints.
const HINTS: [&str; 3] = ["spin_hint();", "thread_yield();", "yield_point();"];

/// All mutants of a file, given its text; those within one function follow each other.
pub(crate) fn find(text: &str, listed: &Listed) -> Result<Vec<Mutant>> {
    let syntax = syn::parse_file(text).context("no Rust")?;
    let mut finder = Finder {
        text,
        listed,
        owner: String::new(),
        function: String::new(),
        code: 0,
        found: Vec::new(),
    };
    finder.visit_file(&syntax);
    Ok(finder.found)
}

/// What is known on the way through a file.
struct Finder<'a> {
    text: &'a str,
    listed: &'a Listed,
    /// The type that these methods belong to.
    owner: String,
    /// The function.
    function: String,
    /// Its body, as a number.
    code: u64,
    found: Vec<Mutant>,
}

impl Finder<'_> {
    /// Adds a mutant of the code at `span`, made by what stands before and after it.
    fn add(&mut self, kind: Kind, span: Span, what: String, around: (String, &str)) {
        let Range { start, end } = span.byte_range();
        self.add_at(kind, span.start().line, what, (start, end), around);
    }

    /// The same for a part that is no code of its own.
    fn add_at(
        &mut self,
        kind: Kind,
        line: usize,
        what: String,
        part: (usize, usize),
        around: (String, &str),
    ) {
        let place = (line, self.function.as_str(), self.code);
        self.found
            .push(Mutant::new(kind, place, what, part, around));
    }

    /// The text of some code.
    fn text_of(&self, span: Span) -> &str {
        &self.text[span.byte_range()]
    }

    /// A number that stands for the text of some code, whatever the spaces in it.
    fn number_of(&self, span: Span) -> u64 {
        let mut hasher = DefaultHasher::new();
        let words = self.text_of(span).split_whitespace();
        words.for_each(|word| word.hash(&mut hasher));
        hasher.finish()
    }

    /// The same in one line, and not too long.
    fn short(&self, span: Span) -> String {
        let words: Vec<&str> = self.text_of(span).split_whitespace().collect();
        let line = words.join(" ");
        match line.char_indices().nth(70) {
            Some((end, _)) => format!("{} …", &line[..end]),
            None => line,
        }
    }

    /// What a function does, if it has a body that can be changed.
    fn body(
        &mut self,
        name: &str,
        block: &Block,
        attributes: &[Attribute],
        visit: impl FnOnce(&mut Self),
    ) {
        if is_test_only(attributes) || name == "end_of_frame" {
            return;
        }
        let name = match self.owner.is_empty() {
            true => name.to_owned(),
            false => format!("{}::{name}", self.owner),
        };
        let code = self.number_of(block.span());
        let outer = std::mem::replace(&mut self.function, name);
        let outer_code = std::mem::replace(&mut self.code, code);
        let brace = block.brace_token.span.open();
        let (line, inside) = (brace.start().line, brace.byte_range().end);
        for value in self.listed.values(block.span()) {
            let what = format!("returns `{value}` at once");
            let around = (format!(" if § {{ return {value}; }}"), "");
            self.add_at(Kind::Listed, line, what, (inside, inside), around);
        }
        visit(self);
        self.function = outer;
        self.code = outer_code;
    }

    /// Whether a condition is that a model has planted a fault, and nothing else.
    fn is_planted(&self, condition: &Expr) -> bool {
        let text = self.text_of(condition.span());
        text.starts_with("planted(") && !text.contains("||") && !text.contains("&&")
    }

    /// A condition, unless it binds names.
    fn condition(&mut self, condition: &Expr, may_be_true: bool) {
        if binds(condition) {
            return;
        }
        let (span, text) = (condition.span(), self.short(condition.span()));
        if may_be_true {
            let what = format!("`{text}` is always true");
            self.add(Kind::Condition, span, what, ("(§ || (".to_owned(), "))"));
        }
        let what = format!("`{text}` is never true");
        self.add(Kind::Condition, span, what, ("(!§ && (".to_owned(), "))"));
    }

    /// A memory ordering, in a call of `operation` as argument `position`; or elsewhere.
    fn ordering(&mut self, written: &Expr, operation: Option<(&str, usize)>) {
        let Some((path, order)) = memory_ordering(written) else {
            return;
        };
        let place = operation.map_or("a value", |(name, _)| name);
        for weaker in weaker(&order, operation) {
            let what = format!("{order} is {weaker} ({place})");
            let before = format!("(if § {{ {path}{weaker} }} else {{ ");
            self.add(Kind::Ordering, written.span(), what, (before, " })"));
        }
    }

    /// An operator between two, if cargo-mutants has others for it.
    fn operator(&mut self, whole: Span, [left, operator, right]: [Span; 3]) {
        for other in self.listed.operators(operator) {
            if (self.text_of(operator), other.as_str()) == ("|", "^") {
                continue;
            }
            let what = format!("`{}` with `{other}`", self.short(whole));
            let [left, right] = [left, right].map(|side| self.text_of(side));
            let before = format!("(if § {{ {left} {other} {right} }} else {{ ");
            self.add(Kind::Listed, whole, what, (before, " })"));
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let constant = matches!(item, Item::Const(_) | Item::Static(_) | Item::Macro(_));
        if !constant && !is_test_only(item_attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let name = self.text_of(item.self_ty.span());
        let name = name.split([' ', '<']).next().unwrap_or_default().to_owned();
        let outer = std::mem::replace(&mut self.owner, name);
        visit::visit_item_impl(self, item);
        self.owner = outer;
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if item.sig.constness.is_none() {
            let name = item.sig.ident.to_string();
            self.body(&name, &item.block, &item.attrs, |finder| {
                finder.visit_block(&item.block);
            });
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if item.sig.constness.is_none() {
            let name = item.sig.ident.to_string();
            self.body(&name, &item.block, &item.attrs, |finder| {
                finder.visit_block(&item.block);
            });
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let hint = |span: &Span| !HINTS.contains(&self.text_of(*span));
        if let Some(span) = left_out(statement).filter(hint) {
            let what = format!("`{}` is left out", self.short(span));
            let around = ("if !§ { ".to_owned(), " }");
            self.add(Kind::Statement, span, what, around);
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        match expression {
            Expr::Const(_) => return,
            Expr::Repeat(repeat) => return self.visit_expr(&repeat.expr),
            Expr::If(chosen) => {
                self.condition(&chosen.cond, true);
                if self.is_planted(&chosen.cond) {
                    // What follows is a mistake already, of some model.
                    self.visit_expr(&chosen.cond);
                    return chosen
                        .else_branch
                        .iter()
                        .for_each(|(_, other)| self.visit_expr(other));
                }
            }
            Expr::Match(chosen) if self.is_planted(&chosen.expr) => {
                let mut arms = chosen.arms.iter();
                let right = arms.find(|arm| self.text_of(arm.pat.span()) == "false");
                return right.into_iter().for_each(|arm| self.visit_expr(&arm.body));
            }
            Expr::While(repeated) => self.condition(&repeated.cond, false),
            Expr::Binary(binary) if !binds(expression) => {
                let parts = [binary.left.span(), binary.op.span(), binary.right.span()];
                self.operator(binary.span(), parts);
            }
            Expr::Unary(unary) => {
                let (operand, whole) = (unary.expr.span(), unary.span());
                if self.listed.is_deleted(unary.op.span()) {
                    let what = format!("`{}` without its first sign", self.short(whole));
                    let before = format!("(if § {{ {} }} else {{ ", self.text_of(operand));
                    self.add(Kind::Listed, whole, what, (before, " })"));
                }
            }
            Expr::Path(_) => self.ordering(expression, None),
            _ => {}
        }
        visit::visit_expr(self, expression);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        match &arm.pat {
            syn::Pat::Guard(guarded) => {
                self.condition(&guarded.guard, true);
                self.visit_expr(&guarded.guard);
            }
            _ if self.listed.is_deleted(arm.span()) => {
                let what = format!("the arm `{}` is left out", self.short(arm.pat.span()));
                let (line, end) = (arm.span().start().line, arm.pat.span().byte_range().end);
                let around = (" if !§".to_owned(), "");
                self.add_at(Kind::Listed, line, what, (end, end), around);
            }
            _ => {}
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.visit_expr(&call.receiver);
        let name = call.method.to_string();
        for (position, argument) in call.args.iter().enumerate() {
            match memory_ordering(argument) {
                Some(_) => self.ordering(argument, Some((&name, position))),
                None => self.visit_expr(argument),
            }
        }
    }

    fn visit_pat(&mut self, _: &'ast syn::Pat) {}

    fn visit_type(&mut self, _: &'ast syn::Type) {}

    fn visit_path_arguments(&mut self, _: &'ast syn::PathArguments) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_variant(&mut self, _: &'ast syn::Variant) {}
}

/// Whether a condition binds names, so that it cannot stand in brackets.
fn binds(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

/// The part of a statement that can be left out: one that does something, and has a value that
/// nobody uses.
fn left_out(statement: &Stmt) -> Option<Span> {
    match statement {
        Stmt::Expr(expression, Some(_)) => {
            let (does, attributes) = match expression {
                Expr::Call(call) => (true, &call.attrs),
                Expr::MethodCall(call) => (true, &call.attrs),
                Expr::Assign(assign) => (true, &assign.attrs),
                Expr::Try(tried) => (true, &tried.attrs),
                Expr::Binary(changed) => (true, &changed.attrs),
                Expr::Unsafe(block) => (true, &block.attrs),
                _ => return None,
            };
            (does && attributes.is_empty()).then(|| statement.span())
        }
        Stmt::Local(local) if matches!(local.pat, syn::Pat::Wild(_)) => {
            local.attrs.is_empty().then(|| statement.span())
        }
        _ => None,
    }
}

/// The path to a memory ordering, and its name.
fn memory_ordering(written: &Expr) -> Option<(String, String)> {
    let Expr::Path(path) = written else {
        return None;
    };
    let mut names: Vec<String> = path
        .path
        .segments
        .iter()
        .map(|part| part.ident.to_string())
        .collect();
    let order = names.pop()?;
    let known = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];
    let ours =
        names.last().is_some_and(|name| name == "Ordering") && known.contains(&order.as_str());
    ours.then(|| (format!("{}::", names.join("::")), order))
}

/// The orderings that are one step weaker, where that makes sense. What distinguishes sequential
/// consistency is left alone if the rest of it stays: models know no total order of it.
fn weaker(order: &str, operation: Option<(&str, usize)>) -> &'static [&'static str] {
    let one_way = match operation {
        Some(("load" | "store", _)) | None => true,
        // What a failed exchange reads, and what an update reads first.
        Some(("compare_exchange" | "compare_exchange_weak", 3) | ("fetch_update", 1)) => true,
        Some(_) => false,
    };
    match order {
        "SeqCst" | "AcqRel" if !one_way => &["Acquire", "Release"],
        "SeqCst" | "AcqRel" | "Acquire" | "Release" => &["Relaxed"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::mutant::weave;
    use std::collections::BTreeSet;

    /// What is wrong in each mutant of a text.
    fn wrongs(text: &str) -> Vec<String> {
        let mutants = find(text, &Listed::default()).unwrap();
        mutants.into_iter().map(|mutant| mutant.what).collect()
    }

    #[test]
    fn orderings_are_weakened_by_a_step_where_they_stand() {
        let text = "fn f(w: &AtomicU32) {
            let _x = w.load(Ordering::Acquire) + w.swap(1, Ordering::AcqRel);
            let _y = w.compare_exchange(0, 1, Ordering::SeqCst, Ordering::Acquire);
            let _z = w.fetch_update(Ordering::Release, Ordering::Relaxed, |x| Some(x));
            let _o = match true { true => Ordering::Release, false => Ordering::Relaxed };
            let _c = a.cmp(&b) == cmp::Ordering::Less;
        }";
        let wanted = [
            "Acquire is Relaxed (load)",
            "AcqRel is Acquire (swap)",
            "AcqRel is Release (swap)",
            "SeqCst is Acquire (compare_exchange)",
            "SeqCst is Release (compare_exchange)",
            "Acquire is Relaxed (compare_exchange)",
            "Release is Relaxed (fetch_update)",
            "Release is Relaxed (a value)",
        ];
        assert_eq!(wrongs(text), wanted);
    }

    #[test]
    fn statements_and_conditions_are_found_where_they_can_be_changed() {
        let text = "impl A<u8> { fn f(&mut self) -> u32 {
            if self.is_a() && b { self.g(); self.x = 1; }
            if let Some(y) = self.b() && self.c() { let _ = h(y); }
            while self.is_a() { unsafe { self.g() }; }
            match self.x { 1 if b => {} _ => {} }
            assert!(self.is_a());
            self.g()
        } }";
        let wanted = [
            "`self.is_a() && b` is always true",
            "`self.is_a() && b` is never true",
            "`self.g();` is left out",
            "`self.x = 1;` is left out",
            "`let _ = h(y);` is left out",
            "`self.is_a()` is never true",
            "`unsafe { self.g() };` is left out",
            "`b` is always true",
            "`b` is never true",
        ];
        assert_eq!(wrongs(text), wanted);
        let mutants = find(text, &Listed::default()).unwrap();
        assert!(
            mutants
                .iter()
                .all(|mutant| mutant.function == "A::f" && mutant.line > 1)
        );
    }

    #[test]
    fn planted_faults_have_no_mutants() {
        let text = r#"fn f() {
            if planted("a fault") { g(); } else { h(); }
            let order = match planted("another") {
                true => Ordering::Acquire,
                false => Ordering::Release,
            };
        }"#;
        let wrongs = wrongs(text);
        assert!(wrongs.iter().any(|wrong| wrong == "`h();` is left out"));
        assert!(!wrongs.iter().any(|wrong| wrong == "`g();` is left out"));
        assert!(wrongs.iter().any(|wrong| wrong.starts_with("Release is")));
        assert!(!wrongs.iter().any(|wrong| wrong.starts_with("Acquire is")));
    }

    #[test]
    fn tests_and_constants_have_no_mutants() {
        for text in [
            "#[cfg(all(test, not(loom)))] mod tests { fn f() { g(); } }",
            "const fn f() { if A { g(); } }",
            "const A: u32 = { g(); 1 }; static B: [u8; { g(); 2 }] = [0; 2];",
            "macro_rules! m { () => { g(); } }",
        ] {
            assert_eq!(wrongs(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn woven_text_asks_for_each_mutant_by_its_number() {
        let text = "fn f() { if a { b(w.load(Ordering::Acquire)); } }";
        let mutants = find(text, &Listed::default()).unwrap();
        let woven = weave(text, &mutants, &BTreeSet::from([1]), ("m", 7));
        let wanted = "fn f() { if (m(7) || (a)) { if !m(9) { \
            b(w.load((if m(10) { Ordering::Relaxed } else { Ordering::Acquire }))); } } }";
        assert_eq!(woven.text, wanted);
        let byte = wanted.find("Relaxed").unwrap();
        assert_eq!(woven.blamed(&mutants, byte), [3]);
        // Elsewhere in the function: the statements first.
        assert_eq!(woven.blamed(&mutants, wanted.find("b(").unwrap()), [2]);
    }

    /// The lists of cargo-mutants are read, and taken where they belong.
    #[test]
    fn operators_and_values_are_those_of_the_list() {
        let text = "fn f() -> bool {\n    !a\n        && b\n}\n";
        let list = r#"[
            {"file": "a.rs", "genre": "FnValue", "replacement": "true",
             "function": {"span": {"end": {"line": 4, "column": 2}}}},
            {"file": "a.rs", "genre": "BinaryOperator", "replacement": "||",
             "span": {"start": {"line": 3, "column": 9}}},
            {"file": "a.rs", "genre": "BinaryOperator", "replacement": "||",
             "span": {"start": {"line": 3, "column": 9}}},
            {"file": "a.rs", "genre": "UnaryOperator", "replacement": "",
             "span": {"start": {"line": 2, "column": 5}}}
        ]"#;
        let lists = crate::mutants::listed::read(&serde_json::from_str(list).unwrap()).unwrap();
        let mutants = find(text, &lists["a.rs"]).unwrap();
        let woven = weave(text, &mutants, &BTreeSet::new(), ("m", 0)).text;
        let wanted = "fn f() -> bool { if m(0) { return true; }\n    \
            (if m(1) { !a || b } else { (if m(2) { a } else { !a })\n        && b })\n}\n";
        assert_eq!(woven, wanted);
    }
}
