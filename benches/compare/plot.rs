//! The time for each file by the number of files, as a plot.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use crate::disk::Disk;
use crate::measure::{self, median};
use crate::peers::{Contender, GIT_SYNC, PROMISED, SYNCFS, TX};
use crate::{Result, millis, rows};

/// Each size, and how often it is measured.
const SIZES: [(usize, usize); 6] = [(1, 31), (10, 15), (100, 15), (1000, 9), (10_000, 5), (100_000, 1)];

/// Who, and the colour of the line.
const WHO: [(Contender, &str); 4] =
    [(TX, "#0969da"), (GIT_SYNC, "#bc4c00"), (PROMISED, "#8250df"), (SYNCFS, "#57606a")];

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
/// What is left for the labels: at the left, at the right, above and below.
const MARGINS: [f64; 4] = [70.0, 24.0, 30.0, 50.0];
/// The powers of ten of microseconds for each file.
const DECADES: [u32; 2] = [1, 4];

/// Measures every size, prints a table, and writes the plot.
pub(crate) fn by_number(file: &Path, is_wanted: impl Fn(usize) -> Option<usize>, disk: &mut Disk) -> Result<()> {
    let names: Vec<&str> = WHO.iter().map(|(who, _)| who.name).collect();
    println!("\n### by number of files\n\n| files | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
    let mut lines = vec![Vec::new(); WHO.len()];
    for (files, rounds) in SIZES {
        let Some(rounds) = is_wanted(files).map(|most| rounds.min(most)) else { continue };
        let row = rows::by_number(files, WHO.map(|(who, _)| who).to_vec());
        let medians: Vec<Duration> =
            measure::take_turns(&row, rounds, disk)?.iter().map(|(_, list)| median(list)).collect();
        let cells: Vec<String> = medians.iter().map(|time| millis(*time)).collect();
        println!("| {files} | {} |", cells.join(" | "));
        for (line, time) in lines.iter_mut().zip(medians) {
            line.push((files, time));
        }
    }
    std::fs::write(file, draw(&lines)?)?;
    println!("\n{} was written", file.display());
    Ok(())
}

/// A line in a logarithmic plot.
fn draw(lines: &[Vec<(usize, Duration)>]) -> Result<String> {
    let mut svg = String::new();
    writeln!(svg, r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">"#)?;
    writeln!(svg, "<title>Microseconds for each file, by the number of files of one transaction</title>")?;
    writeln!(svg, "<style>text {{ font: 13px sans-serif; fill: #1f2328 }} .grid {{ stroke: #d1d9e0 }}")?;
    writeln!(svg, ".line {{ fill: none; stroke-width: 2 }} .paper {{ fill: #fff }}</style>")?;
    writeln!(svg, r#"<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>"#)?;
    axes(&mut svg)?;
    for (index, ((who, colour), line)) in WHO.iter().zip(lines).enumerate() {
        let points: Vec<String> = line.iter().map(|(files, time)| point(*files, *time)).collect();
        writeln!(svg, r#"<polyline class="line" stroke="{colour}" points="{}"/>"#, points.join(" "))?;
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let (x, y) = (WIDTH / 2.0, MARGINS[2] + 18.0 * index as f64 + 10.0);
        writeln!(svg, r#"<path class="line" stroke="{colour}" d="M{x} {y}h24"/>"#)?;
        writeln!(svg, r#"<text x="{}" y="{}">{}</text>"#, x + 32.0, y + 4.0, who.name)?;
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

fn axes(svg: &mut String) -> Result<()> {
    let [left, right, top, bottom] = [MARGINS[0], WIDTH - MARGINS[1], MARGINS[2], HEIGHT - MARGINS[3]];
    for (files, _) in SIZES {
        let x = across(files);
        writeln!(svg, r#"<path class="grid" d="M{x:.1} {top}V{bottom}"/>"#)?;
        writeln!(svg, r#"<text x="{x:.1}" y="{}" text-anchor="middle">{files}</text>"#, bottom + 20.0)?;
    }
    for decade in DECADES[0]..=DECADES[1] {
        let micros = 10_u64.pow(decade);
        let y = up(Duration::from_micros(micros).as_secs_f64());
        writeln!(svg, r#"<path class="grid" d="M{left} {y:.1}H{right}"/>"#)?;
        writeln!(svg, r#"<text x="{}" y="{:.1}" text-anchor="end">{micros} µs</text>"#, left - 8.0, y + 4.0)?;
    }
    writeln!(svg, r#"<text x="{left}" y="18">time for each file</text>"#)?;
    writeln!(svg, r#"<text x="{right}" y="{}" text-anchor="end">files of the transaction</text>"#, HEIGHT - 8.0)?;
    Ok(())
}

fn point(files: usize, time: Duration) -> String {
    #[expect(clippy::cast_precision_loss, reason = "at most a hundred thousand")]
    let each = time.as_secs_f64() / files as f64;
    format!("{:.1},{:.1}", across(files), up(each))
}

fn across(files: usize) -> f64 {
    let most = f64::from(u32::try_from(SIZES.len() - 1).unwrap_or(1));
    #[expect(clippy::cast_precision_loss, reason = "at most a hundred thousand")]
    let decade = (files as f64).log10();
    MARGINS[0] + decade / most * (WIDTH - MARGINS[0] - MARGINS[1])
}

/// The height of so many seconds.
fn up(seconds: f64) -> f64 {
    let [least, most] = DECADES.map(f64::from);
    let part = ((seconds * 1e6).log10() - least) / (most - least);
    HEIGHT - MARGINS[3] - part * (HEIGHT - MARGINS[2] - MARGINS[3])
}
