//! How lines end. RFC 9112 lets a server take LF alone for an end; a proxy in front may not.

/// Whether a line of these ends by LF alone.
pub(crate) fn has_bare_line_end(lines: &[u8]) -> bool {
    let mut before = 0;
    lines.iter().any(|&byte| {
        let bare = byte == b'\n' && before != b'\r';
        before = byte;
        bare
    })
}
