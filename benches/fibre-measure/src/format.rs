//! How figures are written.

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

/// An empty table in Markdown; its columns after the first `text` ones hold figures.
pub fn table(header: &[&str], text: usize) -> Table {
    let mut table = Table::new();
    table
        .load_style(ASCII_MARKDOWN)
        .set_header(header.iter().copied());
    for column in table.column_iter_mut().skip(text) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A figure with as many digits as it deserves.
pub fn figure(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "–".into(),
        0.0..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => grouped(value.round()),
    }
}

/// A ratio; nothing where there is nothing to compare with.
pub fn ratio(value: f64) -> String {
    match value {
        _ if !value.is_finite() || value <= 0.0 => "–".into(),
        0.1..100.0 => format!("{value:.2}"),
        _ => figure(value),
    }
}

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    if share.is_finite() {
        format!("{:.0} %", share * 100.0)
    } else {
        "–".into()
    }
}

/// A whole number with its thousands set apart.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && !text.ends_with('-') {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(figure(4.8312), "4.83");
        assert_eq!(figure(15.26), "15.3");
        assert_eq!(figure(173_812.4), "173,812");
        assert_eq!(figure(-123_456.0), "-123,456");
        assert_eq!(figure(f64::INFINITY), "–");
    }
}
