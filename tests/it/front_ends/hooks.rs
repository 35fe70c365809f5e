//! The hooks of examples/hooks/, run as the configuration of each client beside them says, with the call as the client
//! documents it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::sources::root;

/// A project of a client with the hook in it, and a program `txedit`.
struct Project {
    folder: TempDir,
    configuration: Value,
}

impl Project {
    fn of(client: &str, hooks: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let examples = root().join("examples/hooks");
        for (name, from) in [(hooks, "txedit-hook.sh"), ("bin/txedit", "txedit-hook.sh")] {
            let to = folder.path().join(name);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(examples.join(from), &to).unwrap();
            fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Command::new("git").args(["init", "-q"]).current_dir(folder.path()).status().unwrap();
        let configuration = fs::read_to_string(examples.join(format!("{client}.json"))).unwrap();
        Self { folder, configuration: serde_json::from_str(&configuration).unwrap() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs the command of an event for a call.
    fn run(&self, event: &str, variable: &str, choice: Option<&str>, call: &Value) -> Output {
        let entry = &self.configuration["hooks"][event][0];
        let command = entry["command"].as_str().or(entry["hooks"][0]["command"].as_str()).unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(self.path());
        for name in ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR", "TXEDIT", "TXEDIT_HOOK"] {
            shell.env_remove(name);
        }
        let programs = format!("{}:{}", self.path().join("bin").display(), std::env::var("PATH").unwrap());
        shell.env("PATH", programs).env(variable, self.path()).envs(choice.map(|choice| ("TXEDIT_HOOK", choice)));
        // Another one may be installed where the tests run.
        let program = self.path().join("bin/txedit");
        shell.envs((!program.exists()).then_some(("TXEDIT", program)));
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        // A hook that allows everything does not read.
        let _ = child.stdin.take().unwrap().write_all(serde_json::to_string_pretty(call).unwrap().as_bytes());
        child.wait_with_output().unwrap()
    }

    /// The answer of the hook; null where it has none.
    #[track_caller]
    fn answer(&self, event: &str, variable: &str, choice: Option<&str>, call: &Value) -> Value {
        let output = self.run(event, variable, choice, call);
        assert!(output.status.success(), "{output:?}");
        if output.stdout.is_empty() { Value::Null } else { serde_json::from_slice(&output.stdout).unwrap() }
    }
}

/// Whether a text names the tools of the server.
#[track_caller]
fn names_the_tools(text: &Value) {
    let text = text.as_str().unwrap();
    for tool in ["multi_edit for one file", "multi_edit_files", "apply_patch"] {
        assert!(text.contains(tool), "{text}");
    }
}

fn claude_call(tool: &str, input: &Value, cwd: &Path) -> Value {
    json!({"session_id": "abc123", "transcript_path": "/home/u/.claude/projects/p/s.jsonl", "cwd": cwd,
           "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input,
           "tool_use_id": "toolu_01ABC123"})
}

#[test]
fn claude_code_is_refused_told_or_allowed() {
    let project = Project::of("claude-code", ".claude/hooks/txedit-hook.sh");
    let matcher = project.configuration["hooks"]["PreToolUse"][0]["matcher"].as_str().unwrap();
    let file = project.path().join("src/a.rs");
    let calls = [
        ("Edit", json!({"file_path": file, "old_string": "a", "new_string": "b", "replace_all": false})),
        ("Write", json!({"file_path": file, "content": "text with \"file_path\": \"/etc/passwd\"\nand \\ more"})),
        ("MultiEdit", json!({"file_path": file, "edits": [{"old_string": "a", "new_string": "b"}]})),
    ];
    for (tool, input) in &calls {
        assert!(matcher.split('|').any(|name| name == *tool), "{matcher}");
        let call = claude_call(tool, input, project.path());
        let answer = |choice| project.answer("PreToolUse", "CLAUDE_PROJECT_DIR", choice, &call);
        let refused = &answer(None)["hookSpecificOutput"];
        assert_eq!((&refused["hookEventName"], &refused["permissionDecision"]), (&json!("PreToolUse"), &json!("deny")));
        names_the_tools(&refused["permissionDecisionReason"]);
        let told = &answer(Some("tell"))["hookSpecificOutput"];
        assert_eq!((&told["hookEventName"], told.get("permissionDecision")), (&json!("PreToolUse"), None));
        names_the_tools(&told["additionalContext"]);
        assert_eq!(answer(Some("allow")), Value::Null);
    }
}

#[test]
fn what_is_outside_of_the_project_is_the_agents_own() {
    let project = Project::of("claude-code", ".claude/hooks/txedit-hook.sh");
    let answer = |path: &str| {
        // The content comes first, and speaks of a file inside.
        let input = json!({"content": format!("\"file_path\": \"{}/a\"", project.path().display()), "file_path": path});
        project.answer("PreToolUse", "CLAUDE_PROJECT_DIR", None, &claude_call("Write", &input, project.path()))
    };
    assert_eq!(answer("/home/u/.claude/plans/plan.md"), Value::Null);
    assert_eq!(answer(&format!("{}-other/a", project.path().display())), Value::Null);
    for inside in [format!("/x/..{}/a", project.path().display()), "a".into(), "/quoted\"/a".into()] {
        assert_ne!(answer(&inside), Value::Null, "{inside}");
    }
}

#[test]
fn codex_is_refused_with_a_patch() {
    let project = Project::of("codex", ".codex/hooks/txedit-hook.sh");
    let patch = "*** Begin Patch\n*** Update File: a\n@@\n-a\n+b\n*** End Patch\n";
    let call = json!({"session_id": "s", "turn_id": "t", "transcript_path": null, "cwd": project.path(),
                      "hook_event_name": "PreToolUse", "model": "m", "permission_mode": "default",
                      "tool_name": "apply_patch", "tool_use_id": "u", "tool_input": {"command": patch}});
    let refused = project.answer("PreToolUse", "UNUSED", None, &call);
    assert_eq!(refused["hookSpecificOutput"]["permissionDecision"], "deny");
    names_the_tools(&refused["hookSpecificOutput"]["permissionDecisionReason"]);
    let told = project.answer("PreToolUse", "UNUSED", Some("tell"), &call);
    names_the_tools(&told["hookSpecificOutput"]["additionalContext"]);
}

#[test]
fn gemini_cli_is_refused_before_a_call_and_told_after_it() {
    let project = Project::of("gemini-cli", ".gemini/hooks/txedit-hook.sh");
    let input = json!({"file_path": project.path().join("a"), "content": "b"});
    let call = |event: &str| {
        json!({"session_id": "s", "transcript_path": "/t", "cwd": project.path(), "hook_event_name": event,
               "timestamp": "2026-01-01T00:00:00Z", "tool_name": "write_file", "tool_input": input,
               "tool_response": {"llmContent": "done"}})
    };
    let answer = |event: &str, choice| project.answer(event, "GEMINI_PROJECT_DIR", choice, &call(event));
    let refused = answer("BeforeTool", None);
    assert_eq!(refused["decision"], "deny");
    names_the_tools(&refused["reason"]);
    assert_eq!(answer("BeforeTool", Some("tell")), Value::Null);
    names_the_tools(&answer("AfterTool", None)["hookSpecificOutput"]["additionalContext"]);
}

#[test]
fn cursor_is_refused_or_told() {
    let project = Project::of("cursor", ".cursor/hooks/txedit-hook.sh");
    let call = json!({"conversation_id": "c", "generation_id": "g", "hook_event_name": "preToolUse",
                      "cursor_version": "2.4.0", "workspace_roots": [project.path()], "tool_name": "Write",
                      "tool_input": {"path": project.path().join("a"), "contents": "b"}, "tool_use_id": "u"});
    let refused = project.answer("preToolUse", "CURSOR_PROJECT_DIR", None, &call);
    assert_eq!(refused["permission"], "deny");
    names_the_tools(&refused["agent_message"]);
    let told = project.answer("preToolUse", "CURSOR_PROJECT_DIR", Some("tell"), &call);
    assert_eq!(told["permission"], "allow");
    names_the_tools(&told["agent_message"]);
}

#[test]
fn a_hook_that_cannot_decide_says_so_and_lets_the_call_go_on() {
    let project = Project::of("claude-code", ".claude/hooks/txedit-hook.sh");
    let call = claude_call("Write", &json!({"file_path": project.path().join("a"), "content": ""}), project.path());
    let run = |choice| project.run("PreToolUse", "CLAUDE_PROJECT_DIR", choice, &call);
    let wrong = run(Some("forbid"));
    assert_eq!((wrong.status.code(), wrong.stdout.is_empty()), (Some(1), true));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("one of allow, tell and refuse, not 'forbid'"));
    // With its own editor refused and no other at hand, the agent could do nothing.
    fs::remove_file(project.path().join("bin/txedit")).unwrap();
    let alone = project.run("PreToolUse", "CLAUDE_PROJECT_DIR", None, &call);
    assert_eq!((alone.status.code(), alone.stdout.is_empty()), (Some(1), true), "{alone:?}");
}

#[test]
fn opencode_is_refused_or_told() {
    if !Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: there is no node");
        return;
    }
    let folder = TempDir::new().unwrap();
    fs::copy(root().join("examples/hooks/opencode.js"), folder.path().join("txedit.mjs")).unwrap();
    let script = "const { TxeditHook } = await import('./txedit.mjs');
        const hooks = await TxeditHook({ directory: '/p', worktree: '/p' });
        const seen = [];
        for (const [tool, args] of [['edit', { filePath: '/p/a' }], ['write', { filePath: 'a' }],
            ['apply_patch', { patchText: '' }], ['write', { filePath: '/other/a' }], ['read', { filePath: '/p/a' }]]) {
            const after = { title: '', output: 'done', metadata: {} };
            let error = null;
            const input = { tool, sessionID: 's', callID: 'c' };
            await hooks['tool.execute.before'](input, { args }).catch((thrown) => { error = thrown.message });
            await hooks['tool.execute.after']({ ...input, args }, after);
            seen.push([error, after.output]);
        }
        console.log(JSON.stringify(seen));";
    let run = |choice: &str| -> Vec<(Option<String>, String)> {
        let mut node = Command::new("node");
        node.args(["--input-type=module", "-e", script]).current_dir(folder.path()).env("TXEDIT_HOOK", choice);
        let output = node.output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    };
    let refused: Vec<bool> = run("refuse").iter().map(|(error, _)| error.is_some()).collect();
    assert_eq!(refused, [true, true, true, false, false]);
    names_the_tools(&json!(run("refuse")[0].0));
    let told: Vec<bool> = run("tell").iter().map(|(error, output)| error.is_none() && output != "done").collect();
    assert_eq!(told, [true, true, true, false, false]);
    assert!(run("allow").iter().all(|(error, output)| error.is_none() && output == "done"));
}
