//! The forms of a report: `text` and `tree` for people, `json` for programs.

pub(crate) mod json;
pub(crate) mod text;
pub(crate) mod tree;
