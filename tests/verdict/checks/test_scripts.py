"""Shell commands in files that are not shell scripts."""

from __future__ import annotations

from nightshift.verdict.checks import scripts


def test_the_ending_or_the_first_line_tells_what_a_file_is() -> None:
    kinds = {
        "#!/usr/bin/env -S python3 -u\n": "python",
        "#! /bin/sh -e\n": "shell",
        "#!/usr/bin/env node\n": "javascript",
    }
    assert {line: scripts.interpreter("bin/run", line) for line in kinds} == kinds
    endings = {"a.py": "python", "a.sh": "shell", "a.ts": "javascript", "a.txt": None}
    assert {path: scripts.interpreter(path, "rm -rf /") for path in endings} == endings


def test_a_long_first_line_is_no_interpreter() -> None:
    assert scripts.interpreter("a", "#!" + "a/" * 200_000) is None


def test_recipes_have_their_variables_put_in() -> None:
    text = "ROOT = /usr\nX := $(shell ls)\nall: a\n\t@rm -rf $(ROOT)/x \\\n\t  $(X)\n\techo $$HOME\n\nb:\n\t-true\n"
    assert list(scripts.shells("Makefile", text)) == [(4, "rm -rf /usr/x  \t  ${X}"), (6, "echo $HOME"), (9, "true")]


def test_scripts_of_a_package_are_found_with_their_lines() -> None:
    text = '{\n  "scripts": {\n    "test": "node --test",\n    "clean": "rm -rf /"\n  }\n}'
    assert list(scripts.shells("package.json", text)) == [(3, "node --test"), (4, "rm -rf /")]
    for broken in ("", "[]", '{"scripts": []}', '{"scripts": {"a": 1}}', "[" * 9999):
        assert list(scripts.shells("package.json", broken)) == []


def test_steps_of_an_image_are_found() -> None:
    text = 'FROM x\nRUN apt-get update \\\n  && rm -rf /x\nRUN ["a"]\nCMD rm\n'
    assert list(scripts.shells("Dockerfile", text)) == [(2, "apt-get update    && rm -rf /x")]
