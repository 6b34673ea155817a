from __future__ import annotations

import json

from nightshift.core.tasks.projects import Scope
from nightshift.verdict.environments import setup_scripts
from nightshift.verdict.environments.declared_files import DeclaredFiles
from tests.support.trees import TextTree

OURS, THEIRS, CURSOR = ".nightshift/setup.sh", ".openhands/setup.sh", ".cursor/environment.json"
INSTALL = json.dumps({"install": "npm ci", "start": "never"})
COPILOT = """
jobs:
  copilot-setup-steps:
    steps:
      - uses: actions/checkout@v5
      - run: |
          pip install -r requirements.txt
          make build
      - run: npm ci
        working-directory: web; rm -rf x
  other:
    steps:
      - run: never
"""


def test_the_first_form_that_a_commit_has_counts() -> None:
    all_of_them = {OURS: "one\n", THEIRS: "two\n", CURSOR: INSTALL}
    for path, text in ((OURS, "one\n"), (THEIRS, "two\n"), (CURSOR, "npm ci")):
        script = setup_scripts.find(DeclaredFiles(TextTree(all_of_them)))
        assert script
        assert (script.path, script.text) == (path, text)
        all_of_them.pop(path)
    assert setup_scripts.find(DeclaredFiles(TextTree(all_of_them))) is None


def test_a_file_of_cursor_without_a_command_is_no_script() -> None:
    for text in ("", "{", "[]", '{"install": ["x"]}', '{"start": "x"}', "[" * 100_000):
        assert setup_scripts.find(DeclaredFiles(TextTree({CURSOR: text}))) is None


def test_what_is_agreed_to_covers_the_files_that_the_script_names_but_no_lists_of_packages() -> None:
    files = {OURS: "./tools/build.sh && make -C . && pip install -r requirements.txt\n", "tools/build.sh": "echo\n",
             "Makefile": "all:\n", "requirements.txt": "six\n", "code.py": "X = 1\n"}  # fmt: skip
    first = setup_scripts.find(DeclaredFiles(TextTree(files)))
    assert first
    assert sorted(first.named) == ["Makefile", "tools/build.sh"]

    def after(**changed: str) -> tuple[bool, bool]:
        other = setup_scripts.find(DeclaredFiles(TextTree({**files, **changed})))
        assert other
        return other.digest == first.digest, other.made_of == first.made_of

    assert after(**{"code.py": "X = 2\n"}) == (True, True)
    assert after(**{"requirements.txt": "seven\n"}) == (True, False)
    assert after(Makefile="all: evil\n")[0] is False
    assert after(**{"tools/build.sh": "evil\n"})[0] is False
    assert after(**{OURS: files[OURS] + "\n"})[0] is False


def test_a_project_has_its_own_script_or_that_of_the_root() -> None:
    files = {OURS: "root\n", f"web/{OURS}": "web\n", "web/a.py": "", "api/a.py": ""}
    web, api = (Scope(project=name).of(TextTree(files)) for name in ("web", "api"))
    mine, root = setup_scripts.find(DeclaredFiles(web)), setup_scripts.find(DeclaredFiles(api))
    assert mine
    assert root
    assert (mine.text, mine.folder) == ("web\n", "web/")
    assert (root.text, root.folder) == ("root\n", "")


def test_steps_of_copilot_are_a_draft_and_never_a_script() -> None:
    files = DeclaredFiles(TextTree({".github/workflows/copilot-setup-steps.yml": COPILOT}))
    assert setup_scripts.find(files) is None
    assert setup_scripts.draft(files) == (
        "#!/bin/bash\nset -e\n# left out: actions/checkout@v5\npip install -r requirements.txt\nmake build\n"
        "(cd 'web; rm -rf x' &&\nnpm ci\n)\n"
    )
    with_script = TextTree({".github/workflows/copilot-setup-steps.yml": COPILOT, OURS: "true\n"})
    assert setup_scripts.draft(DeclaredFiles(with_script)) == ""


def test_steps_that_are_none_make_no_draft() -> None:
    for text in ("", "jobs: []", "jobs: {copilot-setup-steps: {steps: x}}", "a: [", "jobs: {x: &a [*a]}"):
        assert setup_scripts.draft(DeclaredFiles(TextTree({".github/workflows/copilot-setup-steps.yml": text}))) == ""
