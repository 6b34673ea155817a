"""What the engine says in the place of a model: a plan, files in the form that replies have, a reflection as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from core.dialogue import BUILT_IN, Material
from core.tasks import Change
from repair.problem import Finding

_BACKTICKS = re.compile(r"^\s*(`{3,})", re.MULTILINE)
_NUMBER = re.compile(r"^\s*\d+\.\s*")
_MAX_SUMMARY = 180


def plan_text(finding: Finding) -> str:
    """The plan, with what was found and how."""
    found = f"Found in {finding.seconds:.1f} s: {finding.told}. {_count(finding)}"
    return "\n".join(part for part in (finding.plan.strip(), found, _warned(finding)) if part)


def coding_text(finding: Finding, changed: Change) -> str:
    """A summary, and each file that changes as one fenced block with its path.

    Args:
        finding: what was found.
        changed: path to its whole new text; None removes the file.
    """
    head = [f"Summary: {summary(finding, changed)}", _count(finding), _warned(finding)]
    blocks = [_block(path, text) for path, text in sorted(changed.items())]
    return "\n\n".join(part for part in (*head, *blocks) if part) + "\n"


def reflection_text(finding: Finding, material: Material) -> str:
    """The reflection that `agent.reflecting` reads."""
    verdict = material.state.verdict
    kind = verdict.failures[0].kind if verdict and verdict.failures else "failing tests"
    said = {
        "pattern": kind,
        "root_cause": finding.reflection or _refused(material) or _seen(finding.plan),
        "hypothesis": f"With it all tests that are shown pass; {finding.tried} candidates were tried",
        "suggested_fix": finding.told,
        "replan": False,
        "tests_at_fault": False,
    }
    return json.dumps(said, ensure_ascii=False)


def summary(finding: Finding, changed: Change) -> str:
    """What the change does, in one line that can head a commit."""
    files = ", ".join(sorted(changed)) if len(changed) < 3 else f"{len(changed)} files"
    said = " ".join(finding.told.replace("`", "").split()) or "let the failing tests pass"
    return f"Mend {files}: {said}"[:_MAX_SUMMARY]


def changed_files(material: Material, target: Change) -> Change:
    """What must be sent so that the work's files become those of `target`, a change of the same base."""
    now = material.state.change
    return {path: text for path, text in _wanted(material, target) if path not in now or now[path] != text}


def _wanted(material: Material, target: Change) -> Iterator[tuple[str, str | None]]:
    """The texts of all files that either change touches; where the target leaves one alone, as the base has it."""
    entries = material.tree.entries()
    for path in {**material.state.change, **target}:
        if path in target:
            yield path, target[path]
        else:
            yield path, material.tree.read(path).decode() if path in entries else None


def _block(path: str, text: str | None) -> str:
    where = f'path="{path}"' if " " in path else f"path={path}"
    if text is None:
        return f"```text {where} delete\n```"
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    language = "python" if path.endswith(".py") else "text"
    return f"{fence}{language} {where}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}"


def _count(finding: Finding) -> str:
    how = f", by {finding.kind.replace('_', ' ')}" if finding.kind else ""
    return f"The built-in engine tried {finding.tried:,} of about {finding.estimated:,} candidates{how}."


def _warned(finding: Finding) -> str:
    return f"Warning: {finding.warning}." if finding.warning else ""


def _refused(material: Material) -> str:
    """That the engine's own changes were refused; empty where somebody else wrote the last one."""
    work = material.state
    if not work.seen or set(work.models) != {BUILT_IN}:
        return ""
    count = len(set(work.seen))
    changes = f"{count} changes" if count > 1 else "a change"
    return f"{changes} of the engine's passed all tests that are shown and failed the suite; excluded now"


def _seen(plan: str) -> str:
    """What the plan begins with: what the tests showed, and which lines are suspected."""
    lines = [_NUMBER.sub("", line).strip() for line in plan.split("\n") if line.strip()]
    return " ".join(lines[:2]) or "the tests fail"
