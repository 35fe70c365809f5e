//! The same engine from async code: its calls block, so they run on a thread for that. Ctrl-C stops one before its first
//! swap, and leaves all files as they were: `cargo run --example from_async -- notes/today.md "a line"`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use txedit::{CancelToken, Engine, Request, Run};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(line)) = (arguments.next(), arguments.next()) else {
        return Err("give a path and a line".into());
    };
    let request = Request::new().label("a note").write(path, line + "\n");
    let stop = CancelToken::new();
    let told = stop.clone();
    let mut work = tokio::task::spawn_blocking(move || {
        let engine = Engine::open(".")?;
        engine.apply(&request, Run::default().cancelled_by(&told))
    });
    let report = tokio::select! {
        done = &mut work => done??,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            stop.cancel();
            // It came too late where the swaps had begun: then this is a success.
            work.await??
        }
    };
    match report.transaction {
        Some(id) => println!("committed as {id}"),
        None => println!("it is so already"),
    }
    Ok(())
}
