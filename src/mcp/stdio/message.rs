//! Parses one message from a line.

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::wire::tools::Arguments;

/// Reads a message.
///
/// `rmcp` tries each kind of message in turn on a buffered copy of the whole, which copies a text in the arguments five
/// times before a tool has it. So the arguments of a call are parsed separately from the rest, once, and put into the
/// message that `rmcp` made of the rest. Anything that is not exactly a call is left to `rmcp`.
pub(super) fn read(line: &[u8]) -> serde_json::Result<ClientJsonRpcMessage> {
    let Ok(mut call) = serde_json::from_slice::<Call<'_>>(line) else { return serde_json::from_slice(line) };
    let arguments = call.params.arguments.take();
    let mut message: ClientJsonRpcMessage = serde_json::from_slice(&serde_json::to_vec(&call)?)?;
    match &mut message {
        JsonRpcMessage::Request(request) => match &mut request.request {
            ClientRequest::CallToolRequest(call) => call.params.arguments = arguments,
            _ => return serde_json::from_slice(line),
        },
        _ => return serde_json::from_slice(line),
    }
    Ok(message)
}

/// A call of a tool in its written form: everything but the arguments stays text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call<'a> {
    #[serde(borrow)]
    jsonrpc: &'a RawValue,
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    method: &'a RawValue,
    #[serde(borrow)]
    params: MessageParams<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageParams<'a> {
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    _meta: Option<&'a RawValue>,
    #[serde(borrow)]
    name: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Arguments>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that `rmcp` alone reads the same.
    #[track_caller]
    fn is_read_alike(line: &str) {
        let ours = read(line.as_bytes()).map(|message| format!("{message:?}")).map_err(|e| e.to_string());
        let theirs = serde_json::from_slice::<ClientJsonRpcMessage>(line.as_bytes());
        let theirs = theirs.map(|message| format!("{message:?}")).map_err(|e| e.to_string());
        assert_eq!(ours, theirs, "{line}");
    }

    #[test]
    fn a_call_is_read_as_rmcp_reads_it() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":["x\n",1.5,null]}}}"#,
            r#"{"method":"tools/call","params":{"arguments":{"a":1},"name":"t","_meta":{"progressToken":7}},"id":"x","jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":null}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{},"requestState":"s"}}"#,
        ] {
            is_read_alike(line);
            assert!(format!("{:?}", read(line.as_bytes())).contains("CallToolRequest"), "{line}");
        }
    }

    #[test]
    fn anything_but_a_call_is_left_to_rmcp() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":[]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5,"arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","name":"u","arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"t","arguments":{"a":"b"}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"unknown","params":{"name":"t","arguments":{"a":"b"}}}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"t","arguments":{}}}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}},"result":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            "[]",
            "{",
        ] {
            is_read_alike(line);
        }
    }
}
