//! A long piece of work, done through the command line and through the server: the same answers, the same files after
//! each step, and again where the process is killed after each step.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::{Root, Session};

const A: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";

/// Whoever does the work.
trait Client {
    fn stage(&mut self, id: Option<&str>, request: Value) -> Value;
    fn preview(&mut self, id: &str) -> Value;
    fn commit(&mut self, id: &str, plan_hash: Option<&str>, check: Option<&[&str]>) -> Value;
    fn apply(&mut self, request: Value) -> Value;
    fn undo(&mut self, id: &str) -> Value;
    /// `undo` is the transaction that undid something.
    fn redo(&mut self, undo: &str) -> Value;
}

/// The command line: each step is a process of its own.
struct Shell<'a>(&'a Root);

impl Shell<'_> {
    fn run(&self, arguments: &[&str]) -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
        command.arg("--root").arg(self.0.path("")).arg("--json").args(arguments).current_dir(self.0.path(""));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TXEDIT_") || name == "CLAUDE_PROJECT_DIR" {
                command.env_remove(name);
            }
        }
        serde_json::from_slice(&command.output().unwrap().stdout).unwrap()
    }

    fn plan(&self, request: &Value) -> String {
        let plan = self.0.path(".txedit-plan.json");
        fs::write(&plan, request.to_string()).unwrap();
        plan.to_str().unwrap().to_owned()
    }
}

impl Client for Shell<'_> {
    fn stage(&mut self, id: Option<&str>, request: Value) -> Value {
        let plan = self.plan(&request);
        match id {
            Some(id) => self.run(&["stage", &plan, "--transaction", id]),
            None => self.run(&["stage", &plan]),
        }
    }

    fn preview(&mut self, id: &str) -> Value {
        self.run(&["preview", id])
    }

    fn commit(&mut self, id: &str, plan_hash: Option<&str>, check: Option<&[&str]>) -> Value {
        let mut line = vec!["commit", id];
        line.extend(plan_hash.iter().flat_map(|hash| ["--plan-hash", *hash]));
        line.extend(check.iter().flat_map(|check| ["--check", check[check.len() - 1]]));
        self.run(&line)
    }

    fn apply(&mut self, request: Value) -> Value {
        let plan = self.plan(&request);
        self.run(&["apply", &plan])
    }

    fn undo(&mut self, id: &str) -> Value {
        self.run(&["undo", id])
    }

    fn redo(&mut self, undo: &str) -> Value {
        self.run(&["redo", undo])
    }
}

/// The server; perhaps a new one for each step, the one before killed.
struct Server<'a> {
    root: &'a Root,
    session: Session,
    is_killed: bool,
}

impl<'a> Server<'a> {
    fn new(root: &'a Root, is_killed: bool) -> Self {
        Self { root, session: root.open(&["--allow-checks"]), is_killed }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.session.call(tool, arguments);
        if self.is_killed {
            self.session.process.kill().unwrap();
            self.session.process.wait().unwrap();
            self.session = self.root.open(&["--allow-checks"]);
        }
        answer
    }
}

impl Client for Server<'_> {
    fn stage(&mut self, id: Option<&str>, mut request: Value) -> Value {
        if let Some(id) = id {
            request["transaction_id"] = json!(id);
        }
        self.call("stage_edits", &request)
    }

    fn preview(&mut self, id: &str) -> Value {
        self.call("preview_transaction", &json!({"transaction_id": id}))
    }

    fn commit(&mut self, id: &str, plan_hash: Option<&str>, check: Option<&[&str]>) -> Value {
        let mut arguments = json!({"transaction_id": id});
        if let Some(hash) = plan_hash {
            arguments["plan_hash"] = json!(hash);
        }
        if let Some(check) = check {
            arguments["check"] = json!(check);
        }
        self.call("commit_transaction", &arguments)
    }

    fn apply(&mut self, request: Value) -> Value {
        self.call("multi_edit_files", &request)
    }

    fn undo(&mut self, id: &str) -> Value {
        self.call("undo_transaction", &json!({"transaction_id": id}))
    }

    fn redo(&mut self, undo: &str) -> Value {
        self.call("undo_transaction", &json!({"transaction_id": undo}))
    }
}

/// The digest of each file, and the word that stands for the answer.
type Step = (String, BTreeMap<String, String>);

struct Work<'a> {
    root: &'a Root,
    steps: Vec<Step>,
}

impl Work<'_> {
    /// Remembers what a step came to.
    fn step(&mut self, answer: &Value) -> String {
        let word = answer["error_code"].as_str().unwrap_or("done").to_owned();
        let mut files = BTreeMap::new();
        for name in ["a", "b", "c", "new"] {
            if let Ok(content) = fs::read(self.root.path(name)) {
                files.insert(name.to_owned(), blake3::hash(&content).to_hex().to_string());
            }
        }
        self.steps.push((word, files));
        answer["transaction_id"].as_str().unwrap_or_default().to_owned()
    }

    #[track_caller]
    fn last(&self, word: &str, files: &[(&str, &str)]) {
        let (found, there) = self.steps.last().unwrap();
        assert_eq!(found, word);
        let expected: BTreeMap<String, String> = files
            .iter()
            .map(|(name, content)| ((*name).to_owned(), blake3::hash(content.as_bytes()).to_hex().to_string()))
            .collect();
        assert_eq!(*there, expected);
    }
}

fn files(list: &Value) -> Value {
    json!({ "files": list })
}

fn work(root: &Root, client: &mut dyn Client) -> Vec<Step> {
    let name = |name: &str| root.name(name);
    let edit = |file: &str, old: &str, new: &str| json!({"file_path": name(file), "edits": [{"old_string": old, "new_string": new}]});
    let mut work = Work { root, steps: Vec::new() };
    // Three stages, and a look at the whole.
    let id = work.step(&client.stage(None, files(&json!([edit("a", "four", "4"), edit("b", "bee", "B")]))));
    work.step(&client.stage(Some(&id), files(&json!([edit("b", "B", "bumble")]))));
    work.step(&client.stage(Some(&id), files(&json!([{"file_path": name("new"), "content": "fresh\n"}]))));
    let preview = client.preview(&id);
    work.step(&preview);
    work.last("done", &[("a", A), ("b", "bee\n"), ("c", "sea\n")]);
    let diff = preview["diff"].as_str().unwrap();
    assert!(diff.contains("-four\n+4\n") && diff.contains("+bumble\n") && diff.contains("+fresh\n"), "{diff}");
    // A foreign edit of another line: the plan is another, and is carried over without its hash.
    let foreign = A.replace("eight", "EIGHT");
    fs::write(root.path("a"), &foreign).unwrap();
    work.step(&client.commit(&id, preview["plan_hash"].as_str(), None));
    work.last("CONCURRENT_MODIFICATION", &[("a", &foreign), ("b", "bee\n"), ("c", "sea\n")]);
    // A check that fails takes everything back, and leaves the transaction open.
    work.step(&client.commit(&id, None, Some(&["sh", "-c", "grep -q fresh new && exit 3"])));
    work.last("CHECK_FAILED", &[("a", &foreign), ("b", "bee\n"), ("c", "sea\n")]);
    // One that passes.
    let committed = client.commit(&id, None, Some(&["sh", "-c", "grep -q fresh new"]));
    let first = work.step(&committed);
    assert_eq!(
        (&committed["file_results"][0]["rebased"], &committed["check"]["ended"]),
        (&json!(true), &json!("passed"))
    );
    let both = foreign.replace("four", "4");
    let after_first = [("a", &*both), ("b", "bumble\n"), ("c", "sea\n"), ("new", "fresh\n")];
    work.last("done", &after_first);
    // The answer was lost: it is given again.
    let again = client.commit(&id, None, None);
    assert_eq!((&again["already_applied"], again["transaction_id"].as_str()), (&json!(true), Some(&*first)), "{again}");
    // A foreign edit in the same place is refused.
    let other = work.step(&client.stage(None, files(&json!([edit("c", "sea", "ocean")]))));
    fs::write(root.path("c"), "see\n").unwrap();
    work.step(&client.commit(&other, None, None));
    work.last("CONCURRENT_MODIFICATION", &[("a", &both), ("b", "bumble\n"), ("c", "see\n"), ("new", "fresh\n")]);
    fs::write(root.path("c"), "sea\n").unwrap();
    // Two more transactions, then the first is undone, redone, and at last cannot be undone.
    let second = work.step(&client.commit(&other, None, None));
    work.step(&client.apply(files(&json!([edit("c", "ocean", "pond")]))));
    work.last("done", &[("a", &both), ("b", "bumble\n"), ("c", "pond\n"), ("new", "fresh\n")]);
    let undo = work.step(&client.undo(&first));
    work.last("done", &[("a", &foreign), ("b", "bee\n"), ("c", "pond\n")]);
    work.step(&client.redo(&undo));
    work.last("done", &[("a", &both), ("b", "bumble\n"), ("c", "pond\n"), ("new", "fresh\n")]);
    let refused = client.undo(&second);
    work.step(&refused);
    work.last("UNDO_CONFLICT", &[("a", &both), ("b", "bumble\n"), ("c", "pond\n"), ("new", "fresh\n")]);
    let conflict = &refused["context"]["conflicts"][0];
    assert!(conflict["path"].as_str().is_some_and(|path| root.path("c").ends_with(path)), "{refused:#}");
    assert_eq!(conflict["changed_by"].as_array().unwrap().len(), 1, "{refused:#}");
    assert!(conflict["diff"].as_str().unwrap().contains("-ocean\n+pond\n"), "{conflict}");
    work.steps
}

#[test]
fn both_front_ends_do_the_same_killed_or_not() {
    let root = || Root::with(&[("a", A), ("b", "bee\n"), ("c", "sea\n")]);
    let here = root();
    let by_shell = work(&here, &mut Shell(&here));
    for is_killed in [false, true] {
        let here = root();
        let by_server = work(&here, &mut Server::new(&here, is_killed));
        assert_eq!(by_server, by_shell, "killed after each step: {is_killed}");
    }
}

#[test]
fn a_check_is_a_command_and_must_be_allowed() {
    let root = Root::with(&[("a", A)]);
    let mut agent = root.open(&[]);
    let request = json!({"files": [{"file_path": root.name("a"), "delete": true}], "check": ["true"]});
    agent.failed("multi_edit_files", &request, "CHECKS_NOT_ALLOWED");
    let edits = json!({"files": [{"file_path": root.name("a"), "delete": true}]});
    let id = agent.done("stage_edits", &edits)["transaction_id"].clone();
    agent.failed("commit_transaction", &json!({"transaction_id": id, "check": ["true"]}), "CHECKS_NOT_ALLOWED");
    assert!(root.path("a").exists());
    agent.done("rollback_transaction", &json!({"transaction_id": id}));
    agent.failed("preview_transaction", &json!({"transaction_id": id}), "UNKNOWN_TRANSACTION");
}

#[test]
fn the_log_names_the_client() {
    let root = Root::with(&[("a", A)]);
    let mut agent = root.open(&[]);
    agent.done("multi_edit_files", &json!({"files": [{"file_path": root.name("a"), "delete": true}]}));
    let log = agent.done("list_transactions", &json!({}));
    let owner = log["transactions"][0]["owner"].as_str().unwrap();
    assert!(owner.starts_with("t 1 by txedit "), "{owner}");
}
