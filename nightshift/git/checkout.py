"""Updates the files of the daemon's own repository to its main branch, for people who look at the files."""

from __future__ import annotations

from nightshift.git.commands import Git
from nightshift.git.discovery import MAIN
from nightshift.git.repository import Repository


def show_tip(repository: Repository, before: str) -> str | None:
    """Update the files of the daemon's own repository from the last shown commit to the tip of main.

    Returns the reason if the files were not updated, or else None. `git apply --index` changes nothing at all unless
    the index and the file match the patch at every path that the patch touches. So edits that a person made in the
    repository are safe. The cost depends on the size of the change, not on the size of the repository. If a person has
    made commits, the update starts from the commit whose tree is in the index. The commands run in our view of the
    repository, but on the repository's index and files.
    """
    if (repository.common / "HEAD").read_text().strip() != f"ref: {MAIN}":
        return "another branch is checked out there"
    marker, tip = repository.common / "nightshift" / "shown", repository.resolve(MAIN)[0] or ""
    files = repository.view.over(
        repository.root, GIT_INDEX_FILE=str(repository.common / "index"), GIT_WORK_TREE=str(repository.root)
    )
    refused = _apply(repository, files, marker.read_text() if marker.exists() else before, tip)
    if refused:
        files.ask("update-index", "-q", "--refresh")
        start = _find_indexed(files, tip)
        refused = _apply(repository, files, start, tip) if start else refused
    if not refused:
        marker.write_text(tip)
    return refused or None


def _apply(repository: Repository, files: Git, start: str, tip: str) -> str:
    # The view's attributes make every patch binary: it names the contents by their ids, and git has the objects. So the
    # patch applies only to a file with exactly the old content.
    patch = repository.view.ask(
        "diff-tree", "-p", "--full-index", "--no-renames", "--ignore-submodules=none", start, tip
    )
    if patch.code:
        return patch.error
    answer = files.ask("apply", "--index", "--whitespace=nowarn", stdin=patch.out) if patch.out else None
    return answer.error or "refused" if answer and answer.code else ""


def _find_indexed(files: Git, tip: str) -> str | None:
    """Return the newest commit whose tree equals the index; None if there is none."""
    tree = files.ask("write-tree").text
    lines = files("log", "--max-count=1000", "--format=%H %T", tip).text.splitlines()
    return next((line.split()[0] for line in lines if line.endswith(f" {tree}")), None) if tree else None
