"""`docs/reference/checker.md` matches the code."""

from __future__ import annotations

from pathlib import Path

from nightshift.verdict.checks import bandit
from nightshift.verdict.checks.catalogue import JAVASCRIPT, PYTHON, Rule
from nightshift.verdict.checks.hooks.patterns import PATTERNS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "checker.md"


def row(rule: Rule) -> str:
    kinds = ", ".join(sorted(f"`{kind}`" for kind in rule.kinds))
    eased = " or ".join(filter(None, [f"kind {kinds}" if kinds else "", "words" if rule.words else ""]))
    return f"| `{rule.name}` | {rule.severity} | {rule.tests or '–'} | {eased or '–'} | {rule.why} |"


def test_the_page_lists_every_rule_with_its_default() -> None:
    lines = PAGE.read_text().splitlines()
    wanted = [row(rule) for rule in (*PYTHON, *JAVASCRIPT)]
    assert [line for line in lines if line.startswith(("| `python.", "| `js."))] == wanted, "\n".join(wanted)


def test_the_page_lists_every_pattern() -> None:
    lines = PAGE.read_text().splitlines()
    wanted = [f"| `command.{pattern.name}` | {pattern.why} |" for pattern in PATTERNS]
    assert [line for line in lines if line.startswith("| `command.")] == wanted, "\n".join(wanted)


def test_the_page_names_what_becomes_of_bandits_findings() -> None:
    text = PAGE.read_text()
    for ids in (bandit.BLOCKING, bandit.NOTED, bandit.LEFT_OUT):
        assert ", ".join(sorted(ids)) in text
