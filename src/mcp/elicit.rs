//! Asks the person behind a client, if the client can do that: `elicitation/create`.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{CustomRequest, ServerRequest};
use rmcp::service::{RequestContext, ServiceError};
use serde_json::{Value, json};

use super::tools::{PersonSaid, Question};

/// Returns whether the client can show a form. One that says nothing of forms or addresses means forms.
pub(super) fn is_possible(context: &RequestContext<RoleServer>) -> bool {
    let elicitation = context.client_capabilities().and_then(|client| client.elicitation);
    elicitation.is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none())
}

/// What the person says; `None` if they do not decide, or not in time. An error says that the client does not ask them.
pub(super) async fn ask(
    context: &RequestContext<RoleServer>,
    question: &Question,
    patience: Duration,
) -> Result<Option<PersonSaid>, ServiceError> {
    let form = json!({
        "message": question.text,
        "requestedSchema": {
            "type": "object",
            "properties": {"decision": {
                "type": "string",
                "title": "Decision",
                "enum": ["commit", "discard", "later"],
            }},
            "required": ["decision"],
        },
    });
    // By its name: the types for it bring a parser of addresses along.
    let request = ServerRequest::CustomRequest(CustomRequest::new("elicitation/create", Some(form)));
    match tokio::time::timeout(patience, context.peer.send_request(request)).await {
        Ok(answer) => Ok(said(&serde_json::to_value(answer?).unwrap_or_default(), question)),
        Err(_) => Ok(None),
    }
}

/// Only the very word counts for yes.
fn said(answer: &Value, question: &Question) -> Option<PersonSaid> {
    if answer["action"] != "accept" {
        return None;
    }
    match answer["content"]["decision"].as_str() {
        Some("commit") => Some(PersonSaid::Commit(question.plan_hash)),
        Some("discard") => Some(PersonSaid::Discard),
        _ => None,
    }
}
