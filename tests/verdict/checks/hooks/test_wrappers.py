"""Commands that run another command, as `sudo` or `env` do: none hides the inner command from the patterns."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.verdict.checks.hooks import shell
from nightshift.verdict.checks.hooks.commands import Command
from nightshift.verdict.checks.hooks.hooks import CommandHooks
from nightshift.verdict.checks.hooks.wrappers import unwrap

DANGER = ("rm", "-rf", "/")
LAYERS = [
    ("env", "A=1", "-u", "B"),
    ("sudo", "-u", "root", "-n"),
    ("timeout", "-s", "KILL", "5"),
    ("nohup",),
    ("stdbuf", "-oL"),
    ("exec", "-a", "name"),
    ("xargs", "-n", "1"),
    ("busybox",),
    ("uv", "run"),
    ("find", ".", "-name", "x", "-exec"),
]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer[0])
def test_each_wrapper_is_opened(layer: tuple[str, ...]) -> None:
    assert DANGER in [inner.argv for inner in unwrap(Command(argv=(*layer, *DANGER)))]


@pytest.mark.parametrize(
    "text",
    [
        "bash --norc -e -o pipefail -c 'rm -rf /' name", "eval rm -rf /", "su -c 'rm -rf /' root",
        "echo / | xargs rm -rf", "find / -exec rm -rf {} +", "bash <<< 'rm -rf /'", "trap 'rm -rf /' EXIT",
        """python -I -c 'import subprocess as s; s.run(["rm", "-rf", "/"])'""", "sh -c \"sh -c 'rm -rf /'\"",
        "f() { rm -rf /; }; f",
    ],
)  # fmt: skip
def test_texts_that_are_run_are_read(text: str) -> None:
    assert any(blocked.rule == "command.rm-outside" for blocked in CommandHooks().in_text(text))


@pytest.mark.parametrize(
    "text", ["timeout 5 echo rm -rf /", "echo 'rm -rf /'", "git commit -m 'rm -rf /'", "env A='rm -rf /' ls"]
)
def test_words_that_are_only_said_are_not_run(text: str) -> None:
    assert list(CommandHooks().in_text(text)) == []


@given(st.lists(st.sampled_from(LAYERS[:-1]), max_size=5), st.integers(0, 3))
def test_wrappers_and_shells_in_any_order_do_not_hide_a_deletion(layers: list[tuple[str, ...]], shells: int) -> None:
    argv = (*(word for layer in layers for word in layer), *DANGER)
    for _ in range(shells):
        argv = ("sh", "-c", shlex.join(argv))
    assert CommandHooks().refusal(argv)
    assert list(CommandHooks().in_text(f"make all && {shlex.join(argv)}; echo done"))


@given(
    st.lists(
        st.one_of(st.text(max_size=8), st.sampled_from(["sh", "-c", "find", "-exec", "env", "python", "xargs"])),
        max_size=8,
    )
)
def test_no_arguments_make_it_fail(words: list[str]) -> None:
    CommandHooks().refusal(words)
    assert list(unwrap(Command(argv=tuple(words))))


def test_wrappers_without_end_end() -> None:
    assert len(list(unwrap(Command(argv=("env",) * 5000)))) < 20
    nested = "rm -rf /"
    for _ in range(12):
        nested = shlex.join(["sh", "-c", nested])
    assert len(shell.commands(nested)) == 1
