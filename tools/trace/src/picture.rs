//! The history of a short time as a picture: a row for each processor, with what it ran, when it
//! slept, and an arrow from where a fibre was made ready to where it ran.
//!
//! Perfetto shows more, and all of the trace. This is for pages and mails.

use crate::file::{File, Track};
use crate::history::{History, Run, Scale};
use crate::statistics::time;
use std::ops::Range;
use svg::node::element::path::Data;
use svg::node::element::{Definitions, Group, Line, Marker, Path, Rectangle, Text, Title};
use svg::{Document, Node};

/// The width of all of it, and of the names at the left, in pixels.
const WIDTH: f64 = 1200.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 20.0;

/// The height of what is above the rows, of a row, and of what runs in it.
const TOP: f64 = 50.0;
const ROW: f64 = 64.0;
const BAR: f64 = 30.0;

/// The height of the scale below the rows.
const FOOT: f64 = 74.0;

/// What a letter takes, about.
const LETTER: f64 = 6.2;

/// How many lines the scale has, about.
const LINES: u64 = 10;

/// Colours of fibres.
const COLOURS: [&str; 10] = [
    "#7eb6e8", "#f2a65a", "#8fd19e", "#e88fa2", "#b9a3e3", "#d8c25a", "#7fd0cf", "#d99bd1",
    "#a9c46c", "#c9a68a",
];

/// A picture under way.
struct Picture<'a> {
    file: &'a File,
    history: &'a History,
    scale: Scale,
    /// The ticks that it shows.
    shown: Range<u64>,
    /// The place of each track among the rows, if it has one.
    rows: Vec<Option<usize>>,
}

/// Draws what happened in so many nanoseconds, which begin so many before the end of the trace.
pub(crate) fn draw(file: &File, history: &History, back: u64, length: u64) -> Document {
    let scale = Scale::of(file);
    let begin = history.end.saturating_sub(scale.ticks(back));
    let least = begin.saturating_add(1);
    let end = begin.saturating_add(scale.ticks(length)).max(least);
    let end = end.min(history.end.max(least));
    let mut count = 0..;
    let rows = file.tracks.iter().map(|track| {
        let is_processor = track.cluster.is_some();
        is_processor.then(|| count.next()).flatten()
    });
    let picture = Picture {
        rows: rows.collect(),
        file,
        history,
        scale,
        shown: begin..end,
    };
    picture.draw()
}

impl Picture<'_> {
    fn draw(&self) -> Document {
        let rows = self.rows.iter().flatten().count() as f64;
        let height = TOP + rows * ROW + FOOT;
        let mut document = Document::new()
            .set("viewBox", (0.0, 0.0, WIDTH, height))
            .set("width", WIDTH)
            .set("height", height)
            .set("font-family", "sans-serif")
            .set("font-size", 11)
            .add(head())
            .add(rectangle((0.0, WIDTH), (0.0, height), "white"));
        document.append(self.title());
        document.append(self.time_scale(TOP + rows * ROW));
        for (place, track) in self.file.tracks.iter().enumerate() {
            if let Some(row) = self.rows[place] {
                document.append(processor(row, track));
            }
        }
        document.append(self.sleeps());
        document.append(self.runs());
        document.append(self.arrows());
        document.append(self.marks());
        document
    }

    /// What it is a picture of.
    fn title(&self) -> Text {
        let length = self.words(self.shown.end - self.shown.start);
        let back = self.words(self.history.end - self.shown.start);
        let File {
            process, command, ..
        } = self.file;
        let words = format!("{length} of process {process}: {command}, from {back} before the end");
        text(words, (LEFT, 22.0)).set("font-size", 15)
    }

    /// A line for every so many nanoseconds, a round number of them.
    fn time_scale(&self, bottom: f64) -> Group {
        let length = self
            .scale
            .nanoseconds(self.shown.end - self.shown.start)
            .max(1);
        let step = round_step(length);
        let mut group = Group::new();
        for at in (0..=length).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
            let x = LEFT + (WIDTH - LEFT - RIGHT) * at as f64 / length as f64;
            let line = Line::new()
                .set("x1", x)
                .set("x2", x)
                .set("y1", TOP - 8.0)
                .set("y2", bottom)
                .set("stroke", "#dddddd");
            let words = text(time(at), (x, bottom + 16.0)).set("text-anchor", "middle");
            group = group.add(line).add(words);
        }
        let legend = "A bar is a fibre that runs, by its name or number; grey is a processor that sleeps. An arrow leads \
                      from where a fibre was made ready to where it runs.";
        group.add(text(legend, (LEFT, bottom + 46.0)))
    }

    /// What processors slept.
    fn sleeps(&self) -> Group {
        let mut group = Group::new();
        for span in &self.history.sleeps {
            let place = self.rows[span.track].zip(self.across(span.begin, span.end));
            if let Some((row, across)) = place {
                let bar = rectangle(across, bar(row), "#eeeeee");
                let slept = self.words(span.end - span.begin);
                group = group.add(bar.add(hint(&format!("asleep for {slept}"))));
            }
        }
        group
    }

    /// What ran.
    fn runs(&self) -> Group {
        let mut group = Group::new();
        for run in &self.history.runs {
            let place = self.rows[run.track].zip(self.across(run.begin, run.end));
            if let Some((row, across)) = place {
                group = group.add(self.run(run, row, across));
            }
        }
        group
    }

    /// One run, with the fibre's name if there is room, or its number.
    fn run(&self, run: &Run, row: usize, across: (f64, f64)) -> Group {
        let name = self.name(run.fibre);
        let ran = self.words(run.end - run.begin);
        let colour = COLOURS[(run.fibre % COLOURS.len() as u64) as usize];
        let bar_of_it = rectangle(across, bar(row), colour).set("stroke", "#555555");
        let bar_of_it = bar_of_it.set("stroke-width", 0.4);
        let mut group = Group::new().add(bar_of_it);
        let room = (across.1 - across.0 - 4.0) / LETTER;
        let middle = bar(row).0 + BAR / 2.0 + 4.0;
        let mut labels = [name.clone(), run.fibre.to_string()].into_iter();
        if let Some(label) = labels.find(|label| label.chars().count() as f64 <= room) {
            group = group.add(text(label, (across.0 + 3.0, middle)));
        }
        group.add(hint(&format!("{name} for {ran}")))
    }

    /// From where fibres were made ready to where they run.
    fn arrows(&self) -> Group {
        let mut group = Group::new();
        for wake in &self.history.wakes {
            let run = wake.run.map(|run| &self.history.runs[run]);
            let Some(run) = run else {
                continue;
            };
            let places = self.rows[wake.track].zip(self.rows[run.track]);
            let ends = self.at(wake.at).zip(self.at(run.begin));
            if let Some(((from, to), (begin, end))) = places.zip(ends) {
                group = group.add(arrow((begin, from), (end, to)));
            }
        }
        group
    }

    /// Marks of the program.
    fn marks(&self) -> Group {
        let mut group = Group::new();
        for mark in &self.history.marks {
            if let Some((row, x)) = self.rows[mark.track].zip(self.at(mark.at)) {
                let y = bar(row).0 - 4.0;
                group = group.add(text(format!("▾ {}", mark.text), (x - 3.0, y)));
            }
        }
        group
    }

    /// A fibre in words.
    fn name(&self, fibre: u64) -> String {
        let name = self.file.names.get(&fibre);
        name.cloned().unwrap_or_else(|| format!("fibre {fibre}"))
    }

    /// A time of so many ticks, in words.
    fn words(&self, ticks: u64) -> String {
        time(self.scale.nanoseconds(ticks))
    }

    /// Where a moment is, if it is shown.
    fn at(&self, tick: u64) -> Option<f64> {
        self.shown.contains(&tick).then(|| self.x(tick))
    }

    /// From where to where a time is, if a part of it is shown.
    fn across(&self, begin: u64, end: u64) -> Option<(f64, f64)> {
        let is_shown = begin < self.shown.end && end > self.shown.start;
        is_shown.then(|| {
            let begin = begin.max(self.shown.start);
            (self.x(begin), self.x(end.min(self.shown.end)))
        })
    }

    /// Where a moment would be.
    fn x(&self, tick: u64) -> f64 {
        let length = (self.shown.end - self.shown.start) as f64;
        let share = tick.saturating_sub(self.shown.start) as f64 / length;
        LEFT + (WIDTH - LEFT - RIGHT) * share
    }
}

/// The step of the scale: one, two or five times a power of ten.
fn round_step(length: u64) -> u64 {
    let least = (length / LINES).max(1);
    let power = 10_u64.pow(least.ilog10());
    let steps = [1, 2, 5, 10].map(|times| times * power);
    let enough = steps.into_iter().find(|step| *step >= least);
    enough.unwrap_or(10 * power)
}

/// The heads of arrows.
fn head() -> Definitions {
    let shape = Data::new().move_to((0, 0)).line_to((6, 3)).line_to((0, 6));
    let marker = Marker::new()
        .set("id", "head")
        .set("markerWidth", 6)
        .set("markerHeight", 6)
        .set("refX", 6)
        .set("refY", 3)
        .set("orient", "auto");
    Definitions::new().add(marker.add(Path::new().set("d", shape.close()).set("fill", "#444444")))
}

/// The name of a row.
fn processor(row: usize, track: &Track) -> Group {
    let cluster = track.cluster.as_deref().unwrap_or_default();
    let words = format!("processor {} of {cluster:?}", track.processor);
    let (top, bottom) = bar(row);
    let line = rectangle((LEFT, WIDTH - RIGHT), (top, bottom), "none").set("stroke", "#cccccc");
    let name = text(words, (LEFT - 8.0, top + BAR / 2.0 + 4.0)).set("text-anchor", "end");
    Group::new().add(line).add(name)
}

/// From where to where a row's bars are, from top to bottom.
fn bar(row: usize) -> (f64, f64) {
    let top = TOP + row as f64 * ROW + (ROW - BAR) / 2.0;
    (top, top + BAR)
}

/// An arrow from a place on a row to one on a row: below the bars on the same one.
fn arrow((begin, from): (f64, usize), (end, to): (f64, usize)) -> Group {
    let ((above, below), (top, bottom)) = (bar(from), bar(to));
    let data = Data::new();
    let (data, y) = match from.cmp(&to) {
        std::cmp::Ordering::Less => (data.move_to((begin, below)).line_to((end, top)), below),
        std::cmp::Ordering::Greater => (data.move_to((begin, above)).line_to((end, bottom)), above),
        std::cmp::Ordering::Equal => {
            let depth = below + (ROW - BAR) / 2.5;
            let curve = (begin, depth, end, depth, end, below);
            (data.move_to((begin, below)).cubic_curve_to(curve), below)
        }
    };
    let path = Path::new()
        .set("d", data)
        .set("fill", "none")
        .set("stroke", "#444444")
        .set("stroke-width", 0.8)
        .set("marker-end", "url(#head)");
    let dot = svg::node::element::Circle::new()
        .set("cx", begin)
        .set("cy", y)
        .set("r", 1.8)
        .set("fill", "#444444");
    Group::new().add(path).add(dot)
}

/// A rectangle from left to right and from top to bottom.
fn rectangle((left, right): (f64, f64), (top, bottom): (f64, f64), fill: &str) -> Rectangle {
    Rectangle::new()
        .set("x", left)
        .set("width", (right - left).max(0.6))
        .set("y", top)
        .set("height", bottom - top)
        .set("fill", fill)
}

/// Words that begin at a place.
fn text(words: impl AsRef<str>, (x, y): (f64, f64)) -> Text {
    Text::new(visible(words.as_ref())).set("x", x).set("y", y)
}

/// Words that a viewer shows for what the pointer is on.
fn hint(words: &str) -> Title {
    Title::new(visible(words))
}

/// Words with a replacement character for each that XML must not have. A program may put anything
/// into its names and marks.
fn visible(words: &str) -> String {
    let is_barred = |letter: char| letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}');
    words.replace(is_barred, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_have_round_steps() {
        let steps = [1, 999, 1_000, 2_000_000, 4_300_000].map(round_step);
        assert_eq!(steps, [1, 100, 100, 200_000, 500_000]);
    }

    /// A processor where fibre 7 wakes fibre 3, which runs, and sleeps before that.
    fn traced() -> File {
        let word = |fibre: u64| fibre << 22;
        let events = [
            (100, 12, 0),
            (400, 13, 0),
            (500, 1, word(7)),
            (600, 8, word(3)),
            (700, 3, word(7)),
            (800, 1, word(3)),
            (1000, 5, word(3)),
        ];
        let events = events.map(|(at, kind, word)| [at << 8 | kind, word]);
        let mut file = File::default();
        file.names.insert(7, "seven & all".into());
        file.tracks.push(Track {
            cluster: Some("c".into()),
            events: events.to_vec(),
            ..Track::default()
        });
        file
    }

    #[test]
    fn what_is_shown_is_in_the_picture_and_no_more() {
        let file = traced();
        let history = History::of(&file);
        let whole = draw(&file, &history, 1000, 1000).to_string();
        for words in [
            "processor 0 of",
            "seven &amp; all for 200 ns",
            "fibre 3 for 200 ns",
            "asleep for 300 ns",
        ] {
            assert!(whole.contains(words), "no {words:?} in {whole}");
        }
        assert_eq!(whole.matches("marker-end").count(), 1);
        // From 1000 - 550 = 450 on, for 100.
        let part = draw(&file, &history, 550, 100).to_string();
        assert!(part.contains("seven") && !part.contains("fibre 3") && !part.contains("asleep"));
        assert!(part.contains("550 ns before the end"), "{part}");
    }

    /// XML 1.0 has no way to write them, not even escaped.
    #[test]
    fn names_with_control_characters_are_drawn_without_them() {
        let mut file = traced();
        let name = "a\0b\u{1b}[2J\u{fffe}\n<c>";
        file.names.insert(7, name.into());
        file.command = "com\u{1}mand".into();
        file.tracks[0].cluster = Some("clus\u{8}ter".into());
        let drawn = draw(&file, &History::of(&file), 1000, 1000).to_string();
        let is_barred = |letter: &char| {
            letter.is_control() && !matches!(letter, '\n' | '\t') || *letter == '\u{fffe}'
        };
        let barred: Vec<char> = drawn.chars().filter(is_barred).collect();
        assert!(barred.is_empty(), "{barred:?} in {drawn}");
        assert!(
            drawn.contains("a\u{fffd}b\u{fffd}[2J\u{fffd}\u{fffd}&lt;c&gt; for"),
            "{drawn}"
        );
        assert!(drawn.contains("com\u{fffd}mand"), "{drawn}");
    }

    #[test]
    fn a_time_beyond_the_trace_is_cut_and_an_empty_trace_is_drawn() {
        let file = traced();
        let history = History::of(&file);
        let rest = draw(&file, &history, 550, u64::MAX).to_string();
        assert!(rest.contains("seven") && rest.contains("fibre 3"));
        let all = draw(&file, &history, u64::MAX, u64::MAX).to_string();
        assert!(all.contains("seven") && all.contains("fibre 3"));
        let empty = File::default();
        let nothing = draw(&empty, &History::of(&empty), 10, 10).to_string();
        assert!(nothing.starts_with("<svg"));
    }
}
