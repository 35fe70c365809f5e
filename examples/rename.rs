//! Renames an identifier in the files that are named, in all of them or in none, with progress; Ctrl-C stops it, and leaves
//! all of them as they were: `cargo run --example rename -- old_name new_name src/a.rs src/b.rs`

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows what it does")]

use txedit::{CancelToken, Edit, Engine, Observer, Phase, Request, Run};

struct Progress;

impl Observer for Progress {
    fn progress(&self, phase: Phase, done: usize, total: usize) {
        eprintln!("{phase:?}: {done} of {total}");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(old), Some(new)) = (arguments.next(), arguments.next()) else {
        return Err("give the old name, the new name, and the files".into());
    };
    let rename = || Edit::replace_all(old.as_str(), new.as_str());
    let request = Request::new().label(format!("rename {old} to {new}"));
    let request = arguments.fold(request, |request, path| request.edit(path, rename()));
    let stop = CancelToken::new();
    signal_hook::flag::register(signal_hook::consts::SIGINT, stop.flag())?;

    let engine = Engine::open(std::env::current_dir()?)?;
    let report = engine.apply(&request, Run::default().cancelled_by(&stop).observed_by(&Progress))?;
    println!("{} files; `txedit undo` takes it back", report.files.len());
    Ok(())
}
