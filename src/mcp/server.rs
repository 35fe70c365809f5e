//! Answers the requests of one connection, which `rmcp` passes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CompletionInfo, CustomRequest,
    CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, Reference, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::diffs::PIECE;
use super::shared::ServerState;
use super::subscriptions::Sink;
use super::{call, commit_watch, instructions, prompts, resources, roots, subscriptions};

/// One connection, or one request of a client without one.
#[derive(Debug)]
pub(super) struct Server {
    shared: Arc<ServerState>,
    /// Distinguishes its subscriptions and commits from those of others.
    owner: u64,
}

/// A number that is not in use.
fn new_owner() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Server {
    pub(super) fn new(shared: Arc<ServerState>) -> Self {
        Self { shared, owner: new_owner() }
    }

    /// From here on subscribers are told of commits.
    async fn begin_watch(&self) -> Result<(), ErrorData> {
        self.blocking(|shared| {
            commit_watch::begin(shared);
            Ok(())
        })
        .await
    }

    /// Runs blocking code on a thread for that purpose.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ServerState) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let shared = Arc::clone(&self.shared);
        let done = self.shared.running.spawn_blocking(move || work(&shared)).await;
        done.unwrap_or_else(|_| Err(ErrorData::internal_error("the server failed inside", None)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.subscriptions.remove(self.owner, None);
        self.shared.commits.leave(self.owner);
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_completions()
            .build();
        let program = Implementation::new("txedit", env!("CARGO_PKG_VERSION"))
            .with_title("txedit: edits as transactions")
            .with_description(env!("CARGO_PKG_DESCRIPTION"));
        let root = match self.shared.workspace.first() {
            Ok(first) => format!("The root, to which all paths belong: {}", first.engine.root().display()),
            Err(_) => "The root, to which all paths belong, is yours (roots/list), else the current folder. Of several roots a call is about the one whose files or transactions it names, absolutely; else about the first.".to_owned(),
        };
        let text = instructions::of(self.shared.listed(), self.shared.options.read_only);
        ServerConfig::new(capabilities).with_server_info(program).with_instructions(format!("{text}\n{root}\n"))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.shared.listed().map(super::tools::Definition::listed).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.shared.tool(&request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None));
        };
        let answer = call::run(&self.shared, self.owner, tool, request.arguments.unwrap_or_default(), &context).await;
        Ok(answer.into_result(self.shared.options.max_answer_bytes).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(prompts::get(&request.name, request.arguments.as_ref())?.into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::list()))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        roots::settle(&self.shared, &context).await.map_err(|error| resources::failed(&error))?;
        self.blocking(move |shared| resources::read(shared, &request.uri).map(Into::into)).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        roots::settle(&self.shared, &context).await.map_err(|error| resources::failed(&error))?;
        let completion = match &request.r#ref {
            Reference::Resource(template)
                if [resources::DIFF, PIECE].contains(&&*template.uri) && request.argument.name == "id" =>
            {
                let start = request.argument.value;
                self.blocking(move |shared| resources::complete(shared, &start)).await?
            }
            _ => CompletionInfo::default(),
        };
        Ok(CompleteResult::new(completion))
    }

    // Until 2025-11-25; `listen` replaces it.
    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Without a root there is nothing to be told of yet.
        let _ = roots::settle(&self.shared, &context).await;
        if !subscriptions::can_be_told(&request.uri, &self.shared.workspaces()) {
            return Err(subscriptions::refused(&request.uri));
        }
        if !self.shared.subscriptions.add(self.owner, &request.uri, Sink::Connection(context.peer)) {
            return Err(ErrorData::invalid_request("this connection has too many subscriptions", None));
        }
        self.begin_watch().await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.subscriptions.remove(self.owner, Some(&request.uri));
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        // The lists of tools, prompts and resources never change.
        let mut uris = requested.resource_subscriptions.clone().unwrap_or_default();
        let roots = self.shared.workspaces();
        uris.retain(|uri| subscriptions::can_be_told(uri, &roots));
        Some(SubscriptionFilter::builder().resource_subscriptions(uris).build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let owner = new_owner();
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            self.shared.subscriptions.add(owner, uri, Sink::Listening(context.sink().clone()));
        }
        self.begin_watch().await?;
        tokio::select! {
            () = context.cancelled() => {}
            () = self.shared.stop.cancelled() => {}
        }
        self.shared.subscriptions.remove(owner, None);
        Ok(())
    }

    /// Refuses a request that the protocol does not know, or whose parameters have the wrong shape.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // Without a revision the request came before the handshake, which only old clients do.
        let is_old = context.protocol_version().is_none_or(|version| version.has_initialize());
        let expected = match request.method.as_str() {
            "tools/call" | "prompts/get" => "a `name` (a string) and `arguments` (an object)",
            "resources/read" => "a `uri` (a string)",
            "resources/subscribe" | "resources/unsubscribe" if is_old => "a `uri` (a string)",
            "completion/complete" => "a `ref` and an `argument`",
            "initialize" if is_old => "`protocolVersion`, `capabilities` and `clientInfo`",
            "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => "at most a `cursor`",
            _ => return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)),
        };
        Err(ErrorData::invalid_params(format!("{} takes {expected}", request.method), None))
    }
}
