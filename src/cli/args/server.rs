//! The arguments of `txedit mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[cfg(feature = "delegate")]
use super::ServerDelegateArgs;

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Serve streamable HTTP at ADDR, like 127.0.0.1:8137, instead of stdio; prints the URL
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<SocketAddr>,
    /// A file with the token that HTTP clients must send [env: `TXEDIT_MCP_TOKEN`, the token itself]
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// A host name under which HTTP clients may reach this server, besides the loopback ones; repeatable
    #[arg(long = "allow-host", value_name = "NAME", requires = "http")]
    pub(crate) hosts: Vec<String>,
    /// A web origin that may call this server, like `https://app.example.com:443`; repeatable
    #[arg(long = "allow-origin", value_name = "ORIGIN", requires = "http")]
    pub(crate) origins: Vec<String>,
    /// The toolsets, like edit,history, or changes to the default, like +delegate,-history [default:
    /// edit,transactions,history]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) toolsets: Option<String>,
    /// Hide and refuse every tool that changes files
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Truncate the text of an answer to this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = crate::limits::ANSWER_BYTES)]
    pub(crate) max_answer_bytes: usize,
    #[cfg(feature = "delegate")]
    #[command(flatten)]
    pub(crate) delegate: ServerDelegateArgs,
}
