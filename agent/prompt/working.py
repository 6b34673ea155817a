"""The first prompt of a CODING step with tools: the task and where to begin, without files, which the model reads."""

from __future__ import annotations

import difflib

from agent.prompt import sections
from agent.prompt.budget import Prompt, Section, Shown, clipped
from agent.prompt.text import quoted, system
from agent.view import base_text
from core.states import Phase

_CHANGE_TOKENS = 3000
_FRAME = 48


def working_prompt(about: sections.PromptContext, now: str) -> Prompt:
    """System prompt and case, with what is stable first; `now` is the closing line."""
    head = system(Phase.CODING, sections.language_file(about.context), main="explorer")
    parts = [
        sections.the_task(about),
        sections.the_answers(about),
        sections.the_tests(about),
        sections.the_repository(about),
        sections.the_conventions(about),
        sections.the_lessons(about),
        sections.the_plan(about.state),
        Section(title="Your change so far", fill=lambda space: _change(about, space), share=0.3, rank=9),
        *sections.the_history(about),
        sections.closing(now),
    ]
    return sections.composed(about, head, parts, once=True)


def _change(about: sections.PromptContext, space: int) -> Shown:
    """The change so far as a diff."""
    change, tree = about.state.change, about.view.tree
    diffs = (_diff(path, base_text(tree, path), text) for path, text in change.items())
    text, cut = clipped("\n".join(diffs), min(space, _CHANGE_TOKENS) - _FRAME, about.gauge)
    return Shown(text=quoted("diff", text) if change else "", whole=tuple(change), cut=cut)


def _diff(path: str, before: str | None, after: str | None) -> str:
    old, new = ((text or "").splitlines() for text in (before, after))
    names = (f"a/{path}" if before is not None else "/dev/null", f"b/{path}" if after is not None else "/dev/null")
    return "\n".join(difflib.unified_diff(old, new, *names, lineterm=""))
