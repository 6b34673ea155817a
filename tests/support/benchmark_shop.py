"""A shop's repository with one commit for each function, and a model that writes all functions but one correctly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.git_repo import git, make_repo, write

RATES = {"net": "total - 1", "gross": "total + 2", "half": "total // 2"}
WRONG = "gross"
"""The function that the model never gets right."""


def shop(folder: Path, only: str = "", **more: str) -> Path:
    """Create a repository with a commit for each function, or only for the function `only`. Each commit has a test.

    `more` maps further files to their texts.
    """
    repo = make_repo(folder, {"price.py": '"""Prices."""\n', "README.md": "# Shop\n", **more})
    text = '"""Prices."""\n'
    for name, rate in RATES.items() if not only else [(only, RATES[only])]:
        text += f"\n\ndef {name}(total):\n    return {rate}\n"
        tests = (
            f"from price import {name}\n\n\ndef test_{name}():\n    assert {name}(8) == {eval(rate, {'total': 8})}\n"
        )
        tests += f"    assert {name}(20) == {eval(rate, {'total': 20})}\n"
        write(repo, {"price.py": text, f"test_{name}.py": tests})
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", f"Add {name}() to price.py")
    return repo


def answer(phase: str, messages: list[dict[str, Any]]) -> str:
    """Return the model's reply. It is wrong for one function only, and the model's own test confirms the wrong code."""
    if phase == "REFLECTING":
        return json.dumps({
            "error_pattern": "wrong", "root_cause": "unknown", "hypothesis": "none", "suggested_fix": "try again",
        })  # fmt: skip
    words = "\n".join(message["content"] for message in messages)
    name = next((name for name in RATES if f"Add {name}()" in words), "")
    if phase == "TESTING":
        wanted = {n: n if name == WRONG else eval(RATES[name], {"total": n}) for n in (3, 8, 20)}
        checks = "".join(f"    assert {name}({n}) == {value}\n" for n, value in wanted.items())
        return f"```python path=test_{name}_own.py\nfrom price import {name}\n\n\ndef test_{name}():\n{checks}```"
    if phase != "CODING":
        return "1. Write the function."
    head, rate = '"""Prices."""', "total" if name == WRONG else RATES[name]
    body = f"\n\n\ndef {name}(total):\n    return {rate}"
    return f"```python path=price.py\n<<<<<<< SEARCH\n{head}\n=======\n{head}{body}\n>>>>>>> REPLACE\n```"
