"""The first prompt of a CODING step with tools: the task and a starting point; the model reads the files itself."""

from __future__ import annotations

from dataclasses import replace

from nightshift.agent.prompt import sections
from nightshift.agent.prompt.budget import Prompt
from nightshift.agent.prompt.text import system
from nightshift.core.tasks.states import Phase


def working_prompt(about: sections.PromptContext, now: str) -> Prompt:
    """Return the prompt with its stable parts first; `now` is the closing line."""
    head = system(Phase.CODING, sections.language_file(about.context), main="explorer")
    parts = [
        *sections.the_beginning(about),
        sections.the_plan(about.state),
        replace(sections.the_change(about, new=True), share=0.3, rank=9),
        *sections.the_history(about),
        sections.closing(now),
    ]
    return sections.join_parts(about, head, parts, once=True)
