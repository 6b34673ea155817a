"""The pre-commit hooks run the same checks as `make lint`."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


def test_each_check_of_make_lint_is_a_hook_and_each_hook_is_one_of_its_checks() -> None:
    makefile = (ROOT / "Makefile").read_text()
    rule = re.search(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert rule
    checks = [line.removeprefix("\t@").replace("$(VENV)", ".venv/bin/python") for line in rule[1].splitlines()]
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [hook["entry"] for hook in repository["hooks"]] == checks
