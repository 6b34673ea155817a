"""Tests of the agent's own, for tasks that came without any: asked for, checked, and never allowed to assert less.

The model sees the task and the signatures of the code, not its bodies, so that a wrong result is not copied into the
test that should notice it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from agent import briefing, kinds, syntax
from agent.asking import Dialogue
from agent.assertions import Weight, excuses, idle_tests, weigh
from agent.context import face
from agent.portions import Part, Prompt, Shown
from agent.prompting import quoted, system
from agent.replies import parse
from agent.tools import Tools
from agent.view import View, misplaced
from core.commit_message import slug
from core.dialogue import Completion
from core.errors import BadReply
from core.gauge import Gauge
from core.paths import is_test_path
from core.states import Phase
from core.tasks import Change, Files, Language
from core.work import Case, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The tests as they are now; `faults` says why the model's last word was not taken."""

    tests: Files
    faults: tuple[str, ...] = field(default=())


async def write(case: Case, work: Work, tools: Tools, talk: Dialogue) -> Written:
    """Ask for tests until they can be used, a few times; the earlier ones stay where nothing usable came."""
    prompt = first = await asyncio.to_thread(_request, case, work, tools)
    faults: tuple[str, ...] = ()
    for _ in range(tools.settings.reasks + 1):
        reply = await talk.ask(prompt)
        tests, faults = _read(reply, case, work, tools)
        if not faults:
            return Written(tests=tests)
        prompt = talk.again(first, reply.text, _again(faults))
    return Written(tests=work.own_tests, faults=faults)


def suggested_path(case: Case) -> str:
    """A name for the test file that no other task's has."""
    name = slug(case.task.spec.description).replace("-", "_")[:32].strip("_")
    if case.task.spec.language is Language.JAVASCRIPT:
        return f"tests/{name}_{case.task.id}.test.mjs"
    return f"tests/test_{name}_{case.task.id}.py"


def _request(case: Case, work: Work, tools: Tools) -> Prompt:
    spec, scene = case.task.spec, briefing.scene(case, work, tools, Phase.TESTING)
    head = system(
        Phase.TESTING,
        briefing.language_part(case),
        briefing.language_part(case, tests=True),
        f"kinds/{kinds.kind_of(spec)}",
    )
    again = "Mend what the complaint names." if work.own_tests else "Write the tests."
    earlier = [
        replace(briefing.the_tests(scene), title="Your earlier tests"),
        replace(briefing.the_failure(scene), title="The complaint about them"),
    ]
    parts = [
        briefing.the_task(scene),
        briefing.the_repository(scene),
        Part(title="The code to be tested", fill=lambda room: _faces(work, tools, room, scene.gauge), rank=9),
        *(earlier if work.own_tests else ()),
        briefing.now(f"{again} A good path for a single test file is {suggested_path(case)}"),
    ]
    return briefing.written(scene, head, parts)


def _faces(work: Work, tools: Tools, room: int, gauge: Gauge) -> Shown:
    """The signatures of the changed files, as many as fit; the others by name."""
    view, faces, names = View(tools.tree, work.change), dict[str, str](), list[str]()
    room -= 60
    for path in (path for path, text in work.change.items() if text is not None and path in view):
        lines = face(path, work.change[path] or "")
        shown = f"{path}\n" + "\n".join("    " + line for line in lines[:200])
        if gauge.tokens(shown + "\n\n") <= room:
            faces[path] = shown
            room -= gauge.tokens(shown + "\n\n")
        else:
            names.append(path)
    text = quoted("signatures", "\n\n".join(faces.values())) if faces else "(no file was changed)"
    return Shown(text=text, outlined=tuple(faces), left_out=len(names), cut=bool(names))


def _again(faults: tuple[str, ...]) -> str:
    text = quoted("complaints", "\n".join(f"- {fault}" for fault in faults))
    return f"These tests cannot be used:\n\n{text}\n\nSend each test file whole again.\n"


def _read(reply: Completion, case: Case, work: Work, tools: Tools) -> tuple[dict[str, str], tuple[str, ...]]:
    """The tests with a reply's files in place, and what is wrong with them."""
    try:
        parsed = parse(reply, expected=list(work.own_tests) or [suggested_path(case)])
    except BadReply as bad:
        return {}, (str(bad),)
    tests = {**work.own_tests, **{path: text for path, text in parsed.files.items() if is_test_path(path)}}
    faults = [*parsed.complaints]
    faults += [f"{edit.path}: send test files whole." for edit in parsed.edits[:1]]
    if not any(is_test_path(path) for path in parsed.files):
        faults.append(f"No test file was sent; name it like {suggested_path(case)}")
    for path in parsed.files:
        faults += _file_faults(path, tests, tools, work.change)
    faults += _loss(work.own_tests, tests)
    return tests, tuple(faults)


def _file_faults(path: str, tests: Mapping[str, str], tools: Tools, change: Change) -> list[str]:
    if path not in tests:
        return []
    text = tests[path]
    if path.rsplit("/", 1)[-1] == "conftest.py":
        return [f"{path}: steers how tests run and cannot be used; put fixtures into the test file."]
    if path in tools.tree.entries():
        return [f"{path}: exists already and is not yours; choose another name."]
    others = {name: kept for name, kept in tests.items() if name != path}
    if why := misplaced(path, View(tools.tree, {**change, **others})):
        return [f"{path}: {why}."]
    if found := syntax.fault(path, text):
        return [f"{path} is not valid: {found.kind}: {found.message}"]
    weight = weigh(path, text)
    if not weight.tests or not weight.assertions:
        return [f"{path}: holds no test with an assertion."]
    if words := excuses(path, text):
        return [f"{path}: lets tests off ({', '.join(words)}); a test that does not run proves nothing."]
    idle = idle_tests(path, text)
    return [f"{path}: these tests assert nothing: {', '.join(idle[:5])}"] if idle else []


def _loss(before: Files, after: Files) -> list[str]:
    """Complain when all tests together assert less than they did."""
    had, has = (sum((weigh(path, text) for path, text in files.items()), Weight()) for files in (before, after))
    compared = "assertions that name the expected result (`==`, `pytest.approx`, `pytest.raises`)"
    for what, then, now in (
        ("assertions", had.assertions, has.assertions),
        ("tests", had.tests, has.tests),
        (compared, had.exact, has.exact),
    ):
        if now < then:
            return [f"The tests had {then} {what} and now have {now}; correct them, but do not lose any."]
    return []
