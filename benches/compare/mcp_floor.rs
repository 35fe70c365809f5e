//! A server over `rmcp`, as `txedit` uses it, whose only tool makes every call of a commit: what an edit over MCP takes at least.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ServerCapabilities, ServerConfig};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

use crate::corpus::replace;
use crate::{Result, every_call};

#[derive(Debug, Default)]
struct Server {
    commits: AtomicUsize,
}

impl Server {
    /// Edits a file by the arguments of `multi_edit`.
    fn edit(&self, arguments: &Value) -> Result<Value> {
        let text = |value: &Value| value.as_str().map(str::to_owned).ok_or("a text is missing");
        let edit = &arguments["edits"][0];
        let [path, old, new] = [&arguments["file_path"], &edit["old_string"], &edit["new_string"]].map(text);
        let (path, old, new) = (PathBuf::from(path?), old?, new?);
        let beneath = path.strip_prefix(fs::canonicalize(".")?).unwrap_or(&path);
        // The bare protocol's server commits in the same folder.
        let number = 1_000_000 + self.commits.fetch_add(1, Ordering::Relaxed);
        every_call::commit(&[beneath], |content| replace(content, &old, &new), number)?;
        Ok(json!({ "success": true, "message": "1 edit applied", "file": path }))
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> std::result::Result<CallToolResponse, ErrorData> {
        let edited = self.edit(&Value::Object(request.arguments.unwrap_or_default()));
        let answer = match edited {
            Ok(answer) => CallToolResult::structured(answer),
            Err(error) => CallToolResult::structured_error(json!({ "error": error.to_string() })),
        };
        Ok(answer.into())
    }
}

/// Serves until its input ends.
pub(crate) fn serve() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let running = Server::default().serve(rmcp::transport::stdio_pipes()).await?;
        running.waiting().await?;
        Ok(())
    })
}
