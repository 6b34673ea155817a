"""The read-only tools `list_files`, `search` and `read_file`, over the base commit with the change on top."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from nightshift.agent.prompt.excerpts import face
from nightshift.agent.tools import arguments
from nightshift.agent.tools.corpus import Corpus, CorpusCache, count_lines, matching_lines
from nightshift.agent.view import View
from nightshift.core.errors import BadReply
from nightshift.core.text.masking import printable
from nightshift.core.text.patterns import compile_bytes

MOST_FILES = 200
MATCHES_A_PAGE = 50
MOST_MATCHES = 1000
"""Maximum number of matches that a search counts."""
LINE_CHARS = 200
READ_LINE_CHARS = 1000
OUTLINE_LINES = 400
"""A file with more lines is first answered with its outline."""
_OUTLINED = 150


def list_files(view: View, asked: arguments.ListFiles) -> str:
    """List the paths below a folder, or its subfolders with counts if there are too many paths."""
    paths = _select_paths(view, asked.path, asked.glob)
    if not paths:
        return _nothing_at(view, asked.path, asked.glob)
    if len(paths) <= MOST_FILES:
        return "\n".join([*paths, f"({len(paths)} file{'s' if len(paths) != 1 else ''})"])
    return "\n".join([*_folders(paths, asked.path), f"({len(paths)} files; give a path or a glob to see names)"])


def _folders(paths: Sequence[str], below: str) -> list[str]:
    """List the direct entries of a folder, at most `MOST_FILES`: files by name, folders with their number of files."""
    start = len(below) + 1 if below else 0
    counts = Counter(path[start:].split("/", 1)[0] + "/" if "/" in path[start:] else path[start:] for path in paths)
    prefix = below + "/" if below else ""
    lines = [f"{prefix}{name} ({n} files)" if name.endswith("/") else prefix + name for name, n in counts.items()]
    more = [f"… and {len(lines) - MOST_FILES} more"] if len(lines) > MOST_FILES else []
    return sorted(lines)[:MOST_FILES] + more


def _select_paths(view: View, below: str, glob: str) -> list[str]:
    matches = _glob(glob) if glob else None
    return [
        path
        for path in view.paths()
        if (not below or path == below or path.startswith(below + "/")) and (matches is None or matches.search(path))
    ]


@lru_cache(maxsize=256)
def _glob(glob: str) -> re.Pattern[str]:
    """Compile a glob over whole paths; without a slash it matches names. `**/` matches any number of folders."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]/]+\]|\{[^{}]*\})", glob.removeprefix("./").lstrip("/"))
    text = "".join(map(_glob_part, parts))
    return re.compile(rf"\A{text}\Z" if "/" in glob.strip("/") else rf"(?:\A|/){text}\Z")


def _glob_part(part: str) -> str:
    fixed = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if part in fixed:
        return fixed[part]
    if part[:1] == "{" and part[-1:] == "}":
        return f"(?:{'|'.join(map(re.escape, part[1:-1].split(',')))})"
    if part[:1] == "[" and part[-1:] == "]":
        inside = part[1:-1].replace("\\", r"\\")
        return f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]"
    return re.escape(part)


def _nothing_at(view: View, below: str, glob: str) -> str:
    if not view.count():
        return "The repository is empty."
    if glob and _select_paths(view, below, ""):
        return f"No file matches {glob}" + (f" below {below}." if below else ".")
    return missing(view, below)


def missing(view: View, path: str) -> str:
    """Return a message that there is no such file, with similar paths."""
    paths = view.paths()
    name = path.rsplit("/", 1)[-1]
    same = [candidate for candidate in paths if candidate.rsplit("/", 1)[-1] == name]
    near = same or difflib.get_close_matches(path, paths[:20_000], n=3, cutoff=0.6)
    hint = f" Did you mean {', '.join(near[:3])}?" if near else ""
    return f"There is no file or folder {path}.{hint}"


# Functions of the tool `search`.


def search(view: View, corpora: CorpusCache, asked: arguments.Search) -> str:
    """Return a page of matching lines, each with its path and line number, and the number of matches.

    Raises:
        BadReply: the pattern is invalid, or the path does not exist.
    """
    try:
        pattern = compile_bytes(asked.pattern, multiline=True)
    except ValueError as error:
        raise BadReply(f"search: pattern: {error}; it is an RE2 expression, quote brackets and dots by \\.") from None
    if asked.path and not _select_paths(view, asked.path, ""):
        raise BadReply(missing(view, asked.path))
    corpus = corpora.get(view.tree)
    lines, total, files = list[str](), 0, set[str]()
    first = (asked.page - 1) * MATCHES_A_PAGE
    for path, number, line in _matches(view, corpus, pattern, asked):
        if first <= total < first + MATCHES_A_PAGE:
            lines.append(f"{path}:{number()}: {_line(line)}")
        total += 1
        files.add(path)
        if total >= MOST_MATCHES:
            break
    corpus.release()
    return _page(asked, lines, total, len(files))


def _page(asked: arguments.Search, lines: list[str], total: int, files: int) -> str:
    if not total:
        where = " and ".join(filter(None, (asked.path, asked.glob)))
        return f"No line matches{f' in {where}' if where else ''}."
    least = "at least " if total >= MOST_MATCHES else ""
    first = (asked.page - 1) * MATCHES_A_PAGE
    if not lines:
        return f"Page {asked.page} is empty: there are {least}{total} matches, {MATCHES_A_PAGE} a page."
    end = f"(matches {first + 1}-{first + len(lines)} of {least}{total}, in {files} file{'s' if files != 1 else ''}"
    more = f"; next page={asked.page + 1})" if total > first + len(lines) else ")"
    return "\n".join([*lines, end + more])


def _line(raw: bytes) -> str:
    text = printable(raw.decode("utf-8", "replace")).rstrip()
    return text if len(text) <= LINE_CHARS else f"{text[:LINE_CHARS]} … ({len(text)} characters)"


def _matches(view: View, corpus: Corpus, pattern: Any, asked: arguments.Search) -> Iterator[tuple[str, Any, bytes]]:
    """Yield each match: the path, a function that returns the line number, and the line.

    Changed files come before files of the base.
    """
    changed = [path for path, text in view.change.items() if text is not None]
    glob = _glob(asked.glob) if asked.glob else None

    def is_wanted(path: str) -> bool:
        below = not asked.path or path == asked.path or path.startswith(asked.path + "/")
        return below and (glob is None or glob.search(path) is not None)

    for path in filter(is_wanted, sorted(changed)):
        raw = (view.change[path] or "").encode("utf-8", "surrogatepass")
        for start, end in matching_lines(pattern, raw, 0, len(raw)):
            yield path, lambda raw=raw, start=start: count_lines(raw, 0, start) + 1, raw[start:end]
    buffer = corpus.buffer
    if asked.path or glob:
        spans = [(path, *corpus.spans[path]) for path in corpus.paths if is_wanted(path) and path not in view.change]
    else:
        spans = [("", 0, len(buffer))]
    for name, begin, end in spans:
        for start, stop in matching_lines(pattern, buffer, begin, end):
            path = name or corpus.path_at(start)
            if path in view.change:
                continue
            top = corpus.spans[path][0]
            yield path, lambda top=top, start=start: count_lines(buffer, top, start) + 1, buffer[start:stop]


# Functions of the tool `read_file`.


def read_file(view: View, asked: arguments.ReadFile, *, most_chars: int) -> str:
    """Return numbered lines, or the outline of a long file if no start line was given.

    Raises:
        BadReply: there is no such text file, or it is shorter than the start line.
    """
    if asked.path not in view:
        if _select_paths(view, asked.path, ""):
            return f"{asked.path} is a folder:\n" + list_files(view, arguments.ListFiles(path=asked.path))
        raise BadReply(missing(view, asked.path))
    text = view.text(asked.path)
    if text is None:
        raise BadReply(f"{asked.path} is no text, or too large to be shown.")
    lines = text.removesuffix("\n").split("\n") if text else []
    if not lines:
        return f"{asked.path} is empty."
    if asked.start is None and len(lines) > OUTLINE_LINES and (outline := _outline(asked.path, text)):
        head = f"{asked.path} has {len(lines)} lines. Its outline, with line numbers; read what you need with start:"
        return "\n".join([head, *outline])
    start = asked.start or 1
    if start > len(lines):
        raise BadReply(f"{asked.path} has {len(lines)} lines; start={start} is behind its end.")
    return _number_lines(asked.path, lines, start, asked.lines, most_chars)


def _number_lines(path: str, lines: list[str], start: int, count: int, most_chars: int) -> str:
    shown, size = list[str](), 0
    for number, line in enumerate(lines[start - 1 : start - 1 + count], start):
        text = printable(line) if len(line) <= READ_LINE_CHARS else f"{printable(line[:READ_LINE_CHARS])} … (cut)"
        size += len(text) + 8
        if shown and size > most_chars:
            break
        shown.append(f"{number:5}  {text}")
    last = start + len(shown) - 1
    more = f"; next start={last + 1}" if last < len(lines) else ""
    return "\n".join([*shown, f"({path}: lines {start}-{last} of {len(lines)}{more})"])


def _outline(path: str, text: str) -> list[str]:
    """Return the signatures of a file, in order, each with the number of the first line that matches it."""
    shown_lines, at = list[str](), 0
    lines = text.split("\n")
    for signature in face(path, text):
        head = re.split(r"[(:=#]", signature.strip(), maxsplit=1)[0].strip()
        start = next((n for n in range(at, len(lines)) if lines[n].strip().startswith(head)), None)
        at = at if start is None else start + 1
        shown = signature if len(signature) <= 120 else signature[:119] + "…"
        shown_lines.append(f"{'' if start is None else start + 1:>5}  {shown}")
    more = [f"       … and {len(shown_lines) - _OUTLINED} more"] if len(shown_lines) > _OUTLINED else []
    return shown_lines[:_OUTLINED] + more
