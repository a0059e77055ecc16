//! What is measured: points, and the figures that they belong to.

use serde::Serialize;

/// One setting of the load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
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
}

/// What a figure is drawn over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Connections.
    Connections,
    /// The share of updates.
    Updates,
    /// Cores of the server.
    Cores,
}

/// A figure: a set of points that differ in one thing.
#[derive(Debug, Clone)]
pub struct Figure {
    /// The name of its file.
    pub name: &'static str,
    /// What it shows.
    pub title: String,
    /// What is on the x-axis.
    pub over: Over,
    /// Its points.
    pub points: Vec<Point>,
}

/// What is asked for.
pub struct Sizes {
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
}

impl Sizes {
    /// Every combination of connections, pipelines and updates.
    pub fn grid(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for &pipeline in &self.pipelines {
            for &update in &self.updates {
                points.extend(self.over_connections(pipeline, update));
            }
        }
        points
    }

    /// Points that differ in the connections.
    fn over_connections(&self, pipeline: usize, update: f64) -> Vec<Point> {
        let point = |&connections| Point {
            connections,
            pipeline,
            update,
            etc: false,
            cores: 1,
        };
        self.connections.iter().map(point).collect()
    }

    /// Points that differ in the updates.
    fn over_updates(&self, pipeline: usize, etc: bool) -> Vec<Point> {
        let point = |&update| Point {
            connections: self.usual(),
            pipeline,
            update,
            etc,
            cores: 1,
        };
        self.all_updates.iter().map(point).collect()
    }

    /// The number of connections of figures that do not go over them.
    fn usual(&self) -> u32 {
        self.connections
            .get(self.connections.len() / 2)
            .copied()
            .unwrap_or(64)
    }

    /// The deepest pipeline.
    fn deep(&self) -> usize {
        self.pipelines.iter().copied().max().unwrap_or(16)
    }

    /// All figures; each stands for those of the thesis that its name says.
    pub fn figures(&self) -> Vec<Figure> {
        let (deep, usual) = (self.deep(), self.usual());
        let over_updates = |name, etc, pipeline: usize| {
            let stream = if etc { "ETC sizes" } else { "fixed sizes" };
            Figure {
                name,
                title: format!("{stream}, {usual} connections, pipeline {pipeline}"),
                over: Over::Updates,
                points: self.over_updates(pipeline, etc),
            }
        };
        let mut figures = Vec::new();
        if self.cores.len() > 1 {
            let point = |&cores| Point {
                connections: usual,
                pipeline: deep,
                update: 0.1,
                etc: false,
                cores,
            };
            figures.push(Figure {
                name: "figure-4.10",
                title: format!("Cores, {usual} connections, pipeline {deep}, updates 0.1"),
                over: Over::Cores,
                points: self.cores.iter().map(point).collect(),
            });
        }
        for (name, pipeline) in [("figure-4.11", deep), ("figure-4.11-unpipelined", 1)] {
            figures.push(Figure {
                name,
                title: format!("Connections, pipeline {pipeline}, updates 0.1"),
                over: Over::Connections,
                points: self.over_connections(pipeline, 0.1),
            });
        }
        figures.push(over_updates("figure-4.12-to-4.14", false, deep));
        figures.push(over_updates("figure-4.15-and-4.16", true, deep));
        figures.push(over_updates("figure-4.17-and-4.18", true, 1));
        figures
    }

    /// Every point once: the grid first.
    pub fn points(&self) -> Vec<Point> {
        let mut points = self.grid();
        for point in self.figures().into_iter().flat_map(|figure| figure.points) {
            if !points.contains(&point) {
                points.push(point);
            }
        }
        points
    }
}

impl Point {
    /// In words, for messages and tables.
    pub fn words(&self) -> String {
        let stream = if self.etc { ", ETC" } else { "" };
        let Self {
            connections,
            pipeline,
            update,
            ..
        } = self;
        format!("{connections} connections, pipeline {pipeline}, updates {update}{stream}")
    }

    /// Where it lies on an axis.
    pub fn along(&self, over: Over) -> f64 {
        match over {
            Over::Connections => self.connections.into(),
            Over::Updates => self.update,
            Over::Cores => self.cores as f64,
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
            cores: vec![1],
        };
        let points = sizes.points();
        assert_eq!(sizes.grid().len(), 12);
        assert_eq!(points.len(), 12 + 1 + 3 + 3);
        let figures = sizes.figures();
        assert!(
            figures
                .iter()
                .all(|figure| figure.points.iter().all(|point| points.contains(point)))
        );
        assert!(!figures.iter().any(|figure| figure.over == Over::Cores));
    }
}
