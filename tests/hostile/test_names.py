"""File names and sizes that a model may choose and that harm a naive writer; Nightshift refuses each at every entry."""

from __future__ import annotations

import contextlib
import json
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from nightshift.agent.draft import Draft
from nightshift.agent.replies import reader
from nightshift.core.code.paths import path_fault
from nightshift.core.dialogue import Completion
from nightshift.core.errors import BadReply, GitError, InvalidTask, SandboxError
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import TaskSpec
from nightshift.sandbox import packing
from nightshift.verdict.languages import test_config
from tests.git.conftest import Bench, message
from tests.support.git_repo import git, make_repo
from tests.support.trees import TextTree

IGNORED = {"\u200c", "\u200d", "\u200e", "\u200f", "\u202a", "\u202e", "\u2060", "\ufeff", "\u206f"}


def outside(root: Path, name: str) -> bool:
    """Check whether the canary beside the folder was overwritten."""
    return (root / "canary").read_text() != "whole"


def steers_git(root: Path, name: str) -> bool:
    """Check whether a file was written whose name some operating system reads as one of git's own files."""
    return any(read_as(path.relative_to(root / "tree")) for path in (root / "tree").rglob("*"))


def read_as(path: Path) -> bool:
    """Check whether macOS or Windows reads a name as one of git's own files.

    Both systems ignore case and some characters. Windows ignores some endings too, and gives files short names.
    """
    first = unicodedata.normalize("NFKC", path.parts[0])
    folded_name = "".join(c for c in first if c not in IGNORED).casefold().partition(":")[0].rstrip(". ")
    return folded_name in {".git", "git~1", ".gitmodules", "gi7eba~1"}


def misleads(root: Path, name: str) -> bool:
    """Check whether a list of the names, one per line, misleads a reader.

    An extra line, a terminal escape or reversed text misleads.
    """
    listed = "\n".join(str(path.relative_to(root / "tree")) for path in sorted((root / "tree").rglob("*")))
    hidden = any(unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"} for c in listed.replace("\n", ""))
    return hidden or listed.count("\n") != len(list((root / "tree").rglob("*"))) - 1


def becomes_an_option(root: Path, name: str) -> bool:
    """Check whether a program that gets the names as arguments mistakes one for an option or for a user's home."""
    return any(path.name[0] in "-~" for path in (root / "tree").rglob("*"))


def cannot_be_told_apart(root: Path, name: str) -> bool:
    """Check whether two different names on this disk are the same name on other systems."""
    names = [str(path) for path in (root / "tree").rglob("*")]
    return len({unicodedata.normalize("NFC", name).casefold() for name in names}) < len(names)


def looks_like_another(root: Path, name: str) -> bool:
    """Check whether two names look the same to a reader."""
    (root / "tree/site.py").write_text("")
    alike = str.maketrans("\u0430\u0435\u0456\u043e\u0440\u0441\u0443\u0445", "aeiopcyx")
    names = [path.name.translate(alike) for path in (root / "tree").rglob("*.py")]
    return len(set(names)) < len(names)


def opens_a_device(root: Path, name: str) -> bool:
    """Check whether Windows opens a device instead of a file for one of the names, whatever its suffix or folder."""
    names = [unicodedata.normalize("NFKC", path.name).lower() for path in (root / "tree").rglob("*")]
    stems = {name.partition(".")[0].partition(":")[0].strip() for name in names}
    return bool(stems & {"con", "prn", "aux", "nul", "conin$", "conout$", "com1", "lpt9"})


@dataclass(frozen=True, slots=True)
class Name:
    """A name, and the harm that it does to a program that writes it unchecked."""

    path: str
    harm: Callable[[Path, str], bool]


NAMES = {
    "climbs": Name("../canary", outside),
    "is_absolute": Name("{root}/canary", outside),
    "is_of_git": Name(".git/hooks/pre-commit", steers_git),
    "is_of_git_for_a_mac": Name(".GIT/config", steers_git),
    "is_of_git_with_ignored_characters": Name(".g\u200cit/config", steers_git),
    "is_of_git_for_windows": Name("git~1/config", steers_git),
    "is_of_git_with_a_stream": Name(".git::$INDEX_ALLOCATION/config", steers_git),
    "is_a_list_of_modules": Name(".gitmodules", steers_git),
    "has_a_second_line": Name("a.py\nb.py", misleads),
    "has_a_command_for_terminals": Name("a\x1b]0;evil\x07.py", misleads),
    "reads_backwards": Name("exe\u202eyp.txt", misleads),
    "has_a_letter_of_another_alphabet": Name("s\u0456te.py", looks_like_another),
    "is_an_option": Name("--upload-pack=evil", becomes_an_option),
    "is_the_terminal": Name("a/CON", opens_a_device),
    "is_a_port_with_a_raised_digit": Name("com\u00b9", opens_a_device),
}


def take_from_a_model(change: dict[str, str], asked: str = "x") -> dict[str, str | None]:
    """Return the files of a model's reply that are accepted into its change."""
    entries = [{"path": path, "content": text} for path, text in change.items()]
    draft = Draft(TextTree(), {}, TaskSpec(description=asked))
    with contextlib.suppress(BadReply):
        draft.take(reader.parse(Completion(text=json.dumps({"files": entries}), backend="b", model="m")))
    return draft.change


def naive(root: Path, path: str) -> None:
    """Act as a daemon that trusts a model: write the file to the path it gives."""
    target = root / "tree" / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("touched")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "tree/a").mkdir(parents=True)
    (folder / "canary").write_text("whole")
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_hurts_a_naive_writer_comes_through_no_door(name: str, root: Path, tmp_path: Path) -> None:
    case = NAMES[name]
    path = case.path.format(root=root)
    naive(root, path)
    assert case.harm(root, path), "the naive writer is not hurt"
    assert_refused({path: "touched"}, tmp_path)


def assert_refused(change: dict[str, str], folder: Path) -> None:
    """Check that every entry point refuses the change: a task, a model's reply, staging and a commit."""
    for field in ("files", "tests"):
        with pytest.raises(InvalidTask):
            parse_spec({"description": "x", field: change})
    with pytest.raises(SandboxError):
        packing.pack((path, text.encode()) for path, text in change.items())
    assert not test_config.sift(change, base=lambda _: None, given={}).staged
    assert not [path for path in take_from_a_model(change) if path_fault(path)]
    bench, repo = Bench(folder / "bench"), make_repo(folder / "repo")
    where = bench.git.open(str(repo), None, 7, "x")
    with pytest.raises(GitError):
        bench.git.commit(where, where.base, change, message())
    bench.git.close()


PAIRS = {
    "differ_in_case": {"pkg/Name.py": "", "pkg/name.py": ""},
    "differ_in_a_folders_case": {"Pkg/a.py": "", "pkg/a.py": ""},
}


@pytest.mark.parametrize("name", PAIRS)
def test_two_names_that_are_one_elsewhere_come_through_no_door(name: str, root: Path, tmp_path: Path) -> None:
    for path in PAIRS[name]:
        naive(root, path)
    assert cannot_be_told_apart(root, "")
    with pytest.raises(InvalidTask):
        parse_spec({"description": "x", "files": PAIRS[name]})
    bench, repo = Bench(tmp_path / "bench"), make_repo(tmp_path / "repo")
    where = bench.git.open(str(repo), None, 7, "x")
    with pytest.raises(GitError):
        bench.git.commit(where, where.base, PAIRS[name], message())
    bench.git.close()


@pytest.mark.parametrize("path", ["link", "folder/canary"])
def test_a_link_in_a_repository_is_not_followed(path: str, root: Path, tmp_path: Path) -> None:
    repo = make_repo(root / "tree")
    (repo / "link").symlink_to("../canary")
    (repo / "folder").symlink_to("..")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "Links")
    bench = Bench(tmp_path / "bench")
    where = bench.git.open(str(repo), None, 7, "x")
    assert not {"link", "folder"} & where.tree.entries().keys(), "no run sees a link"
    with pytest.raises(GitError):
        bench.git.commit(where, where.base, {path: "touched"}, message())
    bench.git.close()
    assert not outside(root, path)
    naive(root, path)
    assert outside(root, path), "the naive writer is not hurt"


BULKS = {
    "too_many_files": {f"f{number}.py": "" for number in range(501)},
    "one_file_too_long": {"big.py": "x" * 1_000_001},
    "too_deep": {"/".join("d" * 30) + "/a.py": ""},
}


@pytest.mark.parametrize("name", BULKS)
def test_too_much_is_no_task_and_no_reply(name: str, root: Path) -> None:
    for path, text in BULKS[name].items():
        naive(root, path) if not text else (root / "tree" / path).write_text(text)
    written = [path for path in (root / "tree").rglob("*") if path.is_file()]
    assert len(written) == len(BULKS[name]), "the naive writer takes it all"
    with pytest.raises(InvalidTask):
        parse_spec({"description": "x", "files": BULKS[name]})
    texts = {path: text or "" for path, text in take_from_a_model(BULKS[name]).items()}
    assert len(texts) <= 500
    assert sum(map(len, texts.values())) <= 8_000_000
    assert all(len(text) <= 1_000_000 and path_fault(path) is None for path, text in texts.items())


TOOLING = (
    ".envrc", ".github/workflows/a.yml", ".pre-commit-config.yaml", "CLAUDE.md", "setup.py", "lib/makefile",
    "web/Dockerfile.dev", ".VSCode/tasks.json",
)  # fmt: skip


@pytest.mark.parametrize("path", TOOLING)
def test_what_runs_for_whoever_opens_the_repository_is_taken_only_if_asked_for(path: str, root: Path) -> None:
    naive(root, path)
    assert (root / "tree" / path).exists(), "the naive writer takes it"
    assert not take_from_a_model({path: "x\n"})
    assert take_from_a_model({path: "x\n"}, asked=f"Write {path} for us") == {path: "x\n"}
