"""A transaction as a `with` block."""

import os
import unittest

import txedit
from support import WorkspaceTest


class Transactions(WorkspaceTest):
    def setUp(self) -> None:
        super().setUp()
        self.put("src/greet.py", "def greet():\n    print('hello')\n")
        self.put("src/main.py", "from greet import greet\n\ngreet()\ngreet()\n")
        self.put("old.txt", "old\n")
        self.before = self.tree()

    def test_all_kinds_of_changes_are_one_commit(self) -> None:
        os.mkdir(os.path.join(self.root, "empty"))
        with txedit.transaction(self.root, label="all kinds") as t:
            t.edit("src/greet.py", "def greet", "def welcome")
            t.edit("src/greet.py", "'hello'", "'welcome'")
            t.rename("src/greet.py", "src/welcome.py")
            t.edit("src/welcome.py", "print", "return str")
            t.edit("src/main.py", "greet", "welcome", expected_matches=4)
            t.create("new/deep/a.txt", "new\n", mode=0o755)
            t.write("old.txt", "written\n")
            t.symlink("link", "old.txt")
            t.make_folder("made", mode=0o700)
            t.remove_folder("empty")
            t.set_mode("src/main.py", 0o600)
        self.assertEqual(self.text("src/welcome.py"), "def welcome():\n    return str('welcome')\n")
        self.assertEqual(self.text("src/main.py"), "from welcome import welcome\n\nwelcome()\nwelcome()\n")
        self.assertEqual(self.text("old.txt"), "written\n")
        self.assertEqual(os.readlink(os.path.join(self.root, "link")), "old.txt")
        self.assertFalse(os.path.exists(os.path.join(self.root, "src/greet.py")))
        self.assertFalse(os.path.exists(os.path.join(self.root, "empty")))
        modes = {"made": 0o700, "src/main.py": 0o600, "new/deep/a.txt": 0o755}
        for path, mode in modes.items():
            self.assertEqual(os.stat(os.path.join(self.root, path)).st_mode & 0o777, mode, path)

        (logged,) = txedit.log(root=self.root)
        self.assertEqual((logged.transaction_id, logged.label), (t.report.transaction_id, "all kinds"))
        operations = {file.file_path: file.operation for file in t.report.file_results}
        self.assertEqual(operations["new/deep/a.txt"], "create")
        self.assertEqual(t.report.file_results[0].edits[0].lines, (1,))

        txedit.undo(t.report.transaction_id, root=self.root)
        self.assertEqual(self.tree(), self.before)

    def test_an_exception_in_the_block_changes_nothing(self) -> None:
        for error in (RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit):
            with self.assertRaises(error):
                with txedit.transaction(self.root) as t:
                    t.edit("old.txt", "old", "new")
                    t.create("new.txt", "new\n")
                    raise error()
            self.assertEqual(self.tree(), self.before)
            with self.assertRaises(RuntimeError):
                t.report
        self.assertEqual(self.commits(), 0)

    def test_a_failing_edit_changes_nothing_and_is_named(self) -> None:
        with self.assertRaises(txedit.EditNotApplied) as caught:
            with txedit.transaction(self.root) as t:
                t.create("new.txt", "new\n")
                t.edit("src/main.py", "from greet", "from welcome")
                t.edit("src/main.py", "gret()", "welcome()")
        error = caught.exception
        self.assertEqual((error.code, error.file, error.edit), ("MATCH_NOT_FOUND", "src/main.py", 1))
        self.assertEqual((error.outcome, error.exit_status), ("unchanged", 1))
        self.assertIn("greet()", error.context["snippet"])
        self.assertIn("src/main.py", str(error))
        self.assertEqual(self.tree(), self.before)

    def test_a_preview_shows_the_diff_and_changes_nothing(self) -> None:
        with txedit.transaction(self.root) as t:
            self.assertEqual(t.preview().diff, "")
            t.edit("old.txt", "old", "new")
            preview = t.preview()
            self.assertTrue(preview.dry_run)
            self.assertIsNone(preview.transaction_id)
            self.assertIn("-old\n+new\n", preview.diff)
            self.assertEqual(self.tree(), self.before)
            t.discard()
        self.assertEqual(self.tree(), self.before)
        with self.assertRaisesRegex(RuntimeError, "discarded"):
            t.report

    def test_a_block_without_changes_commits_nothing(self) -> None:
        with txedit.transaction(self.root) as t:
            pass
        self.assertIsNone(t.report.transaction_id)
        self.assertEqual(os.listdir(self.root).count(".txedit"), 0)

    def test_a_transaction_is_used_once_and_in_its_block(self) -> None:
        t = txedit.transaction(self.root)
        with self.assertRaisesRegex(RuntimeError, "with block"):
            t.create("a.txt", "a\n")
        with t:
            t.create("a.txt", "a\n")
            with self.assertRaisesRegex(RuntimeError, "another one"):
                t.__enter__()
        with self.assertRaisesRegex(RuntimeError, "with block"):
            t.create("b.txt", "b\n")
        with self.assertRaisesRegex(RuntimeError, "another one"):
            t.__enter__()
        self.assertEqual(self.commits(), 1)

    def test_a_nested_transaction_is_one_by_itself(self) -> None:
        with self.assertRaises(ZeroDivisionError):
            with txedit.transaction(self.root, label="outer") as outer:
                outer.edit("old.txt", "old", "outer")
                with txedit.transaction(self.root, label="inner") as inner:
                    inner.create("inner.txt", "inner\n")
                self.assertEqual(self.text("inner.txt"), "inner\n")
                raise ZeroDivisionError
        self.assertEqual(self.text("old.txt"), "old\n")
        self.assertEqual([one.label for one in txedit.log(root=self.root)], ["inner"])

        with txedit.transaction(self.root) as outer:
            outer.edit("old.txt", "old", "outer")
            with txedit.transaction(self.root) as inner:
                inner.edit("old.txt", "old\n", "old\ninner\n")
        self.assertEqual(self.text("old.txt"), "outer\ninner\n")

    def test_two_names_are_swapped_and_a_vacated_one_is_used_again(self) -> None:
        self.put("a", "a")
        self.put("b", "b")
        with txedit.transaction(self.root) as t:
            t.rename("a", "b")
            t.rename("b", "a")
            t.edit("a", "a", "A")
        self.assertEqual((self.text("a"), self.text("b")), ("b", "A"))
        with txedit.transaction(self.root) as t:
            t.rename("a", "c")
            t.create("a", "new")
            t.edit("c", "b", "B")
        self.assertEqual((self.text("a"), self.text("c")), ("new", "B"))

    def test_a_mode_comes_in_addition_before_and_after_other_changes(self) -> None:
        for name in "abcd":
            self.put(name, name)
        with txedit.transaction(self.root) as t:
            t.set_mode("a", 0o700)
            t.write("a", "A")
            t.set_mode("b", 0o700)
            t.rename("b", "B")
            t.rename("c", "C")
            t.set_mode("C", 0o700)
            t.set_mode("d", 0o700)
            t.edit("d", "d", "D")
        self.assertEqual(len(t.report.file_results), 4)
        for name, text in {"a": "A", "B": "b", "C": "c", "d": "D"}.items():
            self.assertEqual(self.text(name), text)
            self.assertEqual(os.stat(os.path.join(self.root, name)).st_mode & 0o777, 0o700, name)

    def test_2000_files_are_one_transaction(self) -> None:
        for index in range(1_000):
            self.put(f"many/{index % 10}/{index}.txt", f"number {index}\n")
        with txedit.transaction(self.root, options=txedit.Options(durability="process")) as t:
            for index in range(1_000):
                t.edit(f"many/{index % 10}/{index}.txt", "number", "Nummer")
                t.create(f"new/{index % 10}/{index}.txt", f"Nummer {index}\n" * 100)
        self.assertEqual(t.report.files_edited, 2_000)
        for index in range(1_000):
            self.assertEqual(self.text(f"many/{index % 10}/{index}.txt"), f"Nummer {index}\n")
            self.assertEqual(self.text(f"new/{index % 10}/{index}.txt"), f"Nummer {index}\n" * 100)
        txedit.undo(root=self.root, options=txedit.Options(durability="process"))
        self.assertEqual(self.text("many/7/7.txt"), "number 7\n")
        self.assertFalse(os.path.exists(os.path.join(self.root, "new")))


class ReplacementsInATransaction(WorkspaceTest):
    TEXTS = {
        "a.py": "def greet():\r\n    pass\n\ngreet()\nregreet()\r\ngreet() + greet()\nend\n",
        "b.py": "import greet",
        "sub/c.py": "greet\n" * 500,
        "sub/d.py": "x\ngreet\nx\n\nx\ngreet\nx\n",
        "none.py": "nothing\n",
        "e.txt": "greet, \u00fc\u20ac\n\r\n\ngreet",
    }

    def setUp(self) -> None:
        super().setUp()
        for path, text in self.TEXTS.items():
            self.put(path, text)

    def test_it_does_what_a_replacement_by_itself_does(self) -> None:
        before = self.tree()
        patterns = [
            ("greet", "welcome", False, False),
            ("greet", "welcome", True, False),
            (r"greet\b(\(\))?", "[$1]", False, True),
            (r"x\n", "", False, True),
            ("\nx\n", "\ny\n", False, False),
            (r"(?s).*", "all", False, True),
            ("greet\n", "", False, False),
        ]
        for pattern, replacement, word, regex in patterns:
            with self.subTest(pattern=pattern, word=word, regex=regex):
                expected = txedit.replace(pattern, replacement, word=word, regex=regex, root=self.root)
                after = self.tree()
                self.assertNotEqual(after, before)
                txedit.undo(root=self.root)
                self.assertEqual(self.tree(), before)
                with txedit.transaction(self.root) as t:
                    found = t.replace(pattern, replacement, word=word, regex=regex)
                    self.assertEqual(self.tree(), before)
                self.assertEqual(self.tree(), after)
                self.assertEqual(found.total_matches, expected.total_matches)
                txedit.undo(root=self.root)

    def test_edits_and_renames_follow_it(self) -> None:
        with txedit.transaction(self.root) as t:
            t.replace("greet", "welcome", word=True, globs=["*.py"])
            t.edit("a.py", "def welcome():", "def welcome() -> None:")
            t.rename(os.path.join(self.root, "b.py"), "./b2.py")
            t.edit("b2.py", "import", "from x import")
            t.create("CHANGES", "greet is called welcome\n")
        self.assertTrue(self.text("a.py").startswith("def welcome() -> None:\r\n"))
        self.assertEqual(self.text("b2.py"), "from x import welcome")
        self.assertIn("greet", self.text("e.txt"))
        self.assertEqual(self.commits(), 1)

    def test_a_file_that_is_changed_already_is_refused(self) -> None:
        for name in ("b.py", os.path.join(self.root, "b.py"), "./b.py"):
            with self.assertRaisesRegex(txedit.InvalidRequest, "call replace before it"):
                with txedit.transaction(self.root) as t:
                    t.edit(name, "import", "from")
                    t.replace("greet", "welcome")
        self.assertEqual(self.commits(), 0)

    def test_what_changes_after_the_search_is_not_overwritten(self) -> None:
        for word, then in ((False, "import greet, greet"), (True, "from x import  greet")):
            self.put("b.py", "import greet")
            with self.assertRaises(txedit.EditNotApplied):
                with txedit.transaction(self.root) as t:
                    t.replace("greet", "welcome", "b.py", word=word)
                    self.put("b.py", then)
            self.assertEqual(self.text("b.py"), then)

    def test_lines_of_different_endings_are_not_joined(self) -> None:
        self.put("e.txt", "ab\r\n\nab\nab\r\n")
        before = self.tree()
        with self.assertRaisesRegex(txedit.InvalidRequest, "different endings"):
            with txedit.transaction(self.root) as t:
                t.replace("\n", "\n\n", "e.txt")
        self.assertEqual(self.tree(), before)

    def test_a_long_diff_and_a_file_that_is_not_utf8_are_refused(self) -> None:
        self.put("long.py", "greet = 'a long line of text that is repeated very often'\n" * 2_000)
        with open(os.path.join(self.root, "latin.py"), "wb") as file:
            file.write(b"greet \xe9\n")
        for path, why in (("long.py", "too long"), ("latin.py", "not UTF-8")):
            with self.assertRaisesRegex(txedit.InvalidRequest, why):
                with txedit.transaction(self.root) as t:
                    t.replace("greet", "welcome", path, word=True)
            with txedit.transaction(self.root) as t:
                t.replace("greet", "welcome", path)
            self.assertEqual(t.report.files_edited, 1)

    def test_the_root_may_be_named_by_a_symlink(self) -> None:
        link = self.root + ".link"
        os.symlink(self.root, link)
        self.addCleanup(os.remove, link)
        with txedit.transaction(link) as t:
            t.replace("greet", "welcome", word=True)
            t.edit("b.py", "import", "from x import")
        self.assertEqual(self.text("b.py"), "from x import welcome")


if __name__ == "__main__":
    unittest.main()
