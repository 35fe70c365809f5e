// What becomes of an edit that opencode makes with its own editor: docs/hooks.md. A plugin, for .opencode/plugins/.
import path from "node:path"

const EDITORS = new Set(["edit", "write", "multiedit", "patch", "apply_patch"])

// allow, tell or refuse.
const choice = process.env.TXEDIT_HOOK ?? "refuse"

const advice =
  "In this project, files are changed through the MCP server txedit: multi_edit for one file, multi_edit_files for " +
  "several at once, all or nothing, or apply_patch."

// Plans and notes outside of the project are the agent's own. A patch, which has no path, counts as inside.
const isInside = (root, file) => {
  if (!file) return true
  const relative = path.relative(root, path.resolve(root, file))
  return relative !== ".." && !relative.startsWith(".." + path.sep)
}

export const TxeditHook = async ({ directory, worktree }) => {
  const concerns = (tool, args) => EDITORS.has(tool) && isInside(worktree || directory, args?.filePath)
  return {
    "tool.execute.before": async (input, output) => {
      if (choice === "refuse" && concerns(input.tool, output.args)) {
        throw new Error(advice + " This call was refused, and nothing was changed.")
      }
    },
    "tool.execute.after": async (input, output) => {
      if (choice === "tell" && concerns(input.tool, input.args)) output.output += "\n" + advice
    },
  }
}
