"""Campaigns on the executors of `concurrent.futures`; `tests/campaigns/run` has the other engines."""

import concurrent.futures
import json
import os
import subprocess
import sys
import unittest
from typing import List

import txedit
import txedit.campaign
from support import WorkspaceTest


class Campaigns(WorkspaceTest):
    def setUp(self) -> None:
        super().setUp()
        for name in self.repositories():
            os.makedirs(os.path.join(self.root, name, ".git"))
            self.put(os.path.join(name, ".git", "HEAD"), "")
            self.put(os.path.join(name, "a.txt"), "one\n")
        plan = {"files": [{"file_path": "a.txt", "edits": [{"old_string": "one", "new_string": "one one"}]}]}
        self.put("plan.json", json.dumps(plan))
        self.campaign = os.path.join(self.root, "campaign")
        self.txedit("new", self.campaign, "--workspaces", "repos/*", "--plan", "plan.json")

    def repositories(self) -> List[str]:
        return [os.path.join("repos", f"r{number}") for number in range(5)]

    def txedit(self, *arguments: str) -> None:
        command = [txedit.find_program(), "--quiet", "campaign", *arguments]
        subprocess.run(command, cwd=self.root, check=True, stdout=subprocess.DEVNULL)

    def texts(self) -> List[str]:
        return [self.text(os.path.join(name, "a.txt")) for name in self.repositories()]

    def test_an_executor_makes_it_in_each_workspace_once(self) -> None:
        before = txedit.campaign.status(self.campaign)
        self.assertEqual((before.planned, before.unreported, before.complete), (5, 5, False))
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            told = txedit.campaign.run(self.campaign, on=executor)
            again = txedit.campaign.run(self.campaign, on=executor)
        self.assertEqual((told.done, told.files_edited, told.complete), (5, 5, True))
        self.assertEqual((again.done, again.raw["attempts"]), (5, 5))
        self.assertEqual(self.texts(), ["one one\n"] * 5)

    def test_processes_take_several_workspaces_at_a_time(self) -> None:
        with concurrent.futures.ProcessPoolExecutor(2) as executor:
            told = txedit.campaign.run(self.campaign, on=executor, batch=2)
        self.assertEqual((told.done, told.complete), (5, True))

    def test_failures_are_told_with_an_example_and_retried_where_that_may_help(self) -> None:
        self.put("repos/r1/a.txt", "other\n")
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            told = txedit.campaign.run(self.campaign, on=executor)
            (failures,) = told.failures
            self.assertEqual((failures.error_code, failures.workspaces), ("MATCH_NOT_FOUND", 1))
            self.assertEqual((failures.retryable, failures.example.workspace), (False, "repos/r1"))
            retried = txedit.campaign.run(self.campaign, on=executor, retry=True)
        self.assertEqual(retried.raw["attempts"], told.raw["attempts"])

    def test_the_module_is_a_program(self) -> None:
        command = [sys.executable, "-m", "txedit.campaign", self.campaign, "--on", "threads", "--workers", "2"]
        self.assertEqual(subprocess.run(command).returncode, 0)
        self.assertEqual(self.texts(), ["one one\n"] * 5)
        self.txedit("undo", self.campaign)
        self.assertEqual(subprocess.run(command).returncode, 0)
        self.assertEqual(self.texts(), ["one\n"] * 5)

    def test_what_is_no_campaign_is_refused(self) -> None:
        with self.assertRaises(txedit.InvalidRequest):
            txedit.campaign.status(os.path.join(self.root, "repos"))


if __name__ == "__main__":
    unittest.main()
