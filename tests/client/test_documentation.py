"""Nightshift's documentation: its links are valid, and the commands and endpoints that it names exist."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from nightshift.client.commands import every_command
from nightshift.core.code.paths import is_test_path
from nightshift.server.contract import ENDPOINTS
from nightshift.verdict.page_checks import Files, findings

ROOT = Path(__file__).resolve().parents[2]
TRACKED = tuple(
    subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
)
PAGES = tuple(path for path in TRACKED if path.endswith(".md") and not is_test_path(path))
COMMAND = re.compile(r"\bnightshift ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?(?= |`|$|\n)")
DOCS = [path for path in PAGES if path == "README.md" or path.startswith("docs/")]
INDEX = "docs/README.md"
REQUEST = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) (/[^\s`?]*)")
ROUTES = {(each.method, re.sub(r"\\{.*?\\}", "[^/]+", re.escape(each.path))) for each in ENDPOINTS}


def commands() -> Iterator[str]:
    """Yield the full names of all commands; a command of a group has the group's name as a prefix."""
    for command in every_command(lambda *_: 0):
        yield command.name or ""
        if isinstance(command, click.Group):
            yield from (f"{command.name} {name}" for name in command.commands)


def name_commands(text: str) -> Iterator[str]:
    """Yield the commands in a page: those in backticks, and those at the start of lines in code blocks."""
    typed = "\n".join(
        (*re.findall(r"`([^`\n]+)`", text), *re.findall(r"^(?:\$ )?(nightshift .*)$", text, re.MULTILINE))
    )
    groups = {name.split()[0] for name in commands() if " " in name}
    for first, second in COMMAND.findall(typed):
        yield f"{first} {second}" if first in groups and second else first


@pytest.mark.parametrize("path", PAGES)
def test_the_links_of_a_page_lead_somewhere(path: str) -> None:
    text = (ROOT / path).read_text()
    links = [finding for finding in findings(path, text, Files(TRACKED, lambda each: (ROOT / each).read_text()))
             if "link" in finding.message]  # fmt: skip
    assert not links


@pytest.mark.parametrize("path", DOCS)
def test_the_commands_of_a_page_exist(path: str) -> None:
    command_names = set(commands())
    assert {name for name in name_commands((ROOT / path).read_text()) if name not in command_names} == set()


@pytest.mark.parametrize("path", DOCS)
def test_the_endpoints_of_a_page_exist(path: str) -> None:
    """Check that each endpoint that a page mentions exists.

    A page may write any value or name for a parameter, as in `/api/task/7/revert` or `/api/report/<name>`.
    """
    named = set(REQUEST.findall((ROOT / path).read_text()))
    endpoints = {
        (verb, there)
        for verb, there in named
        for method, route in ROUTES
        if verb == method and re.fullmatch(route, there)
    }
    assert named - endpoints == set()


def test_the_index_lists_every_page() -> None:
    linked = set(re.findall(r"\]\(([^)#:]+\.md)", (ROOT / INDEX).read_text()))
    pages = {path for path in DOCS if path.startswith("docs/")} - {INDEX}
    assert pages - {str(Path("docs") / link) for link in linked} == set()
