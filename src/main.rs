//! The `txedit` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    txedit::cli::main()
}
