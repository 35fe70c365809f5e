//! Prompts for two tasks that suit transactions.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};

pub(super) fn list() -> Vec<Prompt> {
    let argument = |name: &str, description: &str, required: bool| {
        PromptArgument::new(name).with_description(description).with_required(required)
    };
    vec![
        Prompt::new(
            "batch_rename",
            Some("Rename a symbol in all files as one transaction."),
            Some(vec![
                argument("old_name", "The name as it is.", true),
                argument("new_name", "The name as it should be.", true),
                argument("scope", "Where to look: a folder or a pattern of files.", false),
            ]),
        )
        .with_title("Rename everywhere"),
        Prompt::new(
            "safe_refactor",
            Some("Refactor over several files, shown as a diff before anything is written."),
            Some(vec![
                argument("goal", "What should be different afterwards.", true),
                argument("files", "The files to begin with.", false),
            ]),
        )
        .with_title("Refactor in one step"),
    ]
}

pub(super) fn get(name: &str, arguments: Option<&JsonObject>) -> Result<GetPromptResult, ErrorData> {
    let given = |name: &str| arguments.and_then(|it| it.get(name)).and_then(|it| it.as_str()).unwrap_or_default();
    let required = |name: &str| match given(name) {
        "" => Err(ErrorData::invalid_params(format!("the argument `{name}` is missing"), None)),
        value => Ok(value),
    };
    let text = match name {
        "batch_rename" => {
            let scope = match given("scope") {
                "" => "the whole project".to_owned(),
                scope => format!("`{scope}`"),
            };
            format!(
                "Rename `{}` to `{}` in {scope}.\n\n\
                 1. Find every file that uses the name, definitions, tests and documentation included.\n\
                 2. Read them with read_files and keep their hashes.\n\
                 3. Send one multi_edit_files call with an entry for each file: its hash as expected_hash, and edits \
                 that are specific enough to leave longer names alone. Try it with dry_run: true first.\n\
                 4. If an edit fails, nothing was changed: correct it by the answer's context and send the whole \
                 request again.\n\
                 5. Say which files changed, and the transaction_id that undoes it.",
                required("old_name")?,
                required("new_name")?,
            )
        }
        "safe_refactor" => {
            let files = match given("files") {
                "" => String::new(),
                files => format!(" Begin with {files}."),
            };
            format!(
                "Refactor: {}.{files}\n\n\
                 1. Read all files that are concerned with read_files and keep their hashes.\n\
                 2. Put the whole change into one multi_edit_files request with expected_hash for each file, and send \
                 it with dry_run: true. Look at the diffs.\n\
                 3. Send the same request without dry_run. It changes all files or none.\n\
                 4. Build and test. If it is wrong, call undo_transaction with the transaction_id and start again.",
                required("goal")?,
            )
        }
        _ => return Err(ErrorData::invalid_params(format!("there is no prompt `{name}`"), None)),
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}
