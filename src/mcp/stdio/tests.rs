use rmcp::model::NumberOrString;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, DuplexStream};

use super::*;

fn lines(max_bytes: usize) -> (DuplexStream, LineTransport<tokio::io::ReadHalf<DuplexStream>>) {
    let (client, server) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(server);
    (client, LineTransport::new(input, output, max_bytes))
}

/// The answers to `text` before the message that is passed on, if any.
async fn answers(text: &[u8], max_bytes: usize) -> (Vec<Value>, Option<ClientJsonRpcMessage>) {
    let (mut client, mut lines) = lines(max_bytes);
    client.write_all(text).await.unwrap();
    let mut reader = {
        let (reader, mut writer) = tokio::io::split(client);
        writer.shutdown().await.unwrap();
        reader
    };
    let message = lines.receive().await;
    lines.close().await.unwrap();
    drop(lines);
    let mut written = String::new();
    reader.read_to_string(&mut written).await.unwrap();
    (written.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), message)
}

#[tokio::test]
async fn an_invalid_line_is_answered_and_the_next_is_read() {
    let ping = br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    for (line, code, id) in [
        (&b"junk"[..], -32700, Value::Null),
        (b"\xff\xfe", -32700, Value::Null),
        (b"[]", -32600, Value::Null),
        (br#"{"id":3,"jsonrpc":"1.0","method":"ping"}"#, -32600, json!(3)),
        (br#"{"jsonrpc":"2.0"}"#, -32600, Value::Null),
    ] {
        let text = [b"\n", line, b"\r\n", ping, b"\n"].concat();
        let (answers, message) = answers(&text, 1_000).await;
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!((&answers[0]["error"]["code"], &answers[0]["id"]), (&json!(code), &id), "{answers:?}");
        assert!(matches!(message, Some(JsonRpcMessage::Request(request)) if request.id == NumberOrString::Number(7)));
    }
}

#[tokio::test]
async fn a_line_that_is_too_long_is_answered_by_its_id() {
    let long = "x".repeat(5_000);
    let first = json!({"id": 1, "jsonrpc": "2.0", "method": "ping", "params": {"x": long}}).to_string();
    let last = format!(r#"{{"params":{{"x":"{long}","id":9}},"method":"ping","jsonrpc":"2.0","id":"two"}}"#);
    let (answers, message) = answers(format!("{first}\n{last}\n").as_bytes(), 1_000).await;
    assert!(message.is_none());
    assert_eq!((&answers[0]["id"], &answers[1]["id"]), (&json!(1), &json!("two")));
    assert!(answers[0]["error"]["message"].as_str().unwrap().contains("1000 are the most"), "{answers:?}");
}

#[tokio::test]
async fn before_the_revision_is_settled_only_requests_are_passed_on() {
    let text = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    assert!(answers(text, 1_000).await.1.is_none());
    let (mut client, mut lines) = lines(1_000);
    client.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n").await.unwrap();
    client.write_all(text).await.unwrap();
    assert!(matches!(lines.receive().await, Some(JsonRpcMessage::Request(_))));
    assert!(matches!(lines.receive().await, Some(JsonRpcMessage::Notification(_))));
}

#[tokio::test]
async fn a_read_that_is_dropped_loses_nothing() {
    let (mut client, mut lines) = lines(1_000);
    let line = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    for byte in line.as_bytes() {
        client.write_all(&[*byte]).await.unwrap();
        tokio::select! {
            biased;
            message = lines.receive() => { assert!(message.is_some() && *byte == b'\n'); return }
            () = tokio::task::yield_now() => {}
        }
    }
    panic!("the message never came");
}
