"""Recognises replies in words that end the work without a file, and reads them as the tool calls done, ask or cannot.

A model that is asked for files is shown one line for each of these endings. Free sentences are accepted too, but only
if the reply contains nothing else and the model repeats them, because a wrong guess would cost the owner a question.
"""

from __future__ import annotations

import re
from itertools import dropwhile, takewhile

from nightshift.agent.replies import find_json
from nightshift.agent.replies.fences import blocks
from nightshift.agent.tools.arguments import Ask, Cannot, Done
from nightshift.core.built_in import BUILT_IN
from nightshift.core.dialogue import Completion, Finish

Said = Done | Ask | Cannot

_SAYS = re.compile(
    r"[ \t]*[*_#>`-]{0,4}[ \t]*(done already|already done|ask|question|cannot|can['’]t|default)"
    r"[*_`]{0,3}[ \t]*:[*_`]{0,3}[ \t]*(\S.*)",
    re.IGNORECASE,
)
_PASSED_OVER = re.compile(r"[ \t]*(?:(?:```|~~~)\w*|\W{0,4}Summary\W{0,4}[:=].*)?[ \t]*", re.IGNORECASE)

_MOST_CHARS = 1500
_ALREADY = re.compile(
    r"(?<!not )(?<!n't )(?<!n’t )\balready (?:been )?(?:implemented|done|exists?|present|there|in place|defined|fixed"
    r"|correct\w*|handle[sd]?|does|has|works?|returns?|supports?|supported|satisf\w+|pass(?:es)?|meets?)\b"
    r"|\bnothing (?:needs|has|is left|is|remains|is needed) to (?:be )?(?:change|do|done|changed)\b"
    r"|\bnothing to change\b|\bno (?:code |further )?changes? (?:is|are|was|were) (?:needed|required|necessary)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\bwhat (?:do )?you mean\b|\bdo(?:n['’]t| not) (?:know|understand) (?:what|which|who|where)\b|\bplease "
    r"(?:clarify|specify|provide|share|tell)\b"
    r"|\b(?:can|could|would) you (?:please )?(?:clarify|specify|tell|provide|share)\b"
    r"|\bneed (?:more information|to know|clarification)\b"
    r"|\b(?:which|what|where)\b[^.?!]*\?\s*\Z",
    re.IGNORECASE,
)
_CANNOT = re.compile(
    r"\bcannot be (?:done|implemented|completed|fulfilled|solved|satisfied|met)\b|\b(?:impossible|not possible) to\b"
    r"|\b(?:is|are) (?:impossible|not possible|infeasible|contradictory)\b|\b(?:I|we)(?: am|['’]m| are|['’]re)? "
    r"(?:can ?not|can['’]t|unable to|not able to|won['’]t|will not|must refuse to|refuse to|decline to)\b",
    re.IGNORECASE,
)


def read_stated(reply: Completion) -> Said | None:
    """Return the ending that a reply states at its beginning; None if there is none or if the reply names a file."""
    text = reply.text.strip()
    lines = list(dropwhile(_PASSED_OVER.fullmatch, text.split("\n")))
    if not lines or reply.backend == BUILT_IN or reply.tool_calls or not (match := _SAYS.match(lines[0])):
        return None
    if any(block.edits or block.name for block in blocks(text)):
        return None
    more = list(takewhile(lambda line: line.strip() and not _PASSED_OVER.fullmatch(line), lines[1:]))
    default = next(
        (line_match[2] for line in more if (line_match := _SAYS.match(line)) and line_match[1].lower() == "default"), ""
    )
    why = " ".join([match[2], *(line for line in more if not _SAYS.match(line))])
    word = match[1].lower()
    if word in {"ask", "question"}:
        return Ask(question=why, default=default)
    if "done" in word:
        return Done(summary=why)
    return None if word == "default" else Cannot(reason=why)


def read_implied(reply: Completion) -> Said | None:
    """Return the ending that a reply of only a few sentences clearly implies; else None."""
    text = reply.text.strip()
    is_complete = reply.finish is Finish.STOP and not reply.tool_calls and reply.backend != BUILT_IN
    if not (is_complete and 0 < len(text) <= _MOST_CHARS) or blocks(text) or find_json(text) is not None:
        return None
    if _ALREADY.search(text):
        return Done(summary=text)
    if _ASKS.search(text):
        return Ask(question=text)
    return Cannot(reason=text) if _CANNOT.search(text) else None
