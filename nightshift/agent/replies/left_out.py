"""Finds lines that stand for omitted text of a file, such as “rest unchanged”, in any wording.

A placeholder line is a new comment or bare line with an ellipsis or with words about a rest, while lines of the old
text are missing. The words are from the languages in which models are most often asked. In any language, a note that
replaces definitions counts as a placeholder.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher

_COMMENT = re.compile(
    r"^\s*(?:pass\s+)?(?:#+|//+|/\*+|\*|<!--|--|;+|%+|::|\{/\*|@\*|\"\"\"|'''|rem\b)\s*(.*?)"
    r"\s*(?:-->|\*+/\}?|\*@|\"\"\"|''')?\s*$",
    re.IGNORECASE,
)
_REST = re.compile(
    r"\b(rest|remain(s|ing|der)?|existing|unchanged|same as (before|above)|as (before|above|they are|is)|omitted"
    r"|unmodified|other (functions|methods|classes|code|parts|imports)|previous code|keep (the|all)|no changes?"
    r"|stays? the same|truncated|snip|as in the original|original code|unver[aä]ndert|restliche[rs]?|wie (bisher|zuvor)"
    r"|reste du|inchang[ée]e?s?|resto d[eo]|sin cambios|sem altera\w+|invariato|bez zmian)\b|остальн|без изменений"
    r"|其余|其他代码|保持不变|不变|省略|残り|変更なし|以下同|나머지|그대로",
    re.IGNORECASE,
)
_ELLIPSIS = re.compile(r"\.{3,}|…")
_BARE = re.compile(r"^\W*(\.{3,}|…)\W*$")
_NOTE = re.compile(r"\s*(?:#+|//+|/\*+|<!--|--|;+|%+|::|\{/\*|@\*|\(\*|\{[-#]|<%#)\s+\S")
"""The beginning of a line that is a comment in any language."""
_DEFINES = re.compile(
    r"^[ \t]*(?:@?export +)?(?:(?:public|private|protected|static|default|async|pub|abstract|final) +)*"
    r"(?:def|class|function|func|fn|interface|struct|enum|trait|module|type) +\*?(?:\([^)]*\) *)?([A-Za-z_$][\w$]*)",
    re.MULTILINE,
)
_STUB = re.compile(
    r"^[ \t]*(?:async +)?def +(\w+)[^\n]*:\s*(?:\.\.\.[ \t]*(?:#[^\n]*)?|pass[ \t]*#[^\n]*)$", re.MULTILINE
)
"""Matches a Python function that consists of an ellipsis, or of `pass` with a remark."""
_PASS = re.compile(r"^[ \t]*(?:async +)?def +(\w+)[^\n]*:\s*pass[ \t]*$", re.MULTILINE)
LEAST_LOST = 2
LEAST_DEFINITIONS, MOST_SHARE = 3, 1 / 3
"""Minimum number of definitions in a file for the check, and the share of them that a new text may lack without a
question to the model.
"""


def lazy_line(before: str, after: str) -> str:
    """Return the line of the new text that stands for omitted lines, with its number; empty if there is none."""
    old = {line.strip() for line in before.split("\n")}
    lines = after.split("\n")
    new_lines = {line.strip() for line in lines}
    if len(old - new_lines - {""}) < LEAST_LOST:
        return ""
    for number, line in enumerate(lines, 1):
        if line.strip() in old or not line.strip():
            continue
        comment = _COMMENT.match(line)
        words = comment[1] if comment else line.strip()
        is_lazy = _REST.search(words) and (comment or _ELLIPSIS.search(words) or words[:1] in "([{<")
        only_dots = _BARE.match(words) and (comment or line[:1] not in " \t")
        if is_lazy or only_dots or (comment and words.startswith(("...", "…")) and _ELLIPSIS.search(words)):
            return f"line {number}, {line.strip()[:120]!r}"
    return _find_stub(before, after) or _find_note(before, after)


def _find_stub(before: str, after: str) -> str:
    """Return a function whose body is gone, in the form that `lazy_line` returns; empty if there is none."""
    had, has = _count_bodies(before), _count_bodies(after)
    for stub in _STUB.finditer(after):
        if stub[0] not in before and has[stub[1]] < had[stub[1]]:
            return f"line {after.count(chr(10), 0, stub.start()) + 1}, {' '.join(stub[0].split())[:120]!r}"
    return ""


def _count_bodies(text: str) -> Counter[str]:
    """Count the definitions of each name that are more than a declaration of a protocol, an overload or a stub."""
    return Counter(_DEFINES.findall(text)) - Counter(_STUB.findall(text)) - Counter(_PASS.findall(text))


def _find_note(before: str, after: str) -> str:
    """Return a note that replaces lost definitions, in the form that `lazy_line` returns; empty if there is none."""
    old = [line.strip() for line in before.split("\n") if line.strip()]
    new = [(number, line.strip()) for number, line in enumerate(after.split("\n"), 1) if line.strip()]
    present = set(_DEFINES.findall(after))
    for _, begin, end, first, last in SequenceMatcher(None, old, [line for _, line in new]).get_opcodes():
        gone = set(_DEFINES.findall("\n".join(old[begin:end]))) - present
        number, line = new[last - 1] if first < last else (0, "")
        if gone and _NOTE.match(line) and line.lstrip("#/-;% \t") not in old:
            return f"line {number}, {line[:120]!r}"
    return ""


def find_lost_definitions(before: str, after: str) -> tuple[str, ...]:
    """Return the definitions that a file's new text lacks, if they are more than a third of all; else empty."""
    old = dict.fromkeys(_DEFINES.findall(before))
    gone = tuple(name for name in old if not re.search(rf"\b{re.escape(name)}\b", after))
    return gone if len(old) >= LEAST_DEFINITIONS and len(gone) > len(old) * MOST_SHARE else ()
