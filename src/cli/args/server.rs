//! The arguments of `txedit mcp`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

#[cfg(feature = "delegate")]
use super::ServerDelegateArgs;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct McpArgs {
    /// Serve streamable HTTP at ADDR, like 127.0.0.1:8137, instead of stdio; prints the URL
    #[arg(long, value_name = "ADDR")]
    #[arg(value_parser = listen_address)]
    pub(crate) http: Option<SocketAddr>,
    /// A file with the token that HTTP clients must send [env: `TXEDIT_MCP_TOKEN`, the token itself]
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// End an HTTP session that sends nothing for so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = crate::limits::SESSION_IDLE.as_secs(), requires = "http")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) session_idle: u64,
    /// A host name under which HTTP clients may reach this server, besides the loopback ones; repeatable
    #[arg(long = "allow-host", value_name = "NAME", requires = "http")]
    pub(crate) hosts: Vec<String>,
    /// A web origin that may call this server, like `https://app.example.com:443`; repeatable
    #[arg(long = "allow-origin", value_name = "ORIGIN", requires = "http")]
    pub(crate) origins: Vec<String>,
    /// Serve the page on which people review open transactions, too; prints its address, with a token of its own
    #[arg(long, requires = "http")]
    pub(crate) review_page: bool,
    /// The toolsets, like edit,history, or changes to the default, like +delegate,-history [default:
    /// edit,transactions,history]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) toolsets: Option<String>,
    /// Offer `run_command`, with which a client can run any program with your rights
    #[arg(long, conflicts_with = "read_only")]
    pub(crate) allow_run: bool,
    /// Hide and refuse every tool that changes files
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Write only what a person approves: clients stage it, and `txedit review` decides
    #[arg(long, conflicts_with_all = ["read_only", "allow_run"])]
    pub(crate) approve: bool,
    /// Truncate the text of an answer to this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = crate::limits::ANSWER_BYTES)]
    pub(crate) max_answer_bytes: usize,
    #[cfg(feature = "delegate")]
    #[command(flatten)]
    pub(crate) delegate: ServerDelegateArgs,
}

/// An address to listen on. `localhost` is the loopback address that every client tries for it.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:").map(str::parse);
    match port {
        Some(Ok(port)) => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        _ => {
            text.parse().map_err(|_| "give an IP address and a port, like 127.0.0.1:8137, or localhost:8137".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localhost_is_an_address() {
        let is = |text: &str| listen_address(text).map(|address| address.to_string());
        assert_eq!(is("localhost:8137"), Ok("127.0.0.1:8137".to_owned()));
        assert_eq!(is("[::1]:0"), Ok("[::1]:0".to_owned()));
        for bad in ["localhost", "localhost:", "localhost:99999", "example.com:80", "127.0.0.1"] {
            assert!(is(bad).unwrap_err().contains("localhost:8137"), "{bad}");
        }
    }
}
