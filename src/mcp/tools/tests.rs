//! Tests of rules that real clients forced on other servers.

use serde_json::{Value, to_value};

use super::*;
use crate::mcp::toolsets::Toolsets;

fn default_tools() -> Vec<Tool> {
    let sets = Toolsets::default();
    all().filter(|tool| sets.contains(tool.toolset)).map(Definition::listed).collect()
}

/// All tools, including those that must be requested.
fn all_tools() -> Vec<Tool> {
    all().map(Definition::listed).collect()
}

#[test]
#[expect(clippy::print_stdout, reason = "the size is to be seen")]
fn the_list_fits_its_budget() {
    let tools = default_tools();
    let size = |tool: &Tool| {
        tool.name.len()
            + tool.description.as_ref().map_or(0, |text| text.len())
            + to_value(&*tool.input_schema).unwrap().to_string().len()
    };
    let bytes: usize = tools.iter().map(size).sum();
    println!("tools/list: {} tools, {bytes} bytes of names, descriptions and input schemas", tools.len());
    assert!(tools.len() <= 12);
    assert!(bytes <= 12_000, "{bytes}");
    // Delegates and programs, which must be requested, add at most a half.
    let with_delegates: usize = all_tools().iter().map(size).sum();
    println!("with all toolsets: {with_delegates} bytes");
    assert!(with_delegates <= 18_000, "{with_delegates}");
    for tool in &all_tools() {
        let description = tool.description.as_deref().unwrap();
        let chars = description.chars().count();
        assert!(chars <= 600, "{}: {chars}", tool.name);
        for part in ["Use it", "Example: {"] {
            assert!(description.contains(part), "{}: {part}", tool.name);
        }
        let (_, example) = description.split_once("Example: ").unwrap();
        serde_json::from_str::<Value>(example).expect("an example is JSON");
    }
}

#[test]
fn input_schemas_are_plain() {
    for tool in all_tools() {
        let schema = Value::Object((*tool.input_schema).clone());
        assert_eq!(schema["type"], "object", "{}", tool.name);
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        check_plain(&schema, tool.name.as_ref());
    }
}

/// Walks a schema; every keyword in it must be known.
fn check_plain(schema: &Value, at: &str) {
    for (keyword, value) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "type" => assert!(value.is_string(), "{at}: a list of types"),
            "description" | "required" => {}
            // What is told once costs half: the objects of `stage_edits` are those of `multi_edit_files`.
            "additionalProperties" => assert_eq!(value, &Value::Bool(at == "stage_edits.files[]"), "{at}"),
            "items" => check_plain(value, &format!("{at}[]")),
            "properties" => {
                for (name, property) in value.as_object().unwrap() {
                    let at = format!("{at}.{name}");
                    let description = property["description"].as_str().unwrap_or_default();
                    assert!(description.len() > 10, "{at} has no description");
                    check_plain(property, &at);
                }
            }
            other => panic!("{at}: the keyword {other}"),
        }
    }
}

#[test]
fn what_must_be_given_is_required() {
    let required = |name: &str| {
        let tool = all_tools().into_iter().find(|tool| tool.name == name).unwrap();
        tool.input_schema.get("required").cloned().unwrap_or_default()
    };
    assert_eq!(required("multi_edit"), serde_json::json!(["file_path", "edits"]));
    assert_eq!(required("multi_edit_files"), serde_json::json!(["files"]));
    assert_eq!(required("edit_file"), serde_json::json!(["path", "old_string", "new_string"]));
    assert_eq!(required("replace_in_files"), serde_json::json!(["pattern", "replacement"]));
    assert_eq!(required("apply_patch"), serde_json::json!(["patch"]));
    assert_eq!(required("undo_transaction"), Value::Null);
    #[cfg(feature = "delegate")]
    for name in ["kimi_analyze", "kimi_implement", "kimi_refactor", "kimi_verify"] {
        assert_eq!(required(name), serde_json::json!(["prompt"]));
    }
}

#[test]
fn output_schemas_are_objects_for_success_and_failure() {
    for tool in all_tools() {
        let schema = Value::Object(tool.output_schema.as_deref().unwrap().clone());
        assert_eq!(schema["type"], "object", "{}", tool.name);
        assert_eq!(schema["required"], serde_json::json!(["success"]), "{}", tool.name);
        for name in ["success", "error_code", "recovery_hint", "outcome"] {
            assert!(schema["properties"][name].is_object(), "{}: {name}", tool.name);
        }
        assert!(schema.to_string().len() < 3_000, "{}", tool.name);
    }
}

#[test]
fn every_tool_has_title_and_hints_and_the_order_is_fixed() {
    let tools = default_tools();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    let expected = [
        "multi_edit",
        "multi_edit_files",
        "edit_file",
        "replace_in_files",
        "apply_patch",
        "read_files",
        "stage_edits",
        "preview_transaction",
        "commit_transaction",
        "rollback_transaction",
        "list_transactions",
        "undo_transaction",
    ];
    assert_eq!(names, expected);
    for tool in tools {
        let hints = tool.annotations.unwrap();
        assert!(tool.title.is_some() && hints.title.is_some(), "{}", tool.name);
        assert_eq!(hints.open_world_hint, Some(false), "{}", tool.name);
        let reads = matches!(tool.name.as_ref(), "read_files" | "preview_transaction" | "list_transactions");
        assert_eq!((hints.read_only_hint, hints.destructive_hint), (Some(reads), Some(!reads)), "{}", tool.name);
    }
}

#[cfg(feature = "delegate")]
#[test]
fn delegates_come_last_and_talk_to_the_world() {
    let names: Vec<_> = all_tools().into_iter().map(|tool| tool.name).skip(13).collect();
    assert_eq!(names, ["kimi_analyze", "kimi_implement", "kimi_refactor", "kimi_verify"]);
    for tool in all_tools().into_iter().skip(13) {
        let hints = tool.annotations.unwrap();
        let reads = matches!(tool.name.as_ref(), "kimi_analyze" | "kimi_verify");
        assert_eq!((hints.read_only_hint, hints.open_world_hint), (Some(reads), Some(true)), "{}", tool.name);
    }
}
