#!/bin/sh
# What becomes of an edit that a coding agent makes with its own editor: docs/hooks.md.
#
#   txedit-hook.sh CLIENT CHOICE
#
# CLIENT is claude-code, codex, gemini-cli or cursor, and CHOICE allow, tell or refuse; $TXEDIT_HOOK overrides it. The
# client writes the call to standard input, and reads the decision from standard output. Needs nothing but a shell.
set -u

client=${1-}
choice=${TXEDIT_HOOK:-${2-}}

# Without quotes and backslashes, so that they are JSON strings as they stand. Tests hold the names of the tools.
advice='In this project, files are changed through the MCP server txedit: multi_edit for one file, multi_edit_files for several at once, all or nothing, or apply_patch.'
refusal="$advice This call was refused, and nothing was changed."

# A status other than 0 and 2 is shown to the user, and the call goes on.
stop() {
    echo "txedit-hook.sh: $1" >&2
    exit 1
}

case $client in
    claude-code | codex | gemini-cli | cursor) ;;
    *) stop "the client is one of claude-code, codex, gemini-cli and cursor, not '$client'" ;;
esac
case $choice in
    allow) exit 0 ;;
    tell | refuse) ;;
    *) stop "the choice is one of allow, tell and refuse, not '$choice'" ;;
esac

payload=$(tr '\r\n' '  ')

# The first member of this name. Within a string of JSON a backslash is in front of each quote, so no content of a file
# looks like a member.
member() {
    printf '%s' "$payload" | grep -oE "\"($1)\" *: *\"([^\"\\\\]|\\\\.)*\"" | head -n 1 |
        sed -E 's/^"[a-z_]*" *: *"(.*)"$/\1/'
}

# Plans and notes outside of the project are the agent's own. A path that is not simple, a relative one, and a patch, which
# has none, count as inside.
path=$(member 'file_path|path')
root=${CLAUDE_PROJECT_DIR:-${GEMINI_PROJECT_DIR:-${CURSOR_PROJECT_DIR:-$PWD}}}
root=${root%/}
case $path in
    *\\* | */../* | */..) ;;
    "$root"/* | "$(cd "$root" 2>/dev/null && pwd -P)"/*) ;;
    /*) exit 0 ;;
esac

# An agent without any editor can do nothing.
if [ "$choice" = refuse ] && ! command -v "${TXEDIT:-txedit}" >/dev/null; then
    stop "there is no program ${TXEDIT:-txedit}, so the call is not refused"
fi

event=$(member hook_event_name)
case $client/$choice in
    claude-code/refuse | codex/refuse)
        echo "{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"deny\"," \
            "\"permissionDecisionReason\": \"$refusal\"}}"
        ;;
    # Without a decision, the client asks for permission as it would without this hook.
    claude-code/tell | codex/tell)
        echo "{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"additionalContext\": \"$advice\"}}"
        ;;
    gemini-cli/refuse) echo "{\"decision\": \"deny\", \"reason\": \"$refusal\"}" ;;
    # Only after a call does this client pass a text on to the model.
    gemini-cli/tell)
        [ "$event" = AfterTool ] || exit 0
        echo "{\"hookSpecificOutput\": {\"hookEventName\": \"AfterTool\", \"additionalContext\": \"$advice\"}}"
        ;;
    cursor/refuse)
        echo "{\"permission\": \"deny\", \"user_message\": \"The edit was refused: it goes through txedit.\"," \
            "\"agent_message\": \"$refusal\"}"
        ;;
    cursor/tell) echo "{\"permission\": \"allow\", \"agent_message\": \"$advice\"}" ;;
esac
