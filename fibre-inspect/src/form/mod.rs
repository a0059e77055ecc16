//! The two forms of a report: `text` for people, `json` for programs.

pub(crate) mod json;
pub(crate) mod text;
