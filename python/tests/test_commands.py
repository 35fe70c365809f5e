"""The functions beside the transaction."""

import os
import unittest
from typing import List

import txedit
from support import WorkspaceTest, edit
from txedit import Options

PATCH = """\
--- a/a.txt
+++ b/a.txt
@@ -1,2 +1,2 @@
-one
+1
 two
"""


class Commands(WorkspaceTest):
    def setUp(self) -> None:
        super().setUp()
        self.put("a.txt", "one\ntwo\n")
        self.put("sub/b.txt", "one\n")
        self.before = self.tree()

    def test_apply_and_its_dry_run(self) -> None:
        request: txedit.Request = {
            "files": [{"file_path": "a.txt", "edits": [{"old_string": "one", "new_string": "1"}]}],
            "label": "typed",
            "include_content": True,
        }
        planned = txedit.apply(request, dry_run=True, root=self.root)
        self.assertEqual(self.tree(), self.before)
        self.assertIn("-one\n+1\n", planned.diff)
        report = txedit.apply(request, root=self.root)
        (file,) = report.file_results
        self.assertEqual((file.file_path, file.operation, file.final_content), ("a.txt", "edit", "1\ntwo\n"))
        self.assertEqual(file.hash_after, planned.file_results[0].hash_after)
        self.assertEqual(report.diff, "")

    def test_a_retry_with_a_key_gets_the_first_answer(self) -> None:
        request = {"files": [edit("a.txt", "one", "1")], "idempotency_key": "k"}
        first = txedit.apply(request, root=self.root)
        again = txedit.apply(request, root=self.root)
        self.assertEqual((again.transaction_id, again.already_applied), (first.transaction_id, True))
        self.assertIs(again.file_results[0].in_place, True)

    def test_a_patch_is_applied_from_text_and_bytes(self) -> None:
        self.assertEqual(txedit.apply_patch(PATCH, dry_run=True, root=self.root).files_edited, 1)
        self.assertEqual(self.tree(), self.before)
        txedit.apply_patch(PATCH, format="diff", root=self.root)
        self.assertEqual(self.text("a.txt"), "1\ntwo\n")
        with open(os.path.join(self.root, "latin.txt"), "wb") as file:
            file.write(b"\xe9\n")
        latin = b"--- a/latin.txt\n+++ b/latin.txt\n@@ -1 +1 @@\n-\xe9\n+\xe8\n"
        for patch in (latin, latin.decode("utf-8", "surrogateescape")):
            txedit.apply_patch(patch, root=self.root)
            self.assertEqual(self.tree()[b"latin.txt"], b"\xe8\n")
            txedit.undo(root=self.root)
        blocks = "a.txt\n<<<<<<< SEARCH\none  \n=======\n1\n>>>>>>> REPLACE\n"
        with self.assertRaises(txedit.EditNotApplied):
            txedit.apply_patch(blocks, root=self.root)
        txedit.undo(root=self.root)
        txedit.apply_patch(blocks, match="tolerant", root=self.root)

    def test_replace(self) -> None:
        self.put(".hidden", "one\n")
        planned = txedit.replace("one", "--1", dry_run=True, root=self.root)
        self.assertEqual((planned.files_edited, planned.transaction_id), (2, None))
        self.assertIn("+--1\n", planned.diff)
        done = txedit.replace("one", "--1", "sub", hidden=True, max_files=1, root=self.root)
        self.assertEqual([file.matches for file in done.file_results], [1])
        self.assertEqual((self.text("a.txt"), self.text("sub/b.txt")), ("one\ntwo\n", "--1\n"))
        txedit.replace("--1", "one", root=self.root)
        with self.assertRaises(txedit.EditNotApplied):
            txedit.replace("one", "1", expected_matches=9, root=self.root)
        done = txedit.replace(r"(\w)ne", "$1", regex=True, globs=["*.txt", "!sub"], root=self.root)
        self.assertEqual((done.files_edited, self.text("a.txt")), (1, "o\ntwo\n"))

    def test_run(self) -> None:
        pieces: List[bytes] = []
        self.put(".gitignore", "ignored\n")
        script = "echo out; echo err >&2; echo 1 > a.txt; echo x > ignored; echo y > c.tmp; cat"
        report = txedit.run(
            ["sh", "-c", script], label="script", exclude=["*.tmp"], on_output=pieces.append, root=self.root
        )
        self.assertEqual(sorted(b"".join(pieces).split()), [b"err", b"out"])
        assert report.program is not None
        self.assertEqual((report.program.ended, report.files_edited), ("passed", 1))
        self.assertIn(report.program.in_, ("view", "copy"))
        self.assertEqual({left.reason: left.files for left in report.program.left_out}["ignored"], ("ignored",))
        self.assertEqual(self.text("a.txt"), "1\n")
        self.assertEqual(txedit.log(root=self.root)[0].label, "script")
        self.assertIn("+x", txedit.run(["sh", "-c", "echo x > a.txt"], dry_run=True, root=self.root).diff)
        kept = txedit.run(["sh", "-c", "echo z > z.txt; exit 3"], keep_on_failure=True, root=self.root)
        self.assertEqual(kept.files_edited, 1)
        self.assertIsNone(txedit.run(["true"], root=self.root).transaction_id)

    def test_an_exception_of_on_output_stops_the_program(self) -> None:
        def stop(_: bytes) -> None:
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            txedit.run(["sh", "-c", "rm a.txt; echo x; sleep 60"], on_output=stop, root=self.root)
        self.assertEqual(self.tree(), self.before)
        self.assertEqual(self.commits(), 0)

    def test_undo_redo_and_log(self) -> None:
        session = Options(session="mine")
        first = txedit.apply({"files": [edit("a.txt", "one", "1")], "label": "first"}, root=self.root, options=session)
        after = self.tree()
        second = txedit.apply({"files": [edit("sub/b.txt", "one", "1")]}, root=self.root)
        self.assertEqual([one.session for one in txedit.log(root=self.root)], [None, "mine"])
        self.assertEqual(len(txedit.log(session="mine", root=self.root)), 1)
        self.assertEqual(len(txedit.log(path="sub", root=self.root)), 1)
        self.assertEqual(len(txedit.log(limit=1, root=self.root)), 1)

        self.assertIn("+one", txedit.undo(dry_run=True, root=self.root).diff)
        self.assertEqual([one.transaction_id for one in txedit.undo(root=self.root).reverts], [second.transaction_id])
        self.assertEqual(self.tree(), after)
        undone = txedit.undo(session="mine", root=self.root)
        self.assertEqual([(one.transaction_id, one.label) for one in undone.reverts], [(first.transaction_id, "first")])
        self.assertEqual(self.tree(), self.before)
        txedit.redo(undone.transaction_id, root=self.root)
        txedit.redo(root=self.root)
        both = txedit.undo(last=2, root=self.root, dry_run=True)
        self.assertEqual(len(both.reverts), 2)
        since = txedit.undo(since=first.transaction_id, root=self.root, dry_run=True)
        self.assertEqual([file.file_path for file in since.file_results if file.operation != "none"], ["sub/b.txt"])

    def test_what_was_reviewed_is_applied_and_what_is_missing_is_skipped(self) -> None:
        request: txedit.Request = {
            "files": [
                {"file_path": "a.txt", "edits": [{"old_string": "one", "new_string": "1"}]},
                {"file_path": "gone.txt", "if_missing": "skip", "edits": [{"old_string": "x", "new_string": "y"}]},
            ],
            "idempotency_key": "k",
        }
        planned = txedit.apply(request, dry_run=True, root=self.root)
        assert planned.plan_hash is not None
        self.put("a.txt", "one\nchanged\n")
        with self.assertRaises(txedit.Conflict):
            txedit.apply(request, plan_hash=planned.plan_hash, root=self.root)
        planned = txedit.apply(request, dry_run=True, root=self.root)
        report = txedit.apply(request, plan_hash=planned.plan_hash, campaign="all", root=self.root)
        self.assertEqual([file.skipped for file in report.file_results], [False, True])
        self.assertEqual([one.campaign for one in txedit.log(campaign="all", root=self.root)], ["all"])
        txedit.undo(campaign="all", root=self.root)
        self.assertTrue(txedit.apply(request, root=self.root).already_applied)
        self.assertFalse(txedit.apply(request, again=True, root=self.root).already_applied)
        nothing = txedit.apply({"files": request["files"][1:]}, root=self.root)
        self.assertEqual((nothing.outcome, nothing.transaction_id), ("nothing_to_do", None))

    def test_an_undo_can_be_rebased(self) -> None:
        txedit.apply({"files": [edit("a.txt", "one", "1")]}, root=self.root)
        self.put("a.txt", "1\n\n\n\n\ntwo\nthree\n")
        with self.assertRaises(txedit.Conflict):
            txedit.undo(root=self.root)
        txedit.undo(rebase=True, root=self.root)
        self.assertEqual(self.text("a.txt"), "one\n\n\n\n\ntwo\nthree\n")

    def test_a_check_is_told(self) -> None:
        checked = Options(check="grep -q 1 a.txt", check_in="view", check_timeout=10, lock_timeout=1.5)
        report = txedit.apply({"files": [edit("a.txt", "one", "1")]}, root=self.root, options=checked)
        assert report.check is not None
        self.assertEqual((report.check.ended, report.check.in_), ("passed", "view"))

    def test_status_is_empty_and_writes_nothing(self) -> None:
        status = txedit.status(root=self.root)
        self.assertEqual((status.interrupted, status.open, status.kept, status.is_ignored), ((), (), (), False))
        self.assertNotIn(".txedit", os.listdir(self.root))

    def test_without_a_root_it_is_that_of_the_current_folder(self) -> None:
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.mkdir(os.path.join(self.root, ".git"))
        os.chdir(os.path.join(self.root, "sub"))
        txedit.apply({"files": [edit("a.txt", "one", "1")]})
        self.assertEqual(txedit.replace("one", "1").files_edited, 1)
        self.assertEqual(len(txedit.log()), 2)


class UnknownFields(unittest.TestCase):
    """An answer of a newer program, and one of an older program."""

    def test_they_are_kept_and_missing_ones_have_defaults(self) -> None:
        from txedit import _answers

        answer = {
            "success": True,
            "schema_version": 9,
            "file_results": [{"file_path": "a", "new": {"x": 1}, "edits": [{"lines": [1, 2], "how": "?"}]}, {}],
            "check": {"in": "moon", "ended": None},
            "reverts_each": [{"transaction_id": "T", "why": "?"}],
        }
        report = _answers.report(answer)
        self.assertEqual(report.raw["schema_version"], 9)
        self.assertEqual(report.file_results[0].raw["new"], {"x": 1})
        self.assertEqual(report.file_results[0].edits[0].lines, (1, 2))
        self.assertEqual(report.file_results[1], txedit.FileResult())
        assert report.check is not None
        self.assertEqual((report.check.in_, report.check.ended), ("moon", ""))
        self.assertEqual(report.reverts[0].transaction_id, "T")

    def test_so_are_those_of_a_failure(self) -> None:
        from txedit._errors import error_for

        error = error_for({"success": False, "error_code": "SOMETHING_NEW", "outcome": "unchanged", "more": 1}, 5)
        self.assertIs(type(error), txedit.TxeditError)
        self.assertEqual((error.code, error.answer["more"]), ("SOMETHING_NEW", 1))
        self.assertEqual(error_for({}).outcome, "unknown")


if __name__ == "__main__":
    unittest.main()
