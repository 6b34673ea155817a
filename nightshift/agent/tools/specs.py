"""The tool specifications that models see; names and arguments resemble those that models were trained on."""

from __future__ import annotations

from nightshift.core.tools import ToolParameter, ToolSpec


def _text(name: str, description: str, *, required: bool = False) -> ToolParameter:
    return ToolParameter(name=name, description=description, required=required)


def _number(name: str, description: str) -> ToolParameter:
    return ToolParameter(name=name, description=description, type="integer")


LIST_FILES = ToolSpec(
    name="list_files",
    description="List files. Large folders are counted, not listed.",
    parameters=(_text("path", "folder; the root by default"), _text("glob", "such as *.py or src/**/*.ts")),
)
SEARCH = ToolSpec(
    name="search",
    description="Find the lines that match a regular expression (RE2; (?i) ignores case).",
    parameters=(
        _text("pattern", "the expression", required=True),
        _text("path", "file or folder to look in"),
        _text("glob", "such as *.py"),
        _number("page", "50 matches a page, from 1"),
    ),
    body=("pattern",),
)
READ_FILE = ToolSpec(
    name="read_file",
    description="Read numbered lines of a file. Without start, a long file is answered with its outline.",
    parameters=(
        _text("path", "the file", required=True),
        _number("start", "first line, from 1"),
        _number("lines", "how many, 200 by default"),
    ),
)
EDIT = ToolSpec(
    name="edit",
    description="Replace a text that stands in a file exactly once. Quote it as it is there, without line numbers.",
    parameters=(
        _text("path", "the file", required=True),
        _text("old", "the text to replace", required=True),
        _text("new", "what to put in its place", required=True),
        ToolParameter(name="all", description="replace every occurrence", type="boolean"),
    ),
    body=("old", "new"),
)
WRITE_FILE = ToolSpec(
    name="write_file",
    description="Write a whole file, new or in place of the old one. Prefer edit for files that exist.",
    parameters=(
        _text("path", "the file", required=True),
        _text("content", "its whole text", required=True),
        ToolParameter(name="delete", description="remove the file instead", type="boolean"),
    ),
    body=("content",),
)
RUN = ToolSpec(
    name="run",
    description=(
        "Run a shell command in a copy of the repository with your change: python, pytest, small scripts. Each call "
        "starts anew, without network and without git. Text files that it writes become part of your change."
    ),
    parameters=(_text("command", "for sh -c", required=True), _number("timeout", "seconds, 60 by default")),
    body=("command",),
)
RUN_TESTS = ToolSpec(
    name="run_tests",
    description="Run test files as the judge would, for your information. Without files: those of the task.",
    parameters=(_text("files", "paths of test files, one a line"),),
    body=("files",),
)
ASK = ToolSpec(
    name="ask",
    description="Ask the owner, who may answer tomorrow. Only for what the task needs and nothing here can tell.",
    parameters=(
        _text("question", "one question", required=True),
        _text("default", "what you do if nobody answers", required=True),
    ),
    body=("question",),
)
CANNOT = ToolSpec(
    name="cannot",
    description="Say that the task cannot or must not be done as it stands.",
    parameters=(_text("reason", "why", required=True),),
    body=("reason",),
)
DONE = ToolSpec(
    name="done",
    description="End: the change is complete. It is judged by tests next.",
    parameters=(_text("summary", "what the change does, imperative, at most 70 characters", required=True),),
    body=("summary",),
)

READING = (LIST_FILES, SEARCH, READ_FILE)
"""Tools of every phase."""
WORKING = (*READING, EDIT, WRITE_FILE, RUN, RUN_TESTS, ASK, CANNOT, DONE)
"""Tools of the phase that writes the change."""
ENDING = frozenset({ASK.name, CANNOT.name, DONE.name})

ALIASES = {
    **dict.fromkeys(("ls", "list", "list_dir", "list_directory", "glob", "find_files"), LIST_FILES.name),
    **dict.fromkeys(("grep", "grep_search", "search_files", "search_codebase", "rg"), SEARCH.name),
    **dict.fromkeys(("read", "view", "view_file", "open", "open_file", "cat", "read_files"), READ_FILE.name),
    **dict.fromkeys(("edit_file", "str_replace", "replace", "replace_in_file", "apply_edit"), EDIT.name),
    **dict.fromkeys(("create_file", "create", "write", "save_file", "write_to_file"), WRITE_FILE.name),
    **dict.fromkeys(("bash", "shell", "terminal", "execute", "run_command", "run_shell_command"), RUN.name),
    **dict.fromkeys(("test", "tests", "pytest", "run_test"), RUN_TESTS.name),
    **dict.fromkeys(("finish", "submit", "complete", "task_done", "attempt_completion"), DONE.name),
}
"""Names of these tools in other programs; models call the tools by these names too."""


def is_outside(name: str) -> bool:
    """Check whether a name has the form of a server's tool (`server__tool`) and names none of the tools here."""
    return "__" in name


def find_tool(name: str) -> ToolSpec | None:
    """Return the tool with that name or alias; None if there is none."""
    wanted = ALIASES.get(name, name)
    return next((spec for spec in WORKING if spec.name == wanted), None)
