//! Queries through libpq as it is: PostgreSQL adds up numbers.
//!
//! Each query has a connection and a fibre of its own, which fibre-libc lets block where a thread
//! would: the library's calls of the C library come to the names of this program.

use clap::Parser;
use fibre_clients::foreign::pq::Connection;
use fibre_libc as _;

/// Prints the sum of all numbers up to each of the given ones, added up by PostgreSQL.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Where PostgreSQL is, in libpq's form
    #[arg(long, default_value = "host=127.0.0.1")]
    postgres: String,
    /// The numbers
    numbers: Vec<u32>,
}

/// Has PostgreSQL add up the numbers up to this one. Blocks the fibre.
fn sum(postgres: &str, number: u32) -> std::io::Result<String> {
    let mut connection = Connection::open(postgres)?;
    let query = "SELECT sum(n) FROM generate_series(1, $1::bigint) n";
    let rows = connection.query(query, &[&number.to_string()])?;
    Ok(rows.concat().concat())
}

fn main() -> anyhow::Result<()> {
    // SAFETY: no code of this program keeps what belongs to a kernel thread while it waits.
    unsafe { fibre_libc::install() };
    let options = Options::parse();
    let sums = fibre::group(|group| {
        for number in &options.numbers {
            group.spawn(|| sum(&options.postgres, *number));
        }
        Ok(group.results_in_order().collect::<Vec<_>>())
    })?;
    for (number, sum) in options.numbers.iter().zip(sums) {
        println!("{number} {sum}");
    }
    Ok(())
}
