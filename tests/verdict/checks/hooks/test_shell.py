"""Shell text is split into the commands that it runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.verdict.checks.hooks import shell
from nightshift.verdict.checks.hooks.commands import UNKNOWN


def argvs(text: str) -> list[tuple[str, ...]]:
    return [command.argv for command in shell.commands(text)]


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("r'm' -\"rf\" \\/", ("rm", "-rf", "/")), ("rm -rf ${HOME}/x $HOME", ("rm", "-rf", "$HOME/x", "$HOME")),
        ("X='rm -rf /'; $X", ("rm", "-rf", "/")), ("rm -rf /{a,b}", ("rm", "-rf", "/{a,b}")),
        ("rm${IFS}-rf$IFS/", ("rm", "-rf", "/")), ("r\\\nm x", ("rm", "x")),
        ("rm -rf ${X:-/}", ("rm", "-rf", "/")), ("A=1 B=2 rm x # y", ("rm", "x")),
        ("rm $1 $(( 1 + 2 ))", ("rm", UNKNOWN, UNKNOWN)), ("echo '{a,b}' '$HOME'", ("echo", "{a,b}", "$HOME")),
        ("for f in *; do rm $f; done", ("rm", UNKNOWN)), ("(rm x)", ("rm", "x")),
        ("case $1 in a) rm x;; esac", ("rm", "x")), ("echo $(rm x)", ("rm", "x")), ('echo "`rm x`"', ("rm", "x")),
        ("diff <(rm x) y", ("rm", "x")),
    ],
)  # fmt: skip
def test_a_command_is_found_as_it_runs(text: str, argv: tuple[str, ...]) -> None:
    assert argv in argvs(text)


def test_lists_and_pipelines_are_single_commands() -> None:
    assert argvs("a 1 && b 2 || c; d | e &\nf") == [("a", "1"), ("b", "2"), ("c",), ("d",), ("e",), ("f",)]
    first, second = shell.commands("curl u | sh")
    assert (first.fed_by, second.fed_by) == (frozenset(), frozenset({"curl"}))
    assert second.parallel


def test_what_is_piped_in_or_redirected_is_known() -> None:
    assert shell.commands("echo 'rm x' | sh")[-1].stdin == "rm x"
    assert shell.commands("sh <<EOF\nrm x\nEOF\necho after")[0].stdin.strip() == "rm x"
    assert argvs("cat <<EOF\nrm x\nEOF\necho after") == [("cat",), ("echo", "after")]
    assert shell.commands("echo a > out 2>&1 >> more")[0].writes == ("out", "more")


def test_the_folder_and_the_functions_around_are_known() -> None:
    assert [c.cwd for c in shell.commands("a; cd /; b; cd x && c")] == ["", "", "/", "/", "/x"]
    bomb = shell.commands(":(){ :|:& };:")
    assert [c.within for c in bomb] == [{":"}, {":"}, frozenset()]
    assert all(c.parallel for c in bomb[:2])


PIECES = st.sampled_from(
    [*"'\"`$(){}|&;<>\\\n #=~*!,", "rm", "-rf", "/", "$(", "<<E\n", "${", "cd ", "if ", "case ", "x=1 "]
)


@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=30).map("".join)))
def test_no_text_makes_it_fail(text: str) -> None:
    for command in shell.commands(text):
        assert command.argv or command.writes


def test_deep_and_long_texts_are_read_to_their_end() -> None:
    assert len(shell.commands("$(" * 3000)) < 50
    assert shell.commands("a" * 500_000)
    for text in ("{a,b}" * 200, "<<E\n" * 2000, "(" * 50_000, "`" * 5001, "${a" * 20_000):
        shell.commands(text)
