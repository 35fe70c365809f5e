//! The commands, one file each.

use super::args::Command;
use super::failure::Failure;
use super::options::CommonOptions;
use super::output::Answer;

mod apply;
mod campaign;
mod completions;
mod create;
#[cfg(feature = "delegate")]
mod delegate;
mod doctor;
mod edit;
mod help;
mod history;
mod journal;
mod kept;
mod log;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
mod mv;
mod open;
mod pick;
mod recover;
mod replace;
mod review;
mod rm;
mod run;
mod schema;
mod show;
mod status;
mod torture;
mod tour;
mod transact;
mod undo;

/// Runs a command.
pub(crate) fn run(command: &Command, options: &CommonOptions) -> Result<Answer, Failure> {
    match command {
        Command::Apply(args) => apply::run(args, options),
        Command::Edit(args) => edit::run(args, options),
        Command::Replace(args) => replace::run(args, options),
        Command::Create(args) => create::run(args, options),
        Command::Mv(args) => mv::run(args, options),
        Command::Rm(args) => rm::run(args, options),
        Command::Run(args) => run::run(args, options),
        Command::Log(args) => log::run(args, options),
        Command::Show(args) => show::run(args, options),
        Command::Undo(args) => undo::run(args, options),
        Command::Redo(args) => undo::redo(args, options),
        Command::Stage(args) => open::stage(args, options),
        Command::Preview(args) => open::preview(args, options),
        Command::Review(args) => review::run(args, options),
        Command::Commit(args) => open::commit(args, options),
        Command::Rollback(args) => open::roll_back(args, options),
        Command::Status => status::run(options),
        Command::Recover(args) => recover::run(args, options),
        Command::Kept(command) => kept::run(command, options),
        Command::History(command) => history::run(command, options),
        Command::Campaign(command) => campaign::run(command, options),
        Command::Journal(args) => journal::run(args, options),
        Command::Doctor(args) => doctor::run(args, options),
        Command::Tour => tour::run(options),
        Command::TourChild(args) => tour::run_child(args, options),
        Command::TortureChild(args) => torture::run_child(args, options),
        #[cfg(feature = "delegate")]
        Command::Delegate(command) => delegate::run(command, options),
        #[cfg(feature = "mcp")]
        Command::Mcp(args) => mcp::run(args, options),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args, options),
        Command::Schema(args) => schema::run(args),
        Command::Help(args) => help::run(args),
    }
}
