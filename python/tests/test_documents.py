"""The examples of README.md run, and the names in it exist."""

import contextlib
import io
import os
import re
import unittest
from typing import Any, Dict

import txedit
from support import WorkspaceTest

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def readme() -> str:
    with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as file:
        return file.read()


class Documents(WorkspaceTest):
    def test_the_examples_run(self) -> None:
        self.put("project/greet.py", "def greet():\n    print('hello')\n")
        self.put("project/main.py", "from greet import greet\n\ngreet(1)\n")
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.root)
        blocks = re.findall(r"```python\n(.*?)```", readme(), re.DOTALL)
        self.assertEqual(len(blocks), 3)
        names: Dict[str, Any] = {}
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(blocks[0], names)
            self.assertEqual(self.text("project/main.py"), "from greet import greet\n\ngreet(1)\n")
            txedit.redo(root="project")
            self.assertEqual(self.text("project/main.py"), "from welcome import welcome\n\nwelcome()\n")
            self.assertEqual(self.text("project/CHANGES"), "greet is called welcome\n")
            exec(blocks[1], names)
            exec(blocks[2], names)
        self.assertIn("+def welcome():", printed.getvalue())
        self.assertIn("main.py", printed.getvalue().splitlines()[-4])

    def test_every_exception_and_function_is_named(self) -> None:
        text = readme()
        for name in txedit.__all__:
            thing = getattr(txedit, name)
            is_error = isinstance(thing, type) and issubclass(thing, Exception)
            is_function = callable(thing) and not isinstance(thing, type) and name != "find_program"
            if is_error or is_function:
                self.assertRegex(text, rf"`{name}\b")
        methods = [name for name in vars(txedit.Transaction) if not name.startswith("_")]
        for name in methods:
            self.assertRegex(text, rf"`{name}\b")

    def test_the_example_script_is_short(self) -> None:
        with open(os.path.join(FOLDER, "examples", "rename_function.py"), encoding="utf-8") as file:
            self.assertLessEqual(len(file.readlines()), 15)


if __name__ == "__main__":
    unittest.main()
