"""Renames a function across a package, or changes nothing: rename_function.py PACKAGE OLD NEW"""

import sys

import txedit

package, old, new = sys.argv[1:]
with txedit.transaction(package, label=f"{old} becomes {new}") as t:
    found = t.replace(old, new, word=True, globs=["*.py"])
    if any(file.file_path == f"{old}.py" for file in found.file_results):
        t.rename(f"{old}.py", f"{new}.py")

print(f"{found.total_matches} places in {found.files_edited} files; undo: txedit undo {t.report.transaction_id}")
