//! What a fibre says of itself to those who look at it from outside.

use crate::fibre::labels::LabelText;
use crate::processor::with_running;
use std::fmt::Display;

/// Gives the calling fibre a label: dumps, gdb, and the reports of panics and of stack overflows
/// show it beside the fibre's name. A later label with the same key takes its place; an empty value
/// takes it away. Does nothing on a plain thread.
///
/// The value is formatted at once. The labels of a fibre have room for 240 bytes together; what is
/// beyond is cut off. The first one allocates 300 bytes or so, which are freed with the fibre, when
/// its last handle is gone; later ones allocate nothing. Fibres without labels pay nothing.
///
/// ```
/// let connection = fibre::spawn(|| {
///     fibre::label("conn", 42);
///     fibre::label("peer", "127.0.0.1:80");
///     fibre::labels()
/// });
/// assert_eq!(connection.join().unwrap(), "conn=42 peer=127.0.0.1:80");
/// assert_eq!(fibre::labels(), "");
/// ```
pub fn label(key: &str, value: impl Display) {
    if !crate::in_fibre() {
        return;
    }
    let label = LabelText::label(key, format_args!("{value}"));
    let _ = with_running(|fibre| fibre.attributes.set_label(&label));
}

/// The labels of the calling fibre as reports show them, and behind them its
/// [scoped values](crate::ScopedLocal) that are shown; empty on a plain thread.
#[must_use]
pub fn labels() -> String {
    let mut shown = String::new();
    let _ = with_running(|fibre| {
        fibre
            .attributes
            .with_labels(&mut |labels| shown = labels.to_string());
    });
    shown
}
