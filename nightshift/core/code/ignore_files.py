"""Decides which paths a repository's `.gitignore` files ignore, by git's own rules.

New files at such paths are by-products, or files that the owner keeps out of the repository, such as secrets. So they
are not part of a change. A file that the repository already contains is never ignored, but the caller must check that.

The patterns may come from an attacker, so the time to match a pattern grows only with its length and the path's length.
The package pathspec 1.1 was tried first, but it raises an error for patterns that git accepts, such as `[[:alpha:]]`,
`[c-a]` or a final backslash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

NAME = ".gitignore"
MOST_FILES, MOST_CHARS, MOST_RULES = 1000, 1 << 18, 1000
"""Maximum number of files, of characters in a file, and of rules in a file. Anything beyond these limits has no effect.
"""
_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~", "space": r"\s", "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Rule:
    """One line of an ignore file. A segment of None stands for `**`.

    A rule that is not `anchored` has one segment, which may match a name in any folder.
    """

    segments: tuple[re.Pattern[str] | None, ...]
    anchored: bool
    folders_only: bool
    includes: bool


class IgnoreRules:
    """The rules of a set of ignore files.

    Args:
        files: Maps the paths of ignore files, such as `.gitignore` and `web/.gitignore`, to their texts; other files in
            the mapping have no effect.
    """

    def __init__(self, files: Mapping[str, str] | None = None) -> None:
        self._rules = dict[str, tuple[_Rule, ...]]()
        self._folders = dict[str, bool]()
        for path, text in (files or {}).items():
            self.add(path, text)

    def add(self, path: str, text: str) -> None:
        """Add the rules of another file."""
        if f"/{path}".endswith(f"/{NAME}") and len(self._rules) < MOST_FILES:
            self._rules[path[: -len(NAME)]] = tuple(_rules(text))
            self._folders.clear()

    def ignore(self, path: str, *, folder: bool = False) -> bool:
        """Return True if a path, or a folder above it, is ignored. Set `folder` if the path itself is a folder."""
        parts = path.split("/")
        for depth in range(1, len(parts)):
            above = "/".join(parts[:depth])
            if above not in self._folders:
                self._folders[above] = self._ask_rules(parts[:depth], folder=True)
            if self._folders[above]:
                return True
        return self._ask_rules(parts, folder=folder)

    def _ask_rules(self, parts: list[str], *, folder: bool) -> bool:
        """Return True if the rules ignore a path.

        Among the ignore files that have a matching rule, the one nearest to the path decides. Its last matching rule
        counts.
        """
        for depth in reversed(range(len(parts))):
            above = "".join(f"{part}/" for part in parts[:depth])
            for rule in reversed(self._rules.get(above, ())):
                if (folder or not rule.folders_only) and _fits(rule, parts[depth:]):
                    return not rule.includes
        return False


def _fits(rule: _Rule, parts: list[str]) -> bool:
    if not rule.anchored:
        (segment,) = rule.segments
        return segment is not None and segment.fullmatch(parts[-1]) is not None
    reached = {0}  # Indexes in the rule's segments at which matching may continue with the next part
    for part in parts:
        after = set[int]()
        for at in _past_stars(rule.segments, reached):
            if at < len(rule.segments):
                segment = rule.segments[at]
                if segment is None:
                    after.add(at)
                elif segment.fullmatch(part):
                    after.add(at + 1)
        reached = after
    return len(rule.segments) in reached


def _past_stars(segments: tuple[re.Pattern[str] | None, ...], reached: set[int]) -> set[int]:
    """Return the given positions, and the positions behind any `**` that follows, because `**` may match nothing."""
    positions, left = set(reached), list(reached)
    while left:
        at = left.pop()
        if at < len(segments) and segments[at] is None and at + 1 not in positions:
            positions.add(at + 1)
            left.append(at + 1)
    return positions


def _rules(text: str) -> Iterable[_Rule]:
    for line in text[:MOST_CHARS].removeprefix("\ufeff").split("\n")[:MOST_RULES]:
        if (rule := _rule(line)) is not None:
            yield rule


@lru_cache(maxsize=4096)
def _rule(line: str) -> _Rule | None:
    """Parse a line into a rule; return None for a line that contains no rule."""
    line = re.sub(r"(?<!\\) +$", "", line.removesuffix("\r"))
    if not line or line.startswith("#"):
        return None
    includes = line.startswith("!")
    line = line[includes:]
    folders_only, line = line.endswith("/"), line.removesuffix("/")
    anchored, line = "/" in line, line.removeprefix("/")
    if not line:
        return None
    try:
        segments = tuple(None if part == "**" and anchored else _segment(part) for part in _split(line))
    except ValueError:
        return None
    if segments[-1] is None:  # `a/**` matches everything below `a`, but not `a` itself
        segments = (*segments, _segment("*"))
    return _Rule(segments, anchored, folders_only, includes)


def _split(glob: str) -> Iterable[str]:
    """Yield the parts of a pattern between slashes; a slash within brackets does not separate parts."""
    begun = at = 0
    while at < len(glob):
        char = glob[at]
        at += 1
        if char == "/" or glob.startswith("\\/", at - 1):
            yield glob[begun : at - 1]
            begun = at = at + (char != "/")
        elif char == "[":
            at = _bracket(glob, at)[1]
        elif char == "\\":
            at += 1
    yield glob[begun:]


def _segment(glob: str) -> re.Pattern[str]:
    """Return the regular expression of one part of a pattern.

    The text between two stars is matched at its first possible position without backtracking, which is enough for such
    patterns.

    Raises:
        ValueError: The pattern can match nothing.
    """
    chunks, at = [""], 0
    while at < len(glob):
        char = glob[at]
        at += 1
        if char == "*":
            chunks.append("")
        elif char == "?":
            chunks[-1] += "."
        elif char == "[":
            part, at = _bracket(glob, at)
            chunks[-1] += part
        else:
            if char == "\\":
                if at == len(glob):
                    raise ValueError("it ends with a backslash")
                char, at = glob[at], at + 1
            chunks[-1] += re.escape(char)
    first, *others = chunks
    if not others:
        return re.compile(first, re.DOTALL)
    *middle, last = others
    return re.compile(first + "".join(f"(?>.*?{each})" for each in middle if each) + f".*{last}", re.DOTALL)


def _bracket(glob: str, at: int) -> tuple[str, int]:
    """Return the regular expression of a bracket expression, and the position after it."""
    negated = glob[at : at + 1] in {"!", "^"}
    at += negated
    parts, begun = list[str](), at
    while True:
        if at >= len(glob):
            raise ValueError("a bracket is not closed")
        if glob[at] == "]" and at > begun:
            break
        if glob.startswith("[:", at) and (end := glob.find(":]", at)) > 0:
            if glob[at + 2 : end] not in _CLASSES:
                raise ValueError("there is no such class")
            parts.append(_CLASSES[glob[at + 2 : end]])
            at = end + 2
            continue
        low, at = _member(glob, at)
        if glob.startswith("-", at) and glob[at + 1 : at + 2] not in {"", "]"}:
            high, at = _member(glob, at + 1)
            if low <= high:
                parts.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            parts.append(re.escape(low))
    inside = "".join(parts)
    if not inside:
        return ("." if negated else "(?!)"), at + 1
    return f"[{'^' if negated else ''}{inside}]", at + 1


def _member(glob: str, at: int) -> tuple[str, int]:
    if glob[at] != "\\":
        return glob[at], at + 1
    if at + 1 >= len(glob):
        raise ValueError("a bracket is not closed")
    return glob[at + 1], at + 2
