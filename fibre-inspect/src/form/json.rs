//! A report as JSON, for programs: one object, in one line.

use crate::form::text::words;
use crate::gather::{Fibre, State};
use crate::report::Report;
use crate::symbols::Code;
use std::fmt::{Result, Write};

/// Writes a report.
pub(crate) fn write(report: &mut Report<'_>, out: &mut String) -> Result {
    write!(
        out,
        "{{\"process\":{},\"time_ms\":{},\"looked_ms\":{},\"clusters\":[",
        std::process::id(),
        report.time.as_millis(),
        report.looked.as_millis()
    )?;
    for (at, cluster) in report.found.clusters.iter().enumerate() {
        separate(at, out);
        write!(
            out,
            "{{\"name\":{},\"fibres\":{},\"own_thread_locals\":{},\"processors\":[",
            Text(&cluster.name),
            cluster.live,
            cluster.thread_blocks.is_some()
        )?;
        for (at, processor) in cluster.processors.iter().enumerate() {
            separate(at, out);
            let view = processor.view;
            write!(
                out,
                "{{\"number\":{},\"thread\":{},\"spare\":{},\"busy\":{},\"stuck\":",
                view.index, view.thread, view.spare, view.busy
            )?;
            match processor.stuck {
                Some(activity) => write!(out, "{}}}", Text(&activity.to_string()))?,
                None => out.push_str("null}"),
            }
        }
        out.push_str("]}");
    }
    out.push_str("],\"circles\":[");
    circles(report, out)?;
    out.push_str("],\"cancel_groups\":[");
    cancel_groups(report, out)?;
    out.push_str("],\"groups\":[");
    for at in 0..report.groups.len() {
        separate(at, out);
        group(report, at, out)?;
    }
    out.push_str("],\"unread\":[");
    for (at, what) in report.found.unread.iter().enumerate() {
        separate(at, out);
        write!(out, "{}", Text(what))?;
    }
    write!(
        out,
        "],\"omitted\":{},\"missed\":{},\"lacking\":[",
        report.found.omitted, report.found.missed
    )?;
    for (at, lacking) in report.symbols.lacking().enumerate() {
        separate(at, out);
        write!(out, "{}", Text(lacking))?;
    }
    out.push_str("]}\n");
    Ok(())
}

/// Writes which fibres wait for each other.
fn circles(report: &Report<'_>, out: &mut String) -> Result {
    for (at, cycle) in report.cycles.iter().enumerate() {
        separate(at, out);
        let ids: Vec<String> = cycle.iter().map(u64::to_string).collect();
        write!(out, "[{}]", ids.join(","))?;
    }
    Ok(())
}

/// Writes the groups that are cancelled together.
fn cancel_groups(report: &Report<'_>, out: &mut String) -> Result {
    for (at, group) in report.found.cancel_groups.iter().enumerate() {
        separate(at, out);
        write!(out, "{{\"number\":{},\"outer\":", at + 1)?;
        number(group.outer.map(|outer| outer as u64 + 1), out)?;
        write!(out, ",\"cancelled\":{}}}", group.cancelled)?;
    }
    Ok(())
}

/// Writes a group.
fn group(report: &mut Report<'_>, at: usize, out: &mut String) -> Result {
    let (frames, end) = report.stack(at);
    let group = &report.groups[at];
    let state = match group.state {
        State::Runs => "runs",
        State::Behind => "behind",
        State::Waits => "waits",
        State::Ready => "ready",
    };
    let cluster = &report.found.clusters[group.cluster].name;
    write!(
        out,
        "{{\"cluster\":{},\"state\":\"{state}\",\"count\":{},\"waits_for\":",
        Text(cluster),
        group.fibres.len()
    )?;
    match group.kind {
        Some(kind) => write!(out, "{}", Text(&words(kind)))?,
        None => out.push_str("null"),
    }
    out.push_str(",\"stack\":[");
    for (at, (address, code)) in frames.iter().enumerate() {
        separate(at, out);
        frame(*address, code, out)?;
    }
    write!(out, "],\"end\":{},\"fibres\":[", Text(&end))?;
    for (at, place) in group.fibres.iter().enumerate() {
        separate(at, out);
        fibre(report, &report.found.fibres[*place], out)?;
    }
    out.push_str("]}");
    Ok(())
}

/// Writes a frame.
fn frame(address: usize, code: &Code, out: &mut String) -> Result {
    write!(out, "{{\"address\":\"{address:#x}\",\"module\":")?;
    match &code.module {
        Some((name, offset)) => write!(out, "{},\"offset\":\"{offset:#x}\"", Text(name))?,
        None => out.push_str("null,\"offset\":null"),
    }
    out.push_str(",\"functions\":[");
    for (at, function) in code.functions.iter().enumerate() {
        separate(at, out);
        out.push_str("{\"name\":");
        optional(function.name.as_deref(), out)?;
        out.push_str(",\"file\":");
        optional(function.place.as_ref().map(|(file, _)| &**file), out)?;
        let line = function.place.as_ref().map_or(0, |(_, line)| *line);
        write!(out, ",\"line\":{line}}}")?;
    }
    out.push_str("]}");
    Ok(())
}

/// Writes a fibre.
fn fibre(report: &Report<'_>, fibre: &Fibre, out: &mut String) -> Result {
    write!(out, "{{\"id\":{},\"name\":", fibre.id)?;
    optional(report.found.name(fibre), out)?;
    out.push_str(",\"labels\":{");
    let labels = report.found.labels(fibre);
    let labels = labels.iter().flat_map(|labels| labels.0.lines());
    for (at, label) in labels.enumerate() {
        separate(at, out);
        let (key, value) = label.split_once('=').unwrap_or((label, ""));
        write!(out, "{}:{}", Text(key), Text(value))?;
    }
    out.push_str("},\"parent\":");
    number(fibre.parent, out)?;
    out.push_str(",\"cancel_group\":");
    number(fibre.cancel_group.map(|place| place as u64 + 1), out)?;
    out.push_str(",\"processor\":");
    number(fibre.processor.map(|processor| processor as u64), out)?;
    out.push_str(",\"address\":");
    let address = fibre.awaited.and_then(|awaited| awaited.address());
    optional(
        address.map(|address| format!("{address:#x}")).as_deref(),
        out,
    )?;
    out.push_str(",\"number\":");
    let of_object = fibre.awaited.and_then(|awaited| awaited.number());
    number(of_object.map(u64::from), out)?;
    out.push_str(",\"owner\":");
    number(fibre.owner, out)?;
    out.push_str(",\"waited_ms\":");
    number(
        report.waited(fibre).map(|waited| waited.as_millis() as u64),
        out,
    )?;
    out.push('}');
    Ok(())
}

/// Writes a comma before all but the first.
pub(crate) fn separate(at: usize, out: &mut String) {
    if at > 0 {
        out.push(',');
    }
}

/// Writes a text, or null.
pub(crate) fn optional(text: Option<&str>, out: &mut String) -> Result {
    match text {
        Some(text) => write!(out, "{}", Text(text)),
        None => out.write_str("null"),
    }
}

/// Writes a number, or null.
pub(crate) fn number(number: Option<u64>, out: &mut String) -> Result {
    match number {
        Some(number) => write!(out, "{number}"),
        None => out.write_str("null"),
    }
}

/// A text in quotation marks.
pub(crate) struct Text<'a>(pub &'a str);

impl std::fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_text_is_escaped() {
        assert_eq!(
            Text("a\"b\\c\nd\u{1}é").to_string(),
            "\"a\\\"b\\\\c\\u000ad\\u0001é\""
        );
    }
}
