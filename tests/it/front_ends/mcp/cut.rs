//! Answers that are too long for a client, and where the rest of them is.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Root, Session};

/// The most bytes of an answer, unless told otherwise.
const ANSWER_BYTES: usize = 40_000;

/// A file of many lines, and the request that changes all of them.
fn long(root: &Root, names: &[&str]) -> Value {
    let file = |name: &&str| json!({"file_path": root.name(name), "content": lines("new ä"), "if_exists": "replace"});
    json!({"files": names.iter().map(file).collect::<Vec<_>>()})
}

fn lines(word: &str) -> String {
    (0..8_000).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{word} {number}");
        text
    })
}

fn read(session: &mut Session, uri: &str) -> Value {
    let answer = session.request("resources/read", &json!({"uri": uri}));
    answer["result"]["contents"].get(0).cloned().unwrap_or_else(|| panic!("{answer}"))
}

/// Everything that the pieces from an address on have.
fn pieces(session: &mut Session, first: String) -> (String, usize) {
    let (mut uri, mut text, mut count) = (first, String::new(), 0);
    loop {
        let piece = read(session, &uri);
        let part = piece["text"].as_str().unwrap();
        assert!(part.len() <= ANSWER_BYTES && piece["_meta"]["total_bytes"].as_u64().unwrap() > 0, "{}", part.len());
        text.push_str(part);
        count += 1;
        match piece["_meta"]["next"].as_str() {
            Some(next) => next.clone_into(&mut uri),
            None => return (text, count),
        }
    }
}

/// The diff has all lines of both sides.
fn is_whole(diff: &str) {
    for line in ["-old 0\n", "-old 7999\n", "+new ä 0\n", "+new ä 7999\n"] {
        assert!(diff.contains(line), "{line} is missing in {} bytes", diff.len());
    }
    assert_eq!(diff.matches("\n+new ä").count(), 8_000);
}

#[test]
fn an_answer_is_cut_to_its_budget_and_the_resource_that_it_names_has_all() {
    let root = Root::with(&[("a b.txt", &lines("old")), ("c.txt", &lines("old"))]);
    let mut session = root.open(&[]);
    let staged = session.done("stage_edits", &long(&root, &["a b.txt", "c.txt"]));
    let id = staged["transaction_id"].as_str().unwrap().to_owned();
    let uri = format!("txedit://transactions/{id}/diff");
    let preview = session.done("preview_transaction", &json!({"transaction_id": id}));
    let length = preview.to_string().len();
    assert!((ANSWER_BYTES - 500..=ANSWER_BYTES).contains(&length), "{length}");
    let truncated = preview["truncated"].as_str().unwrap();
    assert!(truncated.contains(&format!("{uri} has every change")), "{truncated}");
    assert!(
        preview["plan_hash"].as_str().unwrap().len() == 64 && preview["file_results"].as_array().unwrap().len() == 2
    );

    for step in ["open", "committed"] {
        if step == "committed" {
            session.done("commit_transaction", &json!({"transaction_id": id}));
        }
        let whole = read(&mut session, &uri)["text"].as_str().unwrap().to_owned();
        let one = read(&mut session, &format!("{uri}?file=a%20b.txt"))["text"].as_str().unwrap().to_owned();
        let other = read(&mut session, &format!("{uri}?file=c.txt"))["text"].as_str().unwrap().to_owned();
        is_whole(&one);
        is_whole(&other);
        assert_eq!(whole, format!("{one}{other}"), "{step}");
        let (in_pieces, count) = pieces(&mut session, format!("{uri}?file=a%20b.txt&offset=0"));
        assert!(in_pieces == one && count > 3, "{step}: {count} pieces of {} bytes", in_pieces.len());
        let (all, _) = pieces(&mut session, format!("{uri}?offset=0"));
        assert_eq!(all, whole);
    }
    for missing in [format!("{uri}?file=nothing"), format!("{uri}?colour=red"), uri.replace("/20", "/29")] {
        let answer = session.request("resources/read", &json!({"uri": missing}));
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
    }
}
