"""Reading `tasks.yaml`: which entries count as the same task, and where faults are reported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.tasks.task import Kind, TaskSpec
from nightshift.queue.intake.marked_yaml import BrokenFile
from nightshift.queue.intake.tasks_file import MAX_BYTES, Entry, content_key, load_bytes, load_file, read_tasks


def faults_of(text: str | bytes) -> list[str]:
    try:
        faults = (read_tasks(text) if isinstance(text, str) else load_bytes(text)).faults
    except BrokenFile as broken:
        faults = broken.faults
    assert faults
    return [str(fault) for fault in faults]


def only(text: str) -> Entry:
    (entry,) = read_tasks(text).entries
    return entry


@pytest.mark.parametrize("text", ["", "\n# only a comment\n", "tasks:", "tasks: []", "\ufeff"])
def test_a_file_without_entries_is_fine(text: str) -> None:
    assert read_tasks(text).entries == ()


def test_every_field_of_a_task_can_be_given() -> None:
    spec = only("""
tasks:
  - description: |
      Make it.
    priority: 5
    repo: /srv/repo
    base: develop
    kind: web_app
    language: python
    tests: {"test_a.py": "def test_a():\\n    assert 1\\n"}
    files:
      a.py: |
        x = 1
    depends_on: [3, 3, 4]
    key: mine
    not_before: 2026-11-22 08:00:00+01:00
    limits: {iterations: 5, wall_s: 60}
    review: true
    audit: false
    clarify: yes
    metadata: {category: api, when: 2026-11-22, n: [1, 2.5, null]}
""").spec
    assert spec.description == "Make it."
    written = ("/srv/repo", "develop", Kind.WEB_APP, "mine")
    assert (spec.priority, spec.repo, spec.base, spec.kind, spec.key) == (5, *written)
    assert spec.files == {"a.py": "x = 1\n"}
    assert spec.depends_on == (3, 4)
    assert spec.not_before is not None
    assert spec.not_before.isoformat() == "2026-11-22T07:00:00+00:00"
    assert (spec.limits.iterations, spec.review, spec.audit, spec.clarify) == (5, True, False, True)
    assert spec.metadata == {"category": "api", "when": "2026-11-22", "n": [1, 2.5, None]}


SAME = "tasks:\n  - description: Do it\n    priority: 2\n    limits: {tokens: 10, iterations: 3}\n"


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\n" + SAME + "\n\n",
        "tasks:\n  - priority: 2  # now\n    limits:\n     iterations: 3\n     tokens: 10\n    description: 'Do it'\n",
        "tasks: [{description: Do it, priority: +2, limits: {tokens: 10, iterations: 3}}]",
        SAME.replace("iterations: 3", "iterations: 3, wall_s: null")
        + "    language: python\n    files: {}\n    repo: ~\n",
    ],
)
def test_comments_order_spacing_and_defaults_do_not_make_another_task(text: str) -> None:
    assert only(text).key == only(SAME).key


def test_the_key_of_a_content_never_changes_between_versions() -> None:
    spec = TaskSpec(description="Do it", priority=2)
    assert content_key(spec) == "file:69d4c076d7529a655c7cbd74b8fe7ab7"


def test_one_key_for_two_different_tasks_is_a_fault() -> None:
    text = "tasks:\n- description: a\n  key: k\n- description: b\n  key: k\n"
    assert faults_of(text) == ["5:3: key: 'k' is in line 2 already, for another task"]


def test_entries_may_depend_on_entries_above_by_their_key() -> None:
    text = "tasks:\n- {description: a, key: first}\n- {description: b, depends_on: [7, first, first]}\n"
    second = read_tasks(text).entries[1]
    assert (second.spec.depends_on, second.after) == ((7,), ("first",))
    assert second.key != only("tasks:\n- {description: b, depends_on: [7]}\n").key


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tasks:\n  - description: a\n    priority: high\n", "3:5: priority: Input should be a valid integer"),
        ("tasks:\n  - priority: 3\n", "2:5: description: Field required"),
        (
            "tasks:\n  - description: a\n    limits:\n      tokens: 1\n      tries: 9\n",
            "5:7: limits.tries: unknown field",
        ),
        ("tasks:\n  - description: a\n    depends_on:\n      - 1\n      - 2.5\n", "5:9: depends_on.1: "),
        ("tasks:\n  - description: a\n    files: {../a: x}\n", "3:5: files: '../a': must be relative"),
        ("tasks:\n  - description: a\n    description: b\n", "3:5: the key 'description' appears twice"),
        ("tasks:\n  - description: a\n    metadata: {1: b}\n", "3:16: a key must be a text; put it in quotes"),
        (
            "tasks:\n  - description: !!python/name:os.system a\n",
            "2:18: the tag !!python/name:os.system is not allowed",
        ),
        ("tasks:\n  - description: a\n    priority: !!int high\n", "3:15: 'high' is not a value of the kind int"),
        ("tasks:\n  - description: a\n    priority: " + "9" * 5000 + "\n", "3:15: '9999"),
        ("tasks: 3\n", "1:1: tasks: must be a list"),
        ("task:\n  - a\n", "1:1: unknown key at the top"),
        ("tasks:\n  - 'a\n", "3:1: "),
        ("tasks: []\n--- \ntasks: []\n", "2:1: "),
        ("tasks:\n  - a\x07b\n", "2:6: unprintable character '\\x07'"),
    ],
)
def test_a_fault_names_its_line_and_column(text: str, expected: str) -> None:
    (fault,) = faults_of(text)
    assert fault.startswith(expected)


@pytest.mark.parametrize(
    ("entry", "position"),
    [
        ("Fix issue #42 in the parser", "2:5"),
        ("{description: a, metadata: {to: Jo #7\n}}", "2:37"),
        ("'Fix the crash'  #1234", "2:5"),
        ("&self is left out", "2:5"),
        ("!important fix", "2:5"),
        ("*args are lost", "2:5"),
        ("@home is wrong", "2:5"),
        ("[WIP] fix it", "2:11"),
        ("> 5 items fail", "2:7"),
        ("Fix x: y", "2:5"),
        ("? why is it wrong", "2:5"),
        ("no", "2:5"),
        ("42", "2:5"),
        ("{description: a, key: no}", "2:22"),
    ],
)
def test_a_text_that_yaml_reads_otherwise_is_a_fault_that_asks_for_quotes(entry: str, position: str) -> None:
    faults = faults_of(f"tasks:\n  - {entry}\n")
    assert [fault.partition(": ")[0] for fault in faults] == [position]
    assert "in quotes" in faults[0]


def test_other_comments_behind_a_text_are_told() -> None:
    reading = read_tasks("tasks:\n  - Do it  # now\n  - {description: b, priority: 2}  # or never\n  - |\n    c # d\n")
    assert reading.notices == ("line 2: '# now' is a comment, and not part of the task",)
    assert [entry.spec.description for entry in reading.entries] == ["Do it", "b", "c # d"]


@pytest.mark.parametrize("written", ["010", "1:30", "1_000", "0x1F", ".5", "1.", ".nan"])
def test_what_json_would_not_read_as_a_number_is_a_text(written: str) -> None:
    entry = only(f"tasks: [{{description: a, key: {written}, metadata: {{version: {written}}}}}]\n")
    assert (entry.key, entry.spec.metadata) == (written, {"version": written})
    (fault,) = faults_of(f"tasks:\n  - {{description: a, priority: {written}}}\n")
    assert fault.startswith("2:22: priority: ")


def test_an_entry_with_a_fault_holds_up_itself_alone() -> None:
    reading = read_tasks(
        "tasks:\n- a\n- {description: b, priority: high}\n- c\n- {description: d, d: 1, d: 2}\n"
        "- {description: !!x e}\n- f\n"
    )
    assert [entry.spec.description for entry in reading.entries] == ["a", "c", "f"]
    assert [fault.line for fault in reading.faults] == [3, 5, 6]
    assert reading.total == 6


def test_what_depends_on_an_entry_with_a_fault_waits_with_it() -> None:
    reading = read_tasks(
        "tasks:\n- {description: a, key: a, priority: x}\n- {description: b, key: b, depends_on: [a]}\n"
        "- {description: c, depends_on: [b]}\n- d\n"
    )
    assert [entry.spec.description for entry in reading.entries] == ["d"]
    assert [str(fault) for fault in reading.faults[1:]] == [
        "3:41: depends_on: waits for the entry 'a' in line 2, which has faults of its own",
        "4:33: depends_on: waits for the entry 'b' in line 3, which has faults of its own",
    ]


def test_text_that_is_not_utf_8_is_a_fault_at_its_place() -> None:
    assert faults_of("tasks:\n  - é".encode() + b"\xff") == ["2:6: is not UTF-8 text"]


def test_aliases_are_refused_so_that_a_file_cannot_grow_while_it_is_read() -> None:
    laughs = "a: &a [x,x]\n" + "".join(f"{b}: &{b} [*{a},*{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    assert faults_of(laughs)[0].startswith("2:8: aliases (*name) are not allowed here")


def test_deep_nesting_is_refused_without_deep_recursion() -> None:
    (fault,) = faults_of("tasks: " + "[" * 200_000)
    assert fault == "1:57: nested more than 50 deep"


def test_a_huge_file_is_refused_without_being_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "tasks.yaml"
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES * 1000)
    with pytest.raises(BrokenFile, match="is larger than 8 MB"):
        load_file(path)


PIECES = ["tasks:", "\n", "  ", "- ", "description: ", *"a'\"[]{},:#|1~", "&x ", "*x", "!!int "]


@given(
    st.one_of(
        st.text(), st.lists(st.sampled_from(PIECES)).map("".join), st.text(st.characters()).map("tasks:\n- ".__add__)
    )
)
def test_any_text_is_read_or_refused_with_its_own_fault(text: str) -> None:
    try:
        reading = read_tasks(text)
    except BrokenFile as broken:
        assert all(fault.line >= 1 and fault.column >= 1 for fault in broken.faults)  # noqa: PT017  # both ways are right
    else:
        assert len({entry.key for entry in reading.entries}) == len(reading.entries)


JSON_NUMBER = re.compile(r"-?\d+[eE][-+]?\d+", re.ASCII)
"""Texts that are numbers in `tasks.yaml` but not in YAML 1.1. PyYAML therefore writes them without quotes."""
TEXT = st.text().filter(lambda text: not JSON_NUMBER.fullmatch(text))
LEAF = (
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
TREE = st.recursive(LEAF, lambda below: st.lists(below, max_size=3) | st.dictionaries(TEXT, below, max_size=3))


@given(st.dictionaries(TEXT, TREE, max_size=4))
def test_what_yaml_writes_is_what_is_read(metadata: dict[str, object]) -> None:
    text = yaml.safe_dump({"tasks": [{"description": "a", "metadata": metadata}]}, default_flow_style=None)
    try:
        read = only(text)
    except BrokenFile as broken:
        assert "alias" in str(broken)  # noqa: PT017  # the dumper writes one for a list that stands in two places
    else:
        assert read.spec.metadata == metadata


def test_a_language_that_was_chosen_is_no_part_of_the_key_and_one_that_was_said_is() -> None:
    chosen, stated, python = (
        only(f"tasks:\n  - description: Mend app.js\n{more}").spec
        for more in ("", "    language: javascript\n", "    language: python\n")
    )
    assert (chosen.language, stated.language, python.language) == ("javascript", "javascript", "python")
    assert chosen.key == python.key != stated.key
