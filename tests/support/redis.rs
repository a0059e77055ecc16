//! What servers that stand for Redis read.

use std::io::{self, BufRead};

/// Reads a command, which is an array of strings; `None` at the end of the connection.
pub fn read_command(reader: &mut impl BufRead) -> io::Result<Option<Vec<String>>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let words = (0..number(&line, '*')?).map(|_| {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut word = vec![0; number(&line, '$')?];
        reader.read_exact(&mut word)?;
        reader.read_exact(&mut [0; 2])?;
        String::from_utf8(word).map_err(io::Error::other)
    });
    words.collect::<io::Result<_>>().map(Some)
}

/// The number after a mark.
fn number(line: &str, mark: char) -> io::Result<usize> {
    let number = line.trim_end().strip_prefix(mark);
    let number = number.and_then(|number| number.parse().ok());
    number.ok_or_else(|| io::Error::other(format!("{line:?}")))
}
