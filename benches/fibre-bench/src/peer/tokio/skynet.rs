//! `skynet` with tasks.

use super::{Choice, run};
use crate::measure::{Sample, Stopwatch};
use crate::peer::calibrate::calibrate;
use crate::peer::workloads::skynet::{Skynet, Tree};

/// Trees of tasks.
pub(super) fn tasks<C: Choice>(asked: Skynet) -> anyhow::Result<Sample> {
    let runtime = C::start(asked.processors)?;
    calibrate(asked.seconds, asked.nodes(), |operations| {
        run(&runtime, trees(asked, asked.trees(operations)))
    })
}

/// So many trees, one after the other.
async fn trees(asked: Skynet, trees: u64) -> anyhow::Result<Sample> {
    let watch = Stopwatch::start()?;
    for _ in 0..trees {
        asked.check(tokio::spawn(node(asked.tree())).await??)?;
    }
    Ok(watch.stop(trees * asked.nodes())?)
}

/// The life of a node; returns what its leaves add up to. Written as a function
/// that returns a future, so that the compiler need not know the future to
/// know that it may be sent to another thread.
#[allow(clippy::manual_async_fn)]
fn node(tree: Tree) -> impl Future<Output = anyhow::Result<u64>> + Send {
    async move {
        if tree.is_leaf() {
            return Ok(tree.first);
        }
        let joins = tree.children().map(|child| tokio::spawn(node(child)));
        let mut sum = 0;
        for join in joins {
            sum += join.await??;
        }
        Ok(sum)
    }
}
