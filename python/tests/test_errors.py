"""Each exception, from a real failure of the real program."""

import glob
import os
import pickle
import signal
import sys
import threading
import unittest
from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional, Type
from unittest import mock

import txedit
from support import WorkspaceTest, edit, wait_until
from txedit import Options


class Errors(WorkspaceTest):
    def setUp(self) -> None:
        super().setUp()
        for name in ("a.txt", "b.txt"):
            self.put(name, "one\ntwo\ntwo\n")
        self.before = self.tree()

    def fails(
        self, kind: Type[txedit.TxeditError], code: str, act: Callable[[], object], outcome: str = "unchanged"
    ) -> txedit.TxeditError:
        """The error of a call, which has this class and code, and after which the files are as it says."""
        with self.assertRaises(txedit.TxeditError) as caught:
            act()
        error = caught.exception
        self.assertIs(type(error), kind, str(error))
        self.assertEqual((error.code, error.outcome), (code, outcome))
        self.assertTrue(error.message)
        if outcome in ("unchanged", "rolled_back"):
            self.assertEqual(self.tree(), self.before)
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(copy), copy.code, copy.answer), (kind, code, error.answer))
        return error

    def apply(self, *files: Dict[str, Any], options: Optional[Options] = None, **fields: Any) -> txedit.Report:
        return txedit.apply({"files": list(files), **fields}, root=self.root, options=options)

    def test_invalid_request(self) -> None:
        def invalid(code: str, act: Callable[[], object]) -> txedit.TxeditError:
            return self.fails(txedit.InvalidRequest, code, act)

        error = invalid("VALIDATION_FAILED", lambda: self.apply(edit("a.txt", "one", "1"), dryrun=True))
        self.assertIn("dryrun", error.message)
        self.assertIsInstance(error, ValueError)
        self.assertEqual(error.exit_status, 2)
        invalid("VALIDATION_FAILED", lambda: self.apply())
        invalid("VALIDATION_FAILED", lambda: self.apply({"file_path": 7}))
        invalid("EMPTY_OLD_STRING", lambda: self.apply(edit("a.txt", "", "1")))
        invalid("DUPLICATE_FILE_PATH", lambda: self.apply(edit("a.txt", "one", "1"), edit("./a.txt", "two", "2")))
        invalid("PATH_TRAVERSAL", lambda: self.apply(edit("../a.txt", "one", "1")))

        def by_two_names() -> None:
            with txedit.transaction(self.root) as t:
                t.edit("a.txt", "one", "1")
                t.edit("sub/../a.txt", "two", "2")

        invalid("PATH_TRAVERSAL", by_two_names)
        invalid("INVALID_PATTERN", lambda: txedit.replace("(", "x", regex=True, root=self.root))
        invalid("PATCH_PARSE_FAILED", lambda: txedit.apply_patch("no patch", root=self.root))
        invalid("REQUEST_TOO_LARGE", lambda: txedit.replace("x" * 200_000, "y", root=self.root))
        error = invalid("VALIDATION_FAILED", lambda: txedit.log(root=os.path.join(self.root, "nowhere")))
        self.assertIn("nowhere", error.message)
        error = invalid("VALIDATION_FAILED", lambda: self.apply({"file_path": 1}, {"file_path": 2}, {"file_path": 3}))
        self.assertEqual([finding["path"][1] for finding in error.findings], ["0", "1", "2"])

    def test_what_no_request_can_represent(self) -> None:
        class Odd:
            pass

        deep: List[Any] = []
        for _ in range(100_000):
            deep = [deep]
        for value in (Odd(), {1, 2}, float("nan"), b"bytes", "\udcff", deep):
            error = self.fails(
                txedit.InvalidRequest, "VALIDATION_FAILED", lambda: self.apply(edit("a.txt", "one", "1"), label=value)
            )
            self.assertIsNone(error.exit_status)
        self.fails(txedit.InvalidRequest, "VALIDATION_FAILED", lambda: txedit.undo("a\0b", root=self.root))
        self.fails(txedit.InvalidRequest, "VALIDATION_FAILED", lambda: txedit.undo("\ud800", root=self.root))

    def test_not_allowed(self) -> None:
        self.fails(txedit.NotAllowed, "OUTSIDE_ROOT", lambda: self.apply({"file_path": "/etc/passwd", "delete": True}))
        self.fails(txedit.NotAllowed, "PATH_DENIED", lambda: self.apply({"file_path": ".git/config", "content": ""}))
        denied = Options(deny=("*.txt",))
        self.fails(txedit.NotAllowed, "PATH_DENIED", lambda: self.apply(edit("a.txt", "one", "1"), options=denied))
        with_check = lambda: self.apply(edit("a.txt", "one", "1"), check=["true"])
        self.fails(txedit.NotAllowed, "CHECKS_NOT_ALLOWED", with_check)
        self.apply(edit("a.txt", "one", "1"), check=["true"], options=Options(allow_checks=True))

    def test_not_found_and_already_exists(self) -> None:
        error = self.fails(txedit.NotFound, "FILE_NOT_FOUND", lambda: self.apply(edit("A.txt", "one", "1")))
        self.assertEqual(error.file, "A.txt")
        self.assertEqual(error.findings[0]["did_you_mean"], os.path.join(self.root, "a.txt"))
        both = lambda: self.apply({"file_path": "no", "delete": True}, {"file_path": "a.txt", "content": ""})
        self.fails(txedit.InvalidRequest, "VALIDATION_FAILED", both)
        create = lambda: self.apply({"file_path": "a.txt", "content": ""})
        self.assertEqual(self.fails(txedit.AlreadyExists, "FILE_EXISTS", create).file, "a.txt")

    def test_edit_not_applied(self) -> None:
        kind = txedit.EditNotApplied
        error = self.fails(kind, "MATCH_NOT_FOUND", lambda: self.apply(edit("a.txt", "o n e", "1")))
        self.assertIn("1 | one", error.context["snippet"])
        self.assertEqual((error.file, error.edit, error.exit_status), ("a.txt", 0, 1))
        error = self.fails(kind, "AMBIGUOUS_MATCH", lambda: self.apply(edit("a.txt", "two", "2")))
        self.assertEqual([place["line"] for place in error.context["match_locations"]], [2, 3])
        counted = {"file_path": "a.txt", "edits": [{"old_string": "two", "new_string": "2", "expected_matches": 3}]}
        self.fails(kind, "MATCH_COUNT_MISMATCH", lambda: self.apply(counted))
        self.fails(kind, "MATCH_NOT_FOUND", lambda: txedit.replace("three", "3", root=self.root))

    def test_conflict(self) -> None:
        stale = {**edit("a.txt", "one", "1"), "expected_hash": "0" * 64}
        self.fails(txedit.Conflict, "HASH_MISMATCH", lambda: self.apply(stale))
        self.apply(edit("a.txt", "one", "1"))
        self.put("a.txt", "another program\n")
        self.before = self.tree()
        error = self.fails(txedit.Conflict, "UNDO_CONFLICT", lambda: txedit.undo(root=self.root))
        self.assertEqual(error.answer["conflicts"], ["a.txt"])
        self.assertTrue(error.context["conflicts"][0]["by_another_program"])
        go = threading.Timer(0.5, lambda: self.put("b.txt", "another program\n"))
        go.start()
        self.addCleanup(go.join)
        command = ["sh", "-c", "echo the program > b.txt; sleep 1"]
        with self.assertRaises(txedit.Conflict) as caught:
            txedit.run(command, root=self.root)
        self.assertEqual((caught.exception.code, self.text("b.txt")), ("CONCURRENT_MODIFICATION", "another program\n"))

    def test_lock_timeout(self) -> None:
        started = os.path.join(self.root, "started")
        slow = Options(check="touch started; while test -e started; do sleep 0.01; done", check_in="tree")
        thread = threading.Thread(target=lambda: self.apply(edit("a.txt", "one", "1"), options=slow))
        thread.start()
        wait_until(lambda: os.path.exists(started), "the check has started")
        self.before = self.tree()
        impatient = Options(lock_timeout=0.1)
        act = lambda: self.apply(edit("b.txt", "one", "1"), options=impatient)
        self.assertTrue(self.fails(txedit.LockTimeout, "LOCK_TIMEOUT", act).retryable)
        os.remove(started)
        thread.join()
        self.assertEqual(self.text("a.txt"), "1\ntwo\ntwo\n")

    def test_unknown_transaction(self) -> None:
        self.fails(txedit.UnknownTransaction, "UNKNOWN_TRANSACTION", lambda: txedit.undo("--x", root=self.root))
        self.fails(txedit.UnknownTransaction, "UNKNOWN_TRANSACTION", lambda: txedit.undo(root=self.root))
        self.fails(txedit.UnknownTransaction, "UNKNOWN_TRANSACTION", lambda: txedit.redo(root=self.root))

    def test_a_check_and_a_program_that_fail(self) -> None:
        in_tree = Options(check="echo no; exit 3", check_in="tree")
        for failing, outcome in ((in_tree, "rolled_back"), (replace(in_tree, check_in="view"), "unchanged")):
            act = lambda: self.apply(edit("a.txt", "one", "1"), options=failing)
            error = self.fails(txedit.CheckFailed, "CHECK_FAILED", act, outcome)
            self.assertEqual(error.context["check"]["output"], "no\n")
        command = ["sh", "-c", "echo out; echo err >&2; rm *.txt; exit 3"]
        error = self.fails(txedit.ProgramFailed, "PROGRAM_FAILED", lambda: txedit.run(command, root=self.root))
        self.assertEqual(sorted(error.context["program"]["output"].split()), ["err", "out"])
        act = lambda: txedit.run(["sleep", "30"], time_limit=0.1, root=self.root)
        self.assertIn("too long", self.fails(txedit.ProgramFailed, "PROGRAM_FAILED", act).message)

    def test_time_is_over(self) -> None:
        options = Options(check="sleep 30", check_in="view", timeout=0.3)
        error = self.fails(txedit.TimedOut, "CANCELLED", lambda: self.apply(edit("a.txt", "one", "1"), options=options))
        self.assertIsInstance(error, TimeoutError)
        self.assertIsInstance(error, txedit.Cancelled)
        options = Options(timeout=0.3)
        act = lambda: txedit.run(["sleep", "30"], root=self.root, options=options)
        self.fails(txedit.TimedOut, "CANCELLED", act)

    def test_a_signal_cancels(self) -> None:
        options = Options(check="kill -INT $PPID; sleep 30", check_in="tree")
        act = lambda: self.apply(edit("a.txt", "one", "1"), options=options)
        self.assertEqual(self.fails(txedit.Cancelled, "CANCELLED", act, "rolled_back").exit_status, 130)

    def test_io_failed(self) -> None:
        os.chmod(os.path.join(self.root, "a.txt"), 0o444)
        self.fails(txedit.IoFailed, "PERMISSION_DENIED", lambda: self.apply(edit("a.txt", "one", "1")))

    def test_not_restored(self) -> None:
        # The old contents are lost: nobody can restore the files.
        options = Options(check="rm .txedit/txn/*/0*; exit 1", check_in="tree")
        act = lambda: self.apply(edit("a.txt", "one", "1"), options=options)
        error = self.fails(txedit.NotRestored, "CHECK_FAILED", act, "partly_rolled_back")
        self.assertEqual([file["path"] for file in error.answer["not_restored"]], [os.path.join(self.root, "a.txt")])
        self.assertEqual(error.exit_status, 6)

    def test_no_answer_and_recovery(self) -> None:
        options = Options(check="kill -9 $PPID", check_in="tree")
        act = lambda: self.apply(edit("a.txt", "one", "1"), edit("b.txt", "one", "1"), options=options)
        error = self.fails(txedit.NoAnswer, "NO_ANSWER", act, "unknown")
        self.assertEqual(error.exit_status, -signal.SIGKILL)
        (interrupted,) = txedit.status(root=self.root).interrupted
        self.assertEqual((interrupted.action, interrupted.running), ("back", False))
        self.assertEqual([file.class_ for file in interrupted.file_results], ["done", "done"])
        # The next call that writes restores both files first.
        self.apply({"file_path": "c.txt", "content": "", "if_exists": "replace"}, edit("a.txt", "one", "eins"))
        self.assertEqual((self.text("a.txt"), self.text("b.txt")), ("eins\ntwo\ntwo\n", "one\ntwo\ntwo\n"))

    def test_recovery_required(self) -> None:
        self.apply(edit("a.txt", "one", "1"))
        (journal,) = glob.glob(os.path.join(self.root, ".txedit/history/**/journal*"), recursive=True)
        with open(journal, "r+b") as file:
            file.write(b"damaged")
        # It may have been the same request: only a person can tell.
        self.before = self.tree()
        act = lambda: self.apply(edit("b.txt", "one", "1"), idempotency_key="key")
        error = self.fails(txedit.RecoveryRequired, "RECOVERY_REQUIRED", act)
        self.assertEqual(error.exit_status, 6)
        # A status that a person must act on is told, though the program's exit status is not 0.
        (unreadable,) = txedit.status(root=self.root).unreadable
        self.assertIn(unreadable.transaction_id, error.hint)

    def test_program_missing(self) -> None:
        kind, code = txedit.ProgramMissing, "PROGRAM_MISSING"
        with mock.patch.dict(os.environ, {"TXEDIT_BIN": "/nowhere/txedit"}):
            self.fails(kind, code, lambda: self.apply(edit("a.txt", "one", "1")))
        self.put("no-program", "#!/nowhere\n")
        os.chmod(os.path.join(self.root, "no-program"), 0o755)
        self.before = self.tree()
        for program in ("no-program", "nowhere", "a.txt", "."):
            options = Options(program=os.path.join(self.root, program))
            self.fails(kind, code, lambda: self.apply(edit("a.txt", "one", "1"), options=options))

    def test_a_program_that_is_another_one_gives_no_answer(self) -> None:
        act = lambda: txedit.log(root=self.root, options=Options(program=sys.executable))
        error = self.fails(txedit.NoAnswer, "NO_ANSWER", act, "unknown")
        self.assertIn("status 2", error.message)


if __name__ == "__main__":
    unittest.main()
