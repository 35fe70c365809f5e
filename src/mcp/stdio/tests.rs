use rmcp::model::NumberOrString;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, DuplexStream};

use super::*;

fn lines(max_bytes: usize) -> (DuplexStream, LineTransport<tokio::io::ReadHalf<DuplexStream>>) {
    let (client, server) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(server);
    (client, LineTransport::new(input, output, max_bytes, CancellationToken::new()))
}

/// The answers to `text` before the message that is passed on, if any.
async fn answers(text: &[u8], max_bytes: usize) -> (Vec<Value>, Option<ClientJsonRpcMessage>) {
    let (mut client, mut lines) = lines(max_bytes);
    client.write_all(text).await.unwrap();
    let reader = {
        let (reader, mut writer) = tokio::io::split(client);
        writer.shutdown().await.unwrap();
        reader
    };
    let message = lines.receive().await;
    (all_answers(lines, reader).await, message)
}

/// Closes the transport, and reads what it has written.
async fn all_answers(
    mut lines: LineTransport<tokio::io::ReadHalf<DuplexStream>>,
    mut reader: impl AsyncRead + Unpin,
) -> Vec<Value> {
    lines.close().await.unwrap();
    drop(lines);
    let mut written = String::new();
    reader.read_to_string(&mut written).await.unwrap();
    written.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
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

fn ping(id: usize) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\",\"params\":{{\"x\":\"{}\"}}}}\n", "x".repeat(50))
}

/// The id of the next request that is passed on; `None` if none is before something else happens.
async fn next_id(lines: &mut LineTransport<tokio::io::ReadHalf<DuplexStream>>) -> Option<(i64, ClientJsonRpcMessage)> {
    // Everything has arrived and nothing is waited for but an answer, so a few turns are enough.
    for _ in 0..20 {
        tokio::select! {
            biased;
            message = lines.receive() => match message {
                Some(JsonRpcMessage::Request(request)) => {
                    let NumberOrString::Number(id) = request.id else { panic!("{request:?}") };
                    return Some((id, JsonRpcMessage::Request(request)));
                }
                Some(_) => {}
                None => return None,
            },
            () = tokio::task::yield_now() => {}
        }
    }
    None
}

fn answer(id: i64) -> ServerJsonRpcMessage {
    JsonRpcMessage::error(ErrorData::internal_error("x", None), Some(NumberOrString::Number(id)))
}

#[tokio::test]
async fn a_request_is_begun_when_another_was_answered_and_read() {
    let (mut client, mut lines) = lines(100_000);
    for id in 0..limits::REQUESTS + 2 {
        client.write_all(ping(id).as_bytes()).await.unwrap();
    }
    let mut begun = Vec::new();
    while let Some((_, request)) = next_id(&mut lines).await {
        begun.push(request);
    }
    assert_eq!(begun.len(), limits::REQUESTS);
    // An answer alone makes no room: its handler must have ended, too.
    lines.send(answer(0)).await.unwrap();
    tokio::task::yield_now().await;
    assert!(next_id(&mut lines).await.is_none());
    begun.remove(0);
    assert_eq!(next_id(&mut lines).await.map(|(id, _)| id), Some(64));
    // Nor does one that is cancelled before its handler has ended.
    client.write_all(cancel(1).as_bytes()).await.unwrap();
    assert!(next_id(&mut lines).await.is_none());
    begun.remove(0);
    assert_eq!(next_id(&mut lines).await.map(|(id, _)| id), Some(65));
}

fn cancel(id: usize) -> String {
    let params = json!({"requestId": id});
    format!("{}\n", json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
}

#[tokio::test]
async fn notifications_pass_the_requests_that_wait_for_a_place() {
    let (mut client, mut lines) = lines(100_000);
    client.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1000,\"method\":\"tools/list\"}\n").await.unwrap();
    let mut begun = vec![next_id(&mut lines).await.unwrap().1];
    for id in 1..limits::REQUESTS + 3 {
        client.write_all(ping(id).as_bytes()).await.unwrap();
    }
    client.write_all(cancel(64).as_bytes()).await.unwrap();
    client.write_all(cancel(5).as_bytes()).await.unwrap();
    for _ in 1..limits::REQUESTS {
        begun.push(next_id(&mut lines).await.unwrap().1);
    }
    for _ in 0..2 {
        assert!(matches!(lines.receive().await, Some(JsonRpcMessage::Notification(_))));
    }
    // The one that waited and was cancelled is never begun.
    begun.pop();
    lines.send(answer(63)).await.unwrap();
    tokio::task::yield_now().await;
    assert_eq!(next_id(&mut lines).await.map(|(id, _)| id), Some(65));
}

#[tokio::test]
async fn the_bytes_of_the_requests_at_a_time_are_bounded_and_one_is_always_begun() {
    let line = ping(1);
    let (mut client, mut lines) = lines(line.trim_end().len());
    for id in 1..4 {
        client.write_all(ping(id).as_bytes()).await.unwrap();
    }
    for id in 1..4 {
        let (begun, request) = next_id(&mut lines).await.unwrap();
        assert_eq!(begun, id);
        assert!(next_id(&mut lines).await.is_none());
        drop(request);
    }
}

#[tokio::test]
async fn a_subscription_holds_no_place_and_there_are_not_too_many() {
    let (mut client, mut lines) = lines(100_000);
    let listen = |id: usize| {
        format!(
            "{}\n",
            json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": {"notifications": {}}})
        )
    };
    for id in 0..=limits::SUBSCRIPTIONS {
        client.write_all(listen(id).as_bytes()).await.unwrap();
    }
    client.write_all(ping(1_000).as_bytes()).await.unwrap();
    let mut begun = Vec::new();
    while let Some(request) = next_id(&mut lines).await {
        begun.push(request);
    }
    assert_eq!(begun.len(), limits::SUBSCRIPTIONS + 1);
    assert_eq!(begun.last().unwrap().0, 1_000);
    let [refused] = &all_answers(lines, client).await[..] else { panic!("one is refused") };
    assert_eq!(refused["id"], limits::SUBSCRIPTIONS);
    assert!(refused["error"]["message"].as_str().unwrap().contains("cancel one"), "{refused}");
}

#[tokio::test]
async fn requests_that_were_never_begun_are_refused_at_the_end() {
    let (mut client, mut lines) = lines(100_000);
    for id in 0..=limits::REQUESTS {
        client.write_all(ping(id).as_bytes()).await.unwrap();
    }
    let (reader, mut writer) = tokio::io::split(client);
    writer.shutdown().await.unwrap();
    let mut begun = Vec::new();
    while let Some(request) = lines.receive().await {
        assert!(!lines.stop.is_cancelled());
        begun.push(request);
    }
    assert_eq!((begun.len(), lines.stop.is_cancelled()), (limits::REQUESTS, true));
    let [refused] = &all_answers(lines, reader).await[..] else { panic!("one is refused") };
    assert_eq!(refused["id"], limits::REQUESTS);
    assert!(refused["error"]["message"].as_str().unwrap().contains("nothing was changed"), "{refused}");
}
