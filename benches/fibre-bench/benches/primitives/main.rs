//! What the primitives cost, each beside what one would use instead. Each module has some, and says
//! what its members are; one program holds all, so that all are compiled once.

mod mutex;
mod net;
mod scheduling;
mod spawning;
mod support;
mod waiting;

use std::io;

fn main() -> io::Result<()> {
    let mut criterion = support::criterion();
    for measure_all in [
        scheduling::measure_all,
        spawning::measure_all,
        mutex::measure_all,
        waiting::measure_all,
        net::measure_all,
    ] {
        measure_all(&mut criterion)?;
    }
    criterion.final_summary();
    Ok(())
}
