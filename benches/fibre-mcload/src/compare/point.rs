//! What is measured: points, and the figures that they belong to.

use serde::{Deserialize, Serialize};

/// Shares of the first server's rate that the others are asked at in the open loop.
const SHARES: [f64; 3] = [0.25, 0.5, 0.75];

/// Requests that may be under way on a connection in the open loop, where few are.
const ROOM: usize = 16;

/// One setting of the load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Point {
    /// Connections.
    pub connections: u32,
    /// Requests under way on each.
    pub pipeline: usize,
    /// Share of requests that store.
    pub update: f64,
    /// Whether sizes are those of ETC.
    pub etc: bool,
    /// Cores of the server.
    pub cores: usize,
    /// In an open loop: the rate, as a share of what the first server does in a closed loop.
    pub share: Option<f64>,
}

/// What a figure is drawn over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// Connections.
    Connections,
    /// The share of updates.
    Updates,
    /// Cores of the server.
    Cores,
    /// The share of the first server's rate.
    Rate,
    /// Nothing: a row for each point, with the variants in it.
    Variants,
}

/// A figure: a set of points that differ in one thing.
#[derive(Debug, Clone)]
pub(super) struct Figure {
    /// The name of its file.
    pub name: &'static str,
    /// Which of the thesis it stands for, in words.
    pub heading: &'static str,
    /// What it shows.
    pub title: String,
    /// What is on the x-axis.
    pub over: Over,
    /// Its points.
    pub points: Vec<Point>,
}

/// What is asked for.
pub(super) struct Sizes {
    /// Numbers of connections.
    pub connections: Vec<u32>,
    /// Numbers of requests under way.
    pub pipelines: Vec<usize>,
    /// Shares of updates in the grid.
    pub updates: Vec<f64>,
    /// Shares of updates in the figures over them.
    pub all_updates: Vec<f64>,
    /// Numbers of cores.
    pub cores: Vec<usize>,
    /// Whether variants of a server are measured.
    pub variants: bool,
}

impl Sizes {
    /// Every combination of connections, pipelines and updates.
    pub(super) fn grid(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for &pipeline in &self.pipelines {
            for &update in &self.updates {
                points.extend(self.over_connections(pipeline, update));
            }
        }
        points
    }

    /// The point that others differ from in one thing.
    fn usual(&self, pipeline: usize, update: f64) -> Point {
        let middle = self.connections.get(self.connections.len() / 2);
        Point {
            connections: middle.copied().unwrap_or(64),
            pipeline,
            update,
            etc: false,
            cores: 1,
            share: None,
        }
    }

    /// Points that differ in the connections.
    fn over_connections(&self, pipeline: usize, update: f64) -> Vec<Point> {
        let point = |&connections| Point {
            connections,
            ..self.usual(pipeline, update)
        };
        self.connections.iter().map(point).collect()
    }

    /// Points that differ in the updates.
    fn over_updates(&self, pipeline: usize, etc: bool) -> Vec<Point> {
        let point = |&update| Point {
            etc,
            ..self.usual(pipeline, update)
        };
        self.all_updates.iter().map(point).collect()
    }

    /// Points that differ in the cores.
    fn over_cores(&self) -> Vec<Point> {
        let point = |&cores| Point {
            cores,
            ..self.usual(self.deep(), self.updates[0])
        };
        self.cores.iter().map(point).collect()
    }

    /// Points that differ in the rate.
    fn over_rates(&self) -> Vec<Point> {
        let point = |share| Point {
            etc: true,
            share: Some(share),
            ..self.usual(ROOM, self.updates[0])
        };
        SHARES.map(point).into()
    }

    /// Points where variants are measured, too.
    pub(super) fn with_variants(&self) -> Vec<Point> {
        let mut points: Vec<Point> = self
            .updates
            .iter()
            .map(|&update| self.usual(self.deep(), update))
            .collect();
        points.push(self.usual(1, self.updates[0]));
        points.retain(|_| self.variants);
        points
    }

    /// The deepest pipeline.
    fn deep(&self) -> usize {
        self.pipelines.iter().copied().max().unwrap_or(16)
    }

    /// All figures in the order of the thesis, then ours.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let (deep, usual) = (self.deep(), self.usual(1, 0.0).connections);
        let etc = "sizes of ETC";
        vec![
            Figure {
                name: "figure-4.10",
                heading: "Figure 4.10, over cores",
                title: format!("{usual} connections, pipeline {deep}, updates 0.1"),
                over: Over::Cores,
                points: self.over_cores(),
            },
            Figure {
                name: "figure-4.11",
                heading: "Figure 4.11, over connections",
                title: format!("pipeline {deep}, updates 0.1"),
                over: Over::Connections,
                points: self.over_connections(deep, 0.1),
            },
            Figure {
                name: "figure-4.11-unpipelined",
                heading: "Figure 4.11 without pipelining",
                title: "pipeline 1, updates 0.1".into(),
                over: Over::Connections,
                points: self.over_connections(1, 0.1),
            },
            Figure {
                name: "figure-4.12-and-4.13",
                heading: "Figures 4.12 and 4.13, over the share of updates",
                title: format!("{usual} connections, pipeline {deep}"),
                over: Over::Updates,
                points: self.over_updates(deep, false),
            },
            Figure {
                name: "figure-4.14",
                heading: "Figure 4.14, variants of the runtime",
                title: format!("{usual} connections"),
                over: Over::Variants,
                points: self.with_variants(),
            },
            Figure {
                name: "figure-4.15-and-4.16",
                heading: "Figures 4.15 and 4.16, Facebook's ETC over the share of updates",
                title: format!("{etc}, {usual} connections, pipeline {deep}"),
                over: Over::Updates,
                points: self.over_updates(deep, true),
            },
            Figure {
                name: "figure-4.17-and-4.18",
                heading: "Figures 4.17 and 4.18, ETC without pipelining",
                title: format!("{etc}, {usual} connections, pipeline 1"),
                over: Over::Updates,
                points: self.over_updates(1, true),
            },
            self.open(),
        ]
    }

    /// The open loop, which the thesis has not.
    fn open(&self) -> Figure {
        let points = self.over_rates();
        Figure {
            name: "etc-open",
            heading: "ETC in an open loop, over the rate",
            title: format!("{} connections", points[0].connections),
            over: Over::Rate,
            points,
        }
    }

    /// Every point once: the grid first.
    pub(super) fn points(&self) -> Vec<Point> {
        let mut points = self.grid();
        for point in self.figures().into_iter().flat_map(|figure| figure.points) {
            // The rate of an open loop follows from the point before it.
            for point in [point.closed(), point] {
                if !points.contains(&point) {
                    points.push(point);
                }
            }
        }
        points
    }
}

impl Point {
    /// The closed loop that an open one takes its share of the rate of; any other point is that
    /// itself.
    pub(super) fn closed(&self) -> Self {
        let pipeline = self.share.map_or(self.pipeline, |_| 1);
        Self {
            pipeline,
            share: None,
            ..*self
        }
    }

    /// In words, for messages and tables.
    pub(super) fn words(&self) -> String {
        let mut words = format!("{} connections", self.connections);
        match self.share {
            Some(share) => words += &format!(", open loop at {share}"),
            None => words += &format!(", pipeline {}", self.pipeline),
        }
        words += &format!(", updates {}", self.update);
        if self.etc {
            words += ", ETC";
        }
        if self.cores > 1 {
            words += &format!(", {} cores", self.cores);
        }
        words
    }

    /// Which share of the questions has to find a value: all where the server has room for
    /// everything. The sizes of ETC are so uneven that a few values may have to make room for
    /// others of their size.
    pub(super) fn least_hits(&self) -> f64 {
        if self.etc { 0.95 } else { 1.0 }
    }

    /// Where it lies on an axis.
    pub(super) fn along(&self, over: Over) -> f64 {
        match over {
            Over::Connections => self.connections.into(),
            Over::Updates => self.update,
            Over::Cores => self.cores as f64,
            Over::Rate => self.share.unwrap_or(1.0),
            Over::Variants => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_measured_once() {
        let sizes = Sizes {
            connections: vec![64, 512, 2048],
            pipelines: vec![1, 16],
            updates: vec![0.1, 0.5],
            all_updates: vec![0.0, 0.1, 0.5],
            cores: vec![1, 2],
            variants: true,
        };
        let points = sizes.points();
        assert_eq!(sizes.grid().len(), 12);
        // Two cores; no updates; ETC with and without a pipeline; its rates.
        assert_eq!(points.len(), 12 + 1 + 1 + 3 + 3 + 3);
        let figures = sizes.figures();
        assert!(
            figures
                .iter()
                .all(|figure| figure.points.iter().all(|point| points.contains(point)))
        );
        assert_eq!(sizes.with_variants().len(), 3);
    }

    #[test]
    fn an_open_loop_comes_after_the_closed_one_that_says_its_rate() {
        let sizes = Sizes {
            connections: vec![8],
            pipelines: vec![4],
            updates: vec![0.3],
            all_updates: vec![0.5],
            cores: vec![1],
            variants: false,
        };
        let points = sizes.points();
        let place = |wanted: Point| points.iter().position(|&point| point == wanted);
        let open: Vec<_> = points
            .iter()
            .filter(|point| point.share.is_some())
            .collect();
        assert_eq!(open.len(), SHARES.len());
        assert!(
            open.into_iter()
                .all(|&point| place(point.closed()).is_some()
                    && place(point.closed()) < place(point))
        );
        assert!(sizes.with_variants().is_empty());
    }
}
