"""The program: where it is found, how it is ended, and that it is asked in threads and in silence."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from typing import List
from unittest import mock

import txedit
from support import WorkspaceTest, edit, wait_until
from txedit import Options

SOURCES = os.path.dirname(os.path.dirname(os.path.abspath(txedit.__file__)))


def python(script: str, *arguments: str) -> "subprocess.Popen[str]":
    """A Python process that runs a script with this module."""
    environment = dict(os.environ, PYTHONPATH=SOURCES, TXEDIT_BIN=txedit.find_program())
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


class Discovery(unittest.TestCase):
    def setUp(self) -> None:
        self.program = txedit.find_program()
        self.folder = tempfile.mkdtemp(prefix="txedit-python-")
        self.addCleanup(shutil.rmtree, self.folder)

    def test_the_variable_comes_first(self) -> None:
        copy = shutil.copy2(shutil.which("true") or "/bin/true", os.path.join(self.folder, "other"))
        with mock.patch.dict(os.environ, {"TXEDIT_BIN": copy}):
            self.assertEqual(txedit.find_program(), copy)

    def test_then_the_scripts_folders_then_the_path(self) -> None:
        os.mkdir(os.path.join(self.folder, "bin"))
        link = os.path.join(self.folder, "bin", "txedit")
        os.symlink(self.program, link)
        path = {"TXEDIT_BIN": "", "PATH": os.path.dirname(link)}
        with mock.patch("sysconfig.get_path", lambda *_, **__: "/nowhere"), mock.patch("sys.prefix", "/nowhere"):
            with mock.patch.dict(os.environ, path):
                self.assertEqual(txedit.find_program(), link)
            with mock.patch.dict(os.environ, {**path, "PATH": "/nowhere"}):
                with self.assertRaises(txedit.ProgramMissing) as caught:
                    txedit.find_program()
                self.assertIn("TXEDIT_BIN", caught.exception.hint)
        with mock.patch("sysconfig.get_path", lambda *_, **__: os.path.dirname(link)):
            with mock.patch.dict(os.environ, {**path, "PATH": "/nowhere"}):
                self.assertEqual(txedit.find_program(), link)

    def test_python_dash_m_is_the_program(self) -> None:
        environment = dict(os.environ, PYTHONPATH=SOURCES, TXEDIT_BIN=self.program)
        ran = subprocess.run([sys.executable, "-m", "txedit", "--version"], env=environment, capture_output=True)
        self.assertTrue(ran.stdout.startswith(b"txedit "), ran)
        environment["TXEDIT_BIN"] = "/nowhere"
        ran = subprocess.run([sys.executable, "-m", "txedit", "--version"], env=environment, capture_output=True)
        self.assertEqual((ran.returncode, ran.stderr[:7]), (1, b"error: "))


class Ending(WorkspaceTest):
    """Ctrl-C, and time that is over."""

    WAITING = (
        "import json, sys, txedit\n"
        "check = 'touch started; while test -e started; do sleep 0.01; done'\n"
        "options = txedit.Options(check=check, check_in='tree')\n"
        "try:\n"
        "    with txedit.transaction(sys.argv[1], options=options) as t:\n"
        "        t.edit('a.txt', 'one', '1')\n"
        "except KeyboardInterrupt as error:\n"
        "    print(json.dumps([type(error.args[0]).__name__, error.args[0].outcome]))\n"
    )

    def setUp(self) -> None:
        super().setUp()
        self.put("a.txt", "one\n")
        self.before = self.tree()
        self.started = os.path.join(self.root, "started")

    def test_ctrl_c_stops_the_program_and_its_answer_is_read(self) -> None:
        process = python(self.WAITING, self.root)
        wait_until(lambda: os.path.exists(self.started), "the check has started")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.assertEqual(err, "")
        self.assertEqual(json.loads(out), ["Interruption", "rolled_back"])
        os.remove(self.started)
        self.assertEqual(self.tree(), self.before)
        self.assertEqual(self.commits(), 0)

    def test_ctrl_c_without_a_handler_ends_python_as_usual(self) -> None:
        process = python(self.WAITING.replace("except KeyboardInterrupt", "except ZeroDivisionError"), self.root)
        wait_until(lambda: os.path.exists(self.started), "the check has started")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, -signal.SIGINT, err)
        self.assertIn("files: rolled_back", err)

    def test_a_second_ctrl_c_does_not_wait_for_the_program(self) -> None:
        script = (
            "import sys, txedit\n"
            "def tell(_): print('started', flush=True)\n"
            "try:\n"
            "    txedit.run(['sh', '-c', 'rm a.txt; echo x; sleep 60'], on_output=tell, root=sys.argv[1])\n"
            "except KeyboardInterrupt as error:\n"
            "    print(error.args[0].outcome, flush=True)\n"
        )
        process = python(script, self.root)
        assert process.stdout is not None
        self.assertEqual(process.stdout.readline(), "started\n")
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        # The program may have been so quick that it had answered before the second one came.
        self.assertIn(out, ("unknown\n", "unchanged\n"), err)
        # The program discards what was done; nothing of it is ever seen here.
        self.assertEqual(self.tree(), self.before)

    def test_a_commit_that_is_done_when_the_time_is_over_succeeds(self) -> None:
        for timeout in (0.0, 0.001, 0.005, 0.01, 0.02, 0.05):
            self.put("a.txt", "one\n")
            try:
                report = txedit.apply(
                    {"files": [edit("a.txt", "one", "1")]}, root=self.root, options=Options(timeout=timeout)
                )
            except txedit.TimedOut as error:
                self.assertIn(error.outcome, ("unchanged", "rolled_back"))
                self.assertEqual(self.text("a.txt"), "one\n")
            else:
                self.assertEqual(self.text("a.txt"), "1\n")
                self.assertIn(report.transaction_id, [one.transaction_id for one in txedit.log(root=self.root)])

    def test_an_interruption_tells_of_a_commit_that_was_finished(self) -> None:
        what = txedit.Interruption({"success": True, "transaction_id": "T"})
        self.assertEqual((what.outcome, what.transaction_id), ("committed", "T"))
        self.assertEqual(txedit.Interruption({}).outcome, "unknown")


class Requests(WorkspaceTest):
    def test_a_request_that_cannot_be_kept_is_told(self) -> None:
        with mock.patch("tempfile.TemporaryFile", side_effect=OSError(28, "No space left on device")):
            with self.assertRaisesRegex(txedit.IoFailed, "No space left"):
                txedit.apply_patch("x", root=self.root)

    def test_a_long_request_is_sent_whole(self) -> None:
        text = "\u00fc\u20ac line\n" * 1_000_000
        with txedit.transaction(self.root, options=Options(durability="process")) as t:
            t.create("long.txt", text)
        self.assertEqual(self.text("long.txt"), text)


class Threads(WorkspaceTest):
    def test_transactions_of_many_threads_are_all_committed(self) -> None:
        threads, rounds = 8, 5
        for thread in range(threads):
            self.put(f"own/{thread}.txt", "round 0\n")
        self.put("shared.txt", "".join(f"line {thread}: 0\n" for thread in range(threads)))
        failures: List[BaseException] = []

        def work(thread: int) -> None:
            try:
                for number in range(rounds):
                    options = Options(lock_timeout=60, durability="process")
                    with txedit.transaction(self.root, label=f"{thread}", options=options) as t:
                        t.edit(f"own/{thread}.txt", f"round {number}", f"round {number + 1}")
                        t.edit("shared.txt", f"line {thread}: {number}\n", f"line {thread}: {number + 1}\n")
            except BaseException as error:
                failures.append(error)

        workers = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(failures, [])
        self.assertEqual(self.text("shared.txt"), "".join(f"line {thread}: {rounds}\n" for thread in range(threads)))
        for thread in range(threads):
            self.assertEqual(self.text(f"own/{thread}.txt"), f"round {rounds}\n")
        self.assertEqual(self.commits(), threads * rounds)


class Names(WorkspaceTest):
    """Names that are not UTF-8, which no request can represent."""

    BAD = b"bad-\xff.txt"

    def setUp(self) -> None:
        super().setUp()
        with open(os.path.join(os.fsencode(self.root), self.BAD), "wb") as file:
            file.write(b"one\n")
        self.before = self.tree()

    def test_a_transaction_refuses_them_at_once(self) -> None:
        for path in (self.BAD, os.fsdecode(self.BAD), os.path.join(self.root, os.fsdecode(self.BAD))):
            with self.assertRaises(txedit.InvalidRequest) as caught:
                with txedit.transaction(self.root) as t:
                    t.create("good.txt", "")
                    t.edit(path, "one", "1")
            self.assertIn("not UTF-8", caught.exception.message)
        for change in ("delete", "make_folder", "remove_folder"):
            with self.assertRaises(txedit.InvalidRequest):
                with txedit.transaction(self.root) as t:
                    getattr(t, change)(self.BAD)
        with self.assertRaises(txedit.InvalidRequest):
            with txedit.transaction(self.root) as t:
                t.rename("good.txt", self.BAD)
        with self.assertRaises(txedit.InvalidRequest):
            with txedit.transaction(self.root) as t:
                t.replace("one", "1")
        self.assertEqual(self.tree(), self.before)

    def test_a_name_as_answers_write_it_is_not_taken_for_the_file(self) -> None:
        with self.assertRaises(txedit.InvalidRequest):
            with txedit.transaction(self.root) as t:
                t.edit("bad-\\xff.txt", "one", "1")
        self.assertEqual(self.tree(), self.before)

    def test_replace_run_log_and_undo_take_them(self) -> None:
        done = txedit.replace("one", "1", self.BAD, root=self.root)
        self.assertTrue(done.file_results[0].file_path.endswith("bad-\\xff.txt"))
        self.assertEqual(self.tree()[self.BAD], b"1\n")
        txedit.run([b"sh", b"-c", b"echo 2 > " + self.BAD], root=self.root)
        self.assertEqual(self.tree()[self.BAD], b"2\n")
        self.assertEqual(len(txedit.log(path=self.BAD, root=self.root)), 2)
        txedit.undo(last=2, root=self.root)
        self.assertEqual(self.tree(), self.before)

    def test_the_root_may_have_one(self) -> None:
        root = os.path.join(self.root, os.fsdecode(b"root-\xfe"))
        os.mkdir(root)
        with txedit.transaction(root) as t:
            t.create("a.txt", "one\n")
        with txedit.transaction(root) as t:
            t.replace("one", "1", "a.txt")
        self.assertEqual(len(txedit.log(root=root)), 2)

    def test_bytes_and_path_objects_are_paths(self) -> None:
        import pathlib

        with txedit.transaction(pathlib.Path(self.root)) as t:
            t.create(pathlib.PurePosixPath("dir/a.txt"), "a")
            t.create("\u00fc \u20ac\n'\"$.txt".encode(), "b")
        self.assertEqual(self.tree()["\u00fc \u20ac\n'\"$.txt".encode()], b"b")


class Silence(WorkspaceTest):
    def test_nothing_is_printed(self) -> None:
        self.put("a.txt", "one\n")
        script = (
            "import sys, txedit\n"
            "root = sys.argv[1]\n"
            "options = txedit.Options(check='echo loud; echo loud >&2')\n"
            "with txedit.transaction(root, options=options) as t:\n"
            "    t.replace('one', 'two')\n"
            "    t.preview()\n"
            "txedit.run(['sh', '-c', 'echo loud; echo loud >&2'], root=root)\n"
            "txedit.log(root=root), txedit.status(root=root), txedit.undo(root=root)\n"
            "try:\n"
            "    txedit.apply({'files': []}, root=root)\n"
            "except txedit.InvalidRequest:\n"
            "    pass\n"
        )
        process = python(script, self.root)
        self.assertEqual((*process.communicate(timeout=60), process.returncode), ("", "", 0))


if __name__ == "__main__":
    unittest.main()
