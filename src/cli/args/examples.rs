//! The examples with which the help of each command begins; tests run them.

pub(super) const TXEDIT: &str = "\
Examples:
  txedit apply plan.json --dry-run
  txedit replace --word greet welcome src
  txedit undo";

pub(super) const APPLY: &str = "\
Examples:
  txedit apply plan.json --dry-run
  git diff | txedit --root ../other apply -";

pub(super) const EDIT: &str = "\
Examples:
  txedit edit src/main.rs --old 'greet::greet()' --new 'greet::welcome()'
  txedit edit src/greet.rs src/main.rs --old greet --new welcome --all";

pub(super) const REPLACE: &str = "\
Examples:
  txedit replace --word greet welcome src --glob '*.rs' --expected-matches 4
  txedit replace --regex 'fn (\\w+)' 'pub fn $1' src/main.rs --dry-run";

pub(super) const CREATE: &str = "\
Examples:
  txedit create CHANGES.md --text '- greet is called welcome'
  date | txedit create --force src/built.txt";

pub(super) const MV: &str = "\
Examples:
  txedit mv src/greet.rs src/welcome.rs
  txedit mv src library --label 'src is called library'";

pub(super) const RM: &str = "\
Examples:
  txedit rm src/greet.rs
  txedit rm -r src --dry-run";

pub(super) const RUN: &str = "\
Examples:
  txedit run -- cargo fmt
  txedit run --dry-run -- sh -c 'sed -i s/greet/welcome/ src/*.rs'";

pub(super) const STAGE: &str = "\
Example:
  id=$(txedit stage plan.json)";

pub(super) const PREVIEW: &str = "\
Example:
  txedit preview \"$id\"";

pub(super) const REVIEW: &str = "\
Examples:
  txedit review
  txedit review \"$id\" --rest keep
  txedit review --web";

pub(super) const COMMIT: &str = "\
Example:
  txedit commit \"$id\" --check 'cargo check'";

pub(super) const ROLLBACK: &str = "\
Example:
  txedit rollback \"$id\"";

pub(super) const LOG: &str = "\
Example:
  txedit log --path src --limit 5";

pub(super) const SHOW: &str = "\
Examples:
  txedit show
  txedit show \"$id\" --stat
  txedit show @ --format git > change.patch
  txedit show --html > change.html";

pub(super) const UNDO: &str = "\
Example:
  txedit undo --dry-run";

pub(super) const REDO: &str = "\
Example:
  txedit redo";

pub(super) const STATUS: &str = "\
Example:
  txedit status";

pub(super) const RECOVER: &str = "\
Examples:
  txedit recover --plan
  txedit recover \"$id\" --back";

pub(super) const KEPT: &str = "\
Example:
  txedit kept list";

pub(super) const KEPT_LIST: &str = KEPT;

pub(super) const KEPT_RESTORE: &str = "\
Example:
  txedit kept restore \"$id\" src/main.rs";

pub(super) const KEPT_DROP: &str = "\
Example:
  txedit kept drop \"$id\"";

pub(super) const HISTORY: &str = "\
Example:
  txedit history prune --keep 100 --max-age 7";

pub(super) const HISTORY_MOVE: &str = "\
Example:
  txedit history move
  txedit history move ../state";

pub(super) const JOURNAL: &str = "\
Example:
  txedit journal .git/txedit/history/\"$id\"/journal.done";

pub(super) const DOCTOR: &str = "\
Example:
  txedit doctor .";

pub(super) const TOUR: &str = "\
Example:
  txedit tour";

#[cfg(feature = "delegate")]
pub(super) const DELEGATE: &str = "\
Example:
  txedit delegate analyze 'Where is the greeting printed?' --file src/greet.rs";

#[cfg(feature = "delegate")]
pub(super) const ANALYZE: &str = DELEGATE;

#[cfg(feature = "delegate")]
pub(super) const IMPLEMENT: &str = "\
Example:
  txedit delegate implement 'Add a test for greet' --file src/greet.rs";

#[cfg(feature = "delegate")]
pub(super) const REFACTOR: &str = "\
Example:
  txedit delegate refactor 'Split run into parse and act' --file src/main.rs";

#[cfg(feature = "delegate")]
pub(super) const VERIFY: &str = "\
Example:
  txedit delegate verify 'Is every caller changed?' --transaction \"$id\"";

#[cfg(feature = "mcp")]
pub(super) const MCP: &str = "\
Examples:
  claude mcp add txedit -- txedit mcp
  txedit mcp --read-only --toolsets edit,history";

pub(super) const COMPLETIONS: &str = "\
Example:
  txedit completions bash > ~/.local/share/bash-completion/completions/txedit";

pub(super) const MAN: &str = "\
Example:
  txedit man ~/.local/share/man";

pub(super) const SCHEMA: &str = "\
Examples:
  txedit schema
  txedit schema log
  txedit schema request > plan.schema.json";

pub(super) const HELP: &str = "\
Examples:
  txedit help plan
  txedit help kept restore";

pub(super) const CAMPAIGN: &str = "\
Examples:
  txedit campaign run rename
  txedit campaign status rename
  txedit campaign undo rename";

pub(super) const CAMPAIGN_NEW: &str = "\
Examples:
  txedit campaign new rename --workspaces 'repos/*' --replace greet welcome --check 'cargo test'
  txedit campaign new upgrade --workspaces repos.jsonl --plan plan.json";

pub(super) const CAMPAIGN_RUN: &str = "\
Examples:
  txedit campaign run rename --canary 1 --stop-after 2
  txedit campaign run rename --with 'parallel -j 4'";

pub(super) const CAMPAIGN_RETRY: &str = "\
Example:
  txedit campaign retry rename";

pub(super) const CAMPAIGN_STATUS: &str = "\
Example:
  txedit campaign status rename --json";

pub(super) const CAMPAIGN_UNDO: &str = "\
Example:
  txedit campaign undo rename";

pub(super) const CAMPAIGN_REPORT: &str = "\
Example:
  txedit campaign report rename --html > report.html";

pub(super) const CAMPAIGN_PENDING: &str = "\
Example:
  txedit campaign pending rename | xargs -r -n 10 txedit campaign work rename";

pub(super) const CAMPAIGN_WORK: &str = "\
Example:
  txedit campaign work rename 0 1";

pub(super) const CAMPAIGN_SHARD: &str = "\
Example:
  txedit campaign shard 1/2 rename";
