//! `txedit` beside what its users would take instead, and beside floors that do less than it promises.
//!
//! ```sh
//! cargo bench --bench compare -- --install     # every row; installs sd, fastmod and the reference MCP server once
//! cargo bench --bench compare -- --only one --only warm --rounds 21
//! ```
//!
//! Every contender gets the same tree, made anew for each run (as root on a fresh ext4 in a loop device, else in a folder),
//! with files that are an hour old; the making and a sync stand outside the time. Contenders take turns, and each round
//! begins with another one. After each run the whole tree is compared with what must have come of it. What is printed are
//! medians, and how `txedit` relates to each. Without `--bench` (that is, in `cargo test`) everything runs once and small.

#![expect(clippy::print_stdout, reason = "a table is what it is for")]

mod corpus;
mod costs;
mod disk;
mod every_call;
mod floor;
mod layers;
mod mcp_floor;
mod measure;
mod peers;
mod plot;
mod promised;
mod rows;
mod scale;
mod warm;

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

/// What is wrong, to be read by whoever started it.
type Error = Box<dyn std::error::Error>;
type Result<T> = std::result::Result<T, Error>;

/// txedit beside its peers
#[derive(Debug, Parser)]
struct Options {
    /// Only rows whose name has this in it
    #[arg(long)]
    only: Vec<String>,
    /// How often each contender runs
    #[arg(long)]
    rounds: Option<usize>,
    /// Calls to each server
    #[arg(long, default_value_t = 1000)]
    calls: usize,
    /// Where sd, fastmod and the reference server are installed
    #[arg(long, default_value = concat!(env!("CARGO_TARGET_TMPDIR"), "/compare-tools"))]
    tools: PathBuf,
    /// Install what is missing there, by cargo and npm
    #[arg(long)]
    install: bool,
    /// The folder to work in, and with it the disk
    #[arg(long, default_value = env!("CARGO_TARGET_TMPDIR"))]
    scratch: PathBuf,
    /// Work in a folder even where a fresh file system could be made
    #[arg(long)]
    plain: bool,
    /// The txedit to measure, if not the one built with this: `packaging/build` prints the path of the one that is shipped
    #[arg(long)]
    program: Option<PathBuf>,
    /// An earlier txedit, to be measured beside it in each row where it can
    #[arg(long)]
    before: Option<PathBuf>,
    /// Measure from 1 to 100,000 files, and draw it there, as SVG; besides this, only rows that --only names are measured
    #[arg(long)]
    plot: Option<PathBuf>,
    /// Given by `cargo bench`; without it everything runs once and small
    #[arg(long)]
    bench: bool,
    /// What `cargo test` may add
    #[arg(hide = true)]
    filter: Vec<String>,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("floor") {
        return floor::run(&arguments.collect::<Vec<_>>());
    }
    let options = Options::parse();
    if let Some(program) = &options.program {
        let program = program.canonicalize()?;
        peers::PROGRAM.get_or_init(|| program);
    }
    if let Some(before) = &options.before {
        let before = before.canonicalize()?;
        peers::BEFORE.get_or_init(|| before);
    }
    if options.install {
        peers::install(&options.tools)?;
    }
    let mut disk = disk::Disk::new(&options.scratch, options.plain)?;
    println!("on {}, {}", disk.describe(), peers::versions(&options.tools));
    let rounds = |usual: usize| if options.bench { options.rounds.unwrap_or(usual) } else { 1 };
    let wanted = |name: &str| {
        (options.only.is_empty() && options.plot.is_none()) || options.only.iter().any(|only| name.contains(only))
    };
    let mut unmet = Vec::new();
    if let Some(plot) = &options.plot {
        let small = |files: usize| (files <= 10).then_some(1);
        let most = |_| Some(options.rounds.unwrap_or(usize::MAX));
        plot::by_number(plot, |files| if options.bench { most(files) } else { small(files) }, &mut disk)?;
    }
    for row in rows::all(options.bench, &options.tools)? {
        if wanted(row.name) {
            unmet.extend(measure::row(&row, rounds(row.rounds), &mut disk)?);
        }
    }
    if wanted("warm") {
        let calls = if options.bench { options.calls } else { 3 };
        unmet.extend(warm::row(calls, &options.tools, &mut disk)?);
    }
    if wanted("beside") {
        unmet.extend(scale::beside(options.bench, rounds(31), &mut disk)?);
    }
    if options.bench {
        println!("\ngoals not met: {}", if unmet.is_empty() { "none".to_owned() } else { unmet.join("; ") });
    }
    Ok(())
}

/// Milliseconds, for a table.
fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
