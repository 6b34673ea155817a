"""A reflection on a failure: the model's where it is usable, else one by rule.

What the model says is validated and shortened; it is shown to the next phase as an opinion, and only two of its flags
have consequences: a new plan, and the blame of tests that the agent wrote itself.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from agent import briefing, kinds
from agent.asking import Dialogue
from agent.feedback import headline
from agent.portions import Prompt
from agent.prompting import system
from agent.replies import find_json, spoken
from agent.tools import Tools
from core.masking import printable
from core.states import Phase
from core.work import Case, Reflection, Work

_MAX_CHARS = 800
_RULES = {
    "SyntaxError": "Mend the syntax at the line that is named, and read the lines above it.",
    "IndentationError": "Mend the indentation at the line that is named.",
    "ModuleNotFoundError": "Create the module at the path that the import names, or mend the import.",
    "ImportError": "Define the name that is imported, in the module that it is imported from.",
    "NameError": "Define or import the name before it is used.",
    "ReferenceError": "Define or import the name before it is used.",
    "AttributeError": "Check the type of the object at that place, and the spelling of the attribute.",
    "TypeError": "Compare the call with the signature, and the types with what the operation takes.",
    "RecursionError": "Give the recursion an end that every input reaches, or use a loop.",
    "Timeout": "Look for a loop that does not end, or for work that grows too fast with the input.",
    "HeldOut": "Solve the task for every input that its words allow; nothing may depend on the inputs of the tests.",
    "AssertionError": "Follow the input of the first failing assertion through the code, line by line.",
}


def _text(value: Any) -> str:
    if isinstance(value, list):
        value = "; ".join(str(part) for part in value)
    return " ".join(printable(str(value if value is not None else "")).split())[:_MAX_CHARS]


_Text = Annotated[str, BeforeValidator(_text)]


class ReflectionIn(BaseModel):
    """What a model may answer; unknown fields are passed over."""

    model_config = ConfigDict(extra="ignore")

    pattern: _Text = Field(default="", validation_alias=AliasChoices("pattern", "error_pattern"))
    root_cause: _Text = ""
    hypothesis: _Text = ""
    suggested_fix: _Text = ""
    replan: bool = False
    tests_at_fault: bool = False

    @property
    def says_something(self) -> bool:
        """It holds a thought and not only flags."""
        return bool(self.root_cause or self.suggested_fix)


def read(text: str) -> Reflection | None:
    """The reflection in a reply, or None when there is no usable one."""
    data = find_json(spoken(text))
    try:
        said = ReflectionIn.model_validate(data or {})
    except ValidationError:
        return None
    return Reflection(**said.model_dump()) if said.says_something else None


def by_rule(work: Work) -> Reflection:
    """A plain reflection, from the kind of the first failure."""
    if work.verdict is None:
        first = work.feedback.strip().split("\n", 1)[0]
        fix = "Send complete files in the form that the instructions describe."
        return Reflection(pattern="unusable reply", root_cause=first[:_MAX_CHARS], suggested_fix=fix)
    kind = work.verdict.failures[0].kind if work.verdict.failures else ""
    fix = next((fix for name, fix in _RULES.items() if name.lower() in kind.lower()), _RULES["AssertionError"])
    return Reflection(pattern=kind or "failing tests", root_cause=headline(work.verdict), suggested_fix=fix)


def needs_no_thought(work: Work) -> Reflection | None:
    """The reflection where a gate or a reader said it all: what to mend, what may not be changed, idle own tests."""
    verdict = work.verdict
    if work.remarks:
        first = work.remarks[0]
        cause = f"{first.where}: {first.reason}"
        return Reflection(
            pattern=f"sent back ({first.gravity})", root_cause=_text(cause), suggested_fix=_text(first.fix)
        )
    if verdict is not None and verdict.passed:
        return Reflection(pattern="files that may not be changed", root_cause=_text(work.feedback))
    if verdict is None or not verdict.weak or verdict.failing - set(verdict.weak):
        return None
    return Reflection(
        pattern="self-written tests prove nothing",
        root_cause=_text(verdict.reason),
        suggested_fix="Write tests that fail without the change and notice wrong results.",
        tests_at_fault=True,
    )


async def ask(case: Case, work: Work, tools: Tools, talk: Dialogue) -> Reflection:
    """The model's reflection, or the one by rule when its reply is unusable."""
    reply = await talk.ask(await asyncio.to_thread(_request, case, work, tools), json_reply=True)
    return read(reply.text) or by_rule(work)


def _request(case: Case, work: Work, tools: Tools) -> Prompt:
    scene = briefing.scene(case, work, tools, Phase.REFLECTING)
    head = system(Phase.REFLECTING, briefing.language_part(case), f"kinds/{kinds.kind_of(case.task.spec)}")
    parts = [
        briefing.the_task(scene),
        briefing.the_tests(scene),
        briefing.the_lessons(scene),
        briefing.the_plan(work),
        briefing.the_files(scene),
        *briefing.the_story(scene),
        briefing.now("Say why it failed, as one JSON object."),
    ]
    return briefing.written(scene, head, parts, once=True)
