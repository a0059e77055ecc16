//! The view on a terminal, drawn anew as often as the process writes.
//!
//! A thread reads the page, as the process may not answer for long; keys are answered meanwhile.

use crate::plain::{COLUMNS, cluster_line, group_line, head, look_line, processors};
use crate::snapshot::Snapshot;
use crate::source::{Failure, Source};
use crate::view::{Before, View};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row, Table};
use ratatui::{DefaultTerminal, Frame};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// How long the process may take before it is said that it does not answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The time between two looks at keys and snapshots.
const TICK: Duration = Duration::from_millis(50);

/// What the reading thread tells.
type News = Result<Snapshot, Failure>;

/// What is shown.
struct Screen {
    name: String,
    before: Before,
    view: Option<View>,
    /// What is wrong.
    warning: Option<String>,
    /// The process is gone.
    ended: bool,
    /// Whether places are shown instead of what fibres do.
    places: bool,
}

/// Shows a process until a key ends that, or the process does. Returns why it was the process.
pub(crate) fn run(source: Source, name: String) -> anyhow::Result<Option<String>> {
    let news = read(source);
    let mut terminal = ratatui::try_init()?;
    let mut screen = Screen {
        name,
        before: Before::default(),
        view: None,
        warning: None,
        ended: false,
        places: false,
    };
    let ran = screen.run(&mut terminal, &news);
    ratatui::restore();
    ran.map(|()| screen.warning.filter(|_| screen.ended))
}

/// Starts the thread that reads.
fn read(mut source: Source) -> Receiver<News> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        loop {
            let next = source.next(PATIENCE);
            let next = next.map(|text| serde_json::from_slice(&text).unwrap_or_default());
            let is_over = matches!(next, Err(Failure::Ended));
            if sender.send(next).is_err() || is_over {
                return;
            }
        }
    });
    receiver
}

impl Screen {
    /// The loop.
    fn run(&mut self, terminal: &mut DefaultTerminal, news: &Receiver<News>) -> anyhow::Result<()> {
        loop {
            while let Ok(next) = news.try_recv() {
                self.take(next);
            }
            terminal.draw(|frame| self.draw(frame))?;
            if self.ended || (event::poll(TICK)? && self.is_over(&event::read()?)) {
                return Ok(());
            }
        }
    }

    /// Takes what the thread tells.
    fn take(&mut self, next: News) {
        match next {
            Ok(snapshot) => {
                self.warning = None;
                let before = self.before.of(&snapshot);
                self.view = Some(View::new(&self.name, before, snapshot));
            }
            Err(failure) => {
                self.ended = matches!(failure, Failure::Ended);
                self.warning = Some(failure.to_string());
            }
        }
    }

    /// Follows a key; whether it ends all.
    fn is_over(&mut self, event: &Event) -> bool {
        let Event::Key(key) = event else {
            return false;
        };
        if key.kind != KeyEventKind::Press {
            return false;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('p') => self.places = !self.places,
            KeyCode::Char('c') if control => return true,
            KeyCode::Char('q') | KeyCode::Esc => return true,
            _ => {}
        }
        false
    }

    /// Draws all.
    fn draw(&self, frame: &mut Frame<'_>) {
        let Some(view) = &self.view else {
            let text = self
                .warning
                .as_deref()
                .unwrap_or("waiting for the process …");
            frame.render_widget(Paragraph::new(text), frame.area());
            return;
        };
        let clusters = view.snapshot.clusters.iter();
        let height = |rows: usize| u16::try_from(rows).unwrap_or(u16::MAX);
        let heights = clusters.map(|one| Constraint::Max(height(one.processors.len() + 3)));
        let first = [Constraint::Length(1)];
        let last = [Constraint::Min(3), Constraint::Length(1)];
        let areas = Layout::vertical(first.into_iter().chain(heights).chain(last));
        let areas = areas.split(frame.area());
        frame.render_widget(Line::from(head(view)).bold(), areas[0]);
        for cluster in 0..view.snapshot.clusters.len() {
            draw_cluster(frame, view, cluster, areas[cluster + 1]);
        }
        self.draw_fibres(frame, view, areas[areas.len() - 2]);
        self.draw_foot(frame, areas[areas.len() - 1]);
    }

    /// Draws what fibres do, or where they were spawned.
    fn draw_fibres(&self, frame: &mut Frame<'_>, view: &View, area: Rect) {
        let (title, rows): (String, Vec<(u64, String)>) = if self.places {
            let each = view.places.iter();
            let rows = each.map(|place| (place.count, place.spawned.clone()));
            ("fibres by what was spawned".to_owned(), rows.collect())
        } else {
            let each = view.groups().into_iter();
            let rows = each.map(|group| (group.count, group_line(group)));
            (look_line(view), rows.collect())
        };
        let mut lines = vec![Line::from(title).underlined()];
        let rows = rows.into_iter().take(usize::from(area.height));
        lines.extend(rows.map(|(count, words)| Line::from(format!("{count:>9}  {words}"))));
        frame.render_widget(Paragraph::new(lines), area);
    }

    /// Draws what is wrong, or the keys.
    fn draw_foot(&self, frame: &mut Frame<'_>, area: Rect) {
        let line = match &self.warning {
            Some(warning) => Line::from(warning.clone()).reversed(),
            None => Line::from("q: quit   p: what fibres do / what was spawned").dim(),
        };
        frame.render_widget(line, area);
    }
}

/// Draws a cluster with its processors.
fn draw_cluster(frame: &mut Frame<'_>, view: &View, cluster: usize, area: Rect) {
    let shown = &view.snapshot.clusters[cluster];
    let title = cluster_line(shown, view.spawns[cluster]);
    let areas = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).split(area);
    frame.render_widget(Line::from(title).underlined(), areas[0]);
    let right = |text: &str, width: usize| Cell::from(format!("{text:>width$}"));
    let widths = COLUMNS.map(|head| head.chars().count());
    let rows = processors(view, cluster).into_iter().zip(&shown.processors);
    let rows = rows.map(|(row, processor)| {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(text, width)| right(text, width));
        let style = if processor.queued.is_none() {
            // A fibre keeps it.
            Style::new().bold()
        } else {
            Style::new()
        };
        Row::new(cells).style(style)
    });
    let constraints = widths.map(|width| Constraint::Length(width as u16));
    let table = Table::new(rows, constraints).column_spacing(2);
    frame.render_widget(table.header(Row::new(COLUMNS).dim()), areas[1]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{Cluster, Group, Look, Processor};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::KeyEvent;

    /// A snapshot of a processor that a fibre keeps.
    fn hung() -> Snapshot {
        let group = Group {
            state: "runs".to_owned(),
            count: 1,
            processor: Some(0),
            at: Some("spins (main.rs:7)".to_owned()),
            spawned: Some("main::{{closure}} (main.rs:3)".to_owned()),
            ..Group::default()
        };
        Snapshot {
            clusters: vec![Cluster {
                name: "web".to_owned(),
                fibres: 3,
                processors: vec![Processor::default()],
                ..Cluster::default()
            }],
            look_age_ms: Some(1200),
            look: Some(Look {
                groups: vec![group],
                ..Look::default()
            }),
            ..Snapshot::default()
        }
    }

    /// What a screen of this size shows.
    fn drawn(screen: &Screen, (width, height): (u16, u16)) -> String {
        let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
        let Ok(_) = terminal.draw(|frame| screen.draw(frame));
        terminal.backend().to_string()
    }

    /// A screen that has seen nothing.
    fn empty() -> Screen {
        Screen {
            name: "server".to_owned(),
            before: Before::default(),
            view: None,
            warning: None,
            ended: false,
            places: false,
        }
    }

    #[test]
    fn what_keeps_a_processor_is_shown() {
        let mut screen = empty();
        assert!(drawn(&screen, (80, 24)).contains("waiting for the process"));
        screen.take(Ok(hung()));
        let shown = drawn(&screen, (80, 24));
        for words in [
            "server (0), up 0:00:00",
            "cluster \"web\": 3 fibres: ? run or could",
            "switch/s",
            "what fibres do, 1.2 s ago",
            "1  keeps processor 0 at spins (main.rs:7)",
            "q: quit",
        ] {
            assert!(shown.contains(words), "{words:?} is not in:\n{shown}");
        }
        let p = Event::Key(KeyEvent::from(KeyCode::Char('p')));
        assert!(!screen.is_over(&p));
        assert!(drawn(&screen, (80, 24)).contains("1  main::{{closure}} (main.rs:3)"));
        assert!(screen.is_over(&Event::Key(KeyEvent::from(KeyCode::Char('q')))));
        // No terminal is too small.
        drawn(&screen, (1, 1));
        drawn(&screen, (7, 3));
    }

    #[test]
    fn silence_is_shown_beside_what_was_known() {
        let mut screen = empty();
        screen.take(Ok(hung()));
        screen.take(Err(Failure::Silent(PATIENCE, true)));
        let shown = drawn(&screen, (80, 24));
        assert!(
            shown.contains("no answer for 2.0s: it is stopped"),
            "{shown}"
        );
        assert!(shown.contains("keeps processor 0"), "{shown}");
        assert!(!screen.ended);
        screen.take(Err(Failure::Ended));
        assert!(screen.ended);
    }
}
