"""The proof of a commit: its commands work in a clone, and its page loads no resource and shows no secret.

The commands need only git and pytest.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from nightshift.app.git_beside import git_beside
from nightshift.config.load import load_settings
from nightshift.core.errors import NoEvidence
from nightshift.core.text.masking import Masker
from nightshift.git.manager import GitManager
from nightshift.server.proof.page import Proof, Subject, proof_of
from tests.support.git_repo import OWNER, git, make_repo, write

SECRET = "correct-horse-battery"
HOSTILE = "</title></pre><script src=https://evil.example/x.js></script><img src=x onerror=alert(1)>"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Create a repository whose last commit is the agent's: it changes a file, adds two, and needs the new file."""
    repo = make_repo(tmp_path / "repo", {"a.py": "A = 1\n", "old name.py": "OLD = 1\n"})
    write(repo, {
        "a.py": "from b import B\n\nA = B\n", "b.py": f"B = 2  # {HOSTILE} {SECRET} {repo}\n",
        "test_a.py": "from a import A\n\n\ndef test_a():\n    assert A == 2\n",
    })  # fmt: skip
    (repo / "old name.py").unlink()
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", f"Make a two {HOSTILE}\n\nSee {repo} and {SECRET}\n\nTask: 7\n")
    return repo


def add_note(repo: Path, **other: Any) -> None:
    note = {
        "format": 2, "task": 7, "commit": git(repo, "rev-parse", "HEAD"), "base": git(repo, "rev-parse", "HEAD^"),
        "tree": git(repo, "rev-parse", "HEAD^{tree}"), "own_tests": ["test_a.py"], "passed": 1,
        "changed": ["a.py", "b.py", "old name.py"], "model": "small=m", "iterations": 2,
        "evidence": {"tree": "d" * 64, "sandbox": "bubblewrap", "label": "self_tested", "python": "3.11",
                     "ids": ["test_a.py::test_a"], "notes": [f"{HOSTILE} {repo}"]},
    }  # fmt: skip
    git(repo, "notes", "--ref=nightshift", "add", "-f", "-F", "-", stdin=json.dumps(note | other))


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[GitManager]:
    with git_beside(load_settings(home=tmp_path / "home"), tmp_path) as git_manager:
        yield git_manager


def proof(manager: GitManager, repo: Path) -> Proof:
    return proof_of(manager, Subject(repo=str(repo), commit="HEAD"), Masker([SECRET]))


class _Read(HTMLParser):
    """The tags, attributes and regions of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags, self.attributes, self.regions, self._at = set[str](), set[str](), dict[str, str](), ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._at = dict(attrs).get("aria-label") or "" if tag == "pre" else self._at

    def handle_endtag(self, tag: str) -> None:
        self._at = "" if tag == "pre" else self._at

    def handle_data(self, data: str) -> None:
        if self._at:
            self.regions[self._at] = self.regions.get(self._at, "") + data


def read(html: str) -> _Read:
    page = _Read()
    page.feed(html)
    return page


def test_its_commands_say_in_a_clone_what_the_page_says(manager: GitManager, repo: Path, tmp_path: Path) -> None:
    add_note(repo)
    regions = read(proof(manager, repo).html).regions
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repo), str(clone))
    environment = {**OWNER, "PATH": f"{Path(sys.executable).parent}:{OWNER['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}

    def typed(commands: str, where: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["bash", "-c", commands], cwd=where, env=environment, capture_output=True, text=True,
                              check=False)  # fmt: skip

    for title in ("The commit, its tree, its parent and its evidence", "The bytes of the files"):
        done = typed(regions[f"Commands: {title}"], clone)
        assert done.stdout.strip() == regions[f"Expected: {title}"], done.stderr
    tests = typed(regions["Commands: The tests, on exactly this tree"], clone)
    assert (tests.returncode, "1 passed" in tests.stdout) == (0, True), tests.stdout + tests.stderr
    without = typed(regions["Commands: The same tests without the change"], tmp_path / "proof-check")
    assert (without.returncode, "1 failed" in without.stdout) == (1, True), without.stdout + without.stderr
    assert not (tmp_path / "proof-check" / "b.py").exists()
    assert (tmp_path / "proof-check" / "old name.py").exists()
    assert regions["Expected: The same tests without the change"] == "The tests that the agent wrote fail."


def test_the_page_needs_nothing_and_obeys_no_text(manager: GitManager, repo: Path) -> None:
    add_note(repo, model=HOSTILE)
    html = proof(manager, repo).html
    page = read(html)
    assert not page.tags & {"script", "img", "link", "iframe", "object", "form", "base", "a"}
    assert not page.attributes & {"src", "href", "style", "onerror", "action"}
    assert not re.search(r"url\(|@import", html)
    assert html.count("&lt;script src=https://evil.example/x.js&gt;") >= 4


def test_neither_secrets_nor_folders_of_this_machine_are_on_it(manager: GitManager, repo: Path) -> None:
    add_note(repo)
    html = proof(manager, repo).html
    assert SECRET not in html
    assert str(repo) not in html
    assert str(Path.home()) not in html or str(Path.home()) == "/"
    assert "(repository)" in html
    assert "***" in html


def test_without_a_note_of_its_own_nothing_is_proved(manager: GitManager, repo: Path) -> None:
    with pytest.raises(NoEvidence, match="no evidence here"):
        proof(manager, repo)
    add_note(repo, commit="0" * 40)
    with pytest.raises(NoEvidence, match="for another commit"):
        proof(manager, repo)


def test_a_draft_proves_nothing(manager: GitManager, repo: Path) -> None:
    git(repo, "commit", "-q", "--amend", "-m", "Draft: Make a two\n\nDraft-Of: 7\n")
    add_note(repo)
    with pytest.raises(NoEvidence, match="is a draft, which did not pass"):
        proof(manager, repo)
