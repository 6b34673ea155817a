"""The simulated forges match the published API descriptions, so that a difference on either side is noticed."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import pytest
from jsonschema import ValidationError

from nightshift.remote.forges.connections import KINDS
from tests.remote.forges.conftest import APIS, Rig
from tests.support.forges.description import Description, publish
from tests.support.forges.world import World


@pytest.mark.parametrize("name", ["github", "gitea", "forgejo"])
def test_each_excerpt_names_its_origin_its_version_and_its_licence(name: str) -> None:
    excerpt = publish(name)
    assert any(char.isdigit() for char in excerpt["origin"])
    assert excerpt["licence"].startswith(("MIT", "The MIT"))
    assert excerpt["made_by"] == "scripts/forge_schemas.py"


def first(description: Description, method: str, ending: str) -> Any:
    return next(each for each in description.operations if each.name.startswith(method) and each.name.endswith(ending))


def test_what_is_read_of_answers_are_fields_that_the_description_knows(kind: str) -> None:
    read = set(re.findall(r"""(?:\["|get\(")(\w+)"(?:\]|\))""", inspect.getsource(import_module(module_of(kind)))))
    field_names = {name for each in properties(APIS[kind](World()).description.excerpt) for name in each}
    assert len(read) > 20
    assert read <= field_names


def module_of(kind: str) -> str:
    return KINDS[kind].partition(":")[0]


def properties(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield all properties that a description contains, at any depth."""
    if isinstance(schema, Mapping):
        if isinstance(schema.get("properties"), Mapping):
            yield schema["properties"]
        for each in schema.values():
            yield from properties(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from properties(each)


def test_a_request_that_the_description_does_not_know_is_noticed(kind: str) -> None:
    description = APIS[kind](World()).description
    issues = first(description, "GET", "/issues")
    pulls = first(description, "POST", "/merge_requests" if kind == "gitlab" else "/pulls")
    branches = ("source_branch", "target_branch") if kind == "gitlab" else ("head", "base")
    body = {**dict.fromkeys(branches, "x"), "title": "t", "description" if kind == "gitlab" else "body": "x"}
    description.check_request(pulls, {}, body)
    with pytest.raises(AssertionError, match="has no GET /nothing"):
        description.operation("GET", "/nothing")
    with pytest.raises(AssertionError, match="knows no parameter labls"):
        description.check_request(issues, {"labls": "x"}, None)
    with pytest.raises(ValidationError):
        description.check_request(issues, {"state": "ajar"}, None)
    with pytest.raises(AssertionError, match="body"):
        description.check_request(issues, {}, {})
    for wrong in ({**body, "titel": "t"}, {**body, "title": 5}):
        with pytest.raises(ValidationError):
            description.check_request(pulls, {}, wrong)


def test_an_answer_that_the_description_does_not_know_is_noticed(kind: str) -> None:
    description = APIS[kind](World()).description
    comments = first(description, "POST", "/notes" if kind == "gitlab" else "/comments")
    right = {"id": 1, "body": "x"} | ({"noteable_type": "Issue"} if kind == "gitlab" else {})
    answer = description.answer(comments, 201, right)
    assert {**answer, **right} == answer
    for wrong in ({**right, "boddy": "x"}, {**right, "id": "1"}, {**right, "body": None}, [right]):
        with pytest.raises(ValidationError):
            description.answer(comments, 201, wrong)
    with pytest.raises(AssertionError, match="does not answer"):
        description.answer(comments, 302, right)


async def test_a_server_that_disagrees_with_its_description_fails_the_test(rig: Rig) -> None:
    rig.world.issue("Mend the answer")
    issue = rig.server.api._issue  # type: ignore[attr-defined]  # each of our forges has it
    rig.server.api._issue = lambda thread: {**issue(thread), "tittle": "x"}  # type: ignore[attr-defined]
    await rig.sync.look()
    assert rig.tasks() == []
    (error,) = rig.server.errors
    assert "tittle" in str(error)
    rig.server.errors.clear()


@pytest.mark.parametrize("kind", ["github"])
async def test_answers_with_what_they_must_have_alone_are_read(rig: Rig) -> None:
    rig.world.issue("Mend the answer")
    await rig.sync.look()
    await rig.work()
    rig.server.lean = True
    await rig.sync.tell()
    (pull,) = rig.world.pulls.values()
    rig.world.say(pull, "/nightshift more")
    rig.world.say(pull, "no", path="answer.txt", line=1)
    await rig.sync.look()
    assert rig.sync.status().fault == ""
    assert len(rig.tasks()) == 2, "the comment on a line alone must say who its writer is"
    rig.server.lean = False
    rig.begin_again()
    await rig.sync.look()
    assert len(rig.tasks()) == 3
