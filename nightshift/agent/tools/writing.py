"""The tools `edit` and `write_file`; they go through the same checks as every other change."""

from __future__ import annotations

from nightshift.agent import syntax
from nightshift.agent.draft import Draft
from nightshift.agent.replies import Edit, apply_edit
from nightshift.agent.tools import arguments
from nightshift.agent.tools.reading import missing
from nightshift.core.errors import BadReply
from nightshift.core.tasks.verdicts import Failure

_PLACES = 8


def edit(draft: Draft, asked: arguments.Edit) -> str:
    """Replace a unique text, or every occurrence with `all`; a refused call changes nothing.

    If the text is not found character for character, whole lines are matched, with other indentation or other blank
    lines between them (`agent.replies.edits`). An edit that would break a file's syntax is refused.

    Raises:
        BadReply: there is no such file, the text is missing or ambiguous, or the edit is forbidden or breaks the file.
    """
    path = asked.path
    text = draft.view.text(path)
    if text is None:
        why = f"{path} is no text file." if path in draft.view else missing(draft.view, path)
        raise BadReply(f"{why} Use write_file for a new one.")
    if _is_made(text, draft.before(path), asked):
        return f"{path} holds this already: the edit was made before. Nothing was changed."
    new = _apply_edit(text, asked)
    if (failure := syntax.fault(path, new)) and not syntax.fault(path, text):
        raise BadReply(
            f"Refused, {path} would be no valid file any more; nothing was changed.\n{_show_failure(failure)}"
        )
    draft.put(path, new)
    return f"Edited {path}.\n{_around(text, new)}"


def _is_made(text: str, before: str, asked: arguments.Edit) -> bool:
    """Check whether an edit was already made.

    That is so if its new text occurs exactly once and was not there before, and its old text is gone or is part of the
    new text.
    """
    old, new = asked.old, asked.new
    if not (old.strip() and new.strip()) or old == new or new in before or text.count(new) != 1 or text.count(old) > 1:
        return False
    at, old_at = text.find(new), text.find(old)
    return old_at < 0 or at <= old_at <= old_at + len(old) <= at + len(new)


def _apply_edit(text: str, asked: arguments.Edit) -> str:
    if asked.old == asked.new:
        raise BadReply(f"{asked.path}: old and new are the same.")
    count = text.count(asked.old) if asked.old.strip() else 0
    if count == 1 or (count and asked.all):
        return text.replace(asked.old, asked.new)
    if count:
        raise BadReply(
            f"{asked.path}: old stands {count} times (lines {_lines_of(text, asked.old)}); quote more around the one "
            "that you mean, or set all."
        )
    return apply_edit(text, Edit(path=asked.path, search=_end_line(asked.old), replace=_end_line(asked.new)))


def _end_line(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _lines_of(text: str, part: str) -> str:
    places, at = list[int](), text.find(part)
    while at >= 0 and len(places) <= _PLACES:
        places.append(text.count("\n", 0, at) + 1)
        at = text.find(part, at + 1)
    return ", ".join(map(str, places[:_PLACES])) + (" …" if len(places) > _PLACES else "")


def _around(old: str, new: str) -> str:
    """Return the changed lines in their new form, numbered, with one line of context on each side."""
    before, after = old.split("\n"), new.split("\n")
    shortest = min(len(before), len(after))
    head = next((n for n in range(shortest) if before[n] != after[n]), shortest)
    tail = next((n for n in range(shortest - head) if before[-1 - n] != after[-1 - n]), shortest - head)
    first, last = max(0, head - 1), min(len(after), len(after) - tail + 1)
    shown = [f"{n + 1:5}  {after[n][:200]}" for n in range(first, min(last, first + 20))]
    return "\n".join(shown) + ("\n       …" if last > first + 20 else "")


def write_file(draft: Draft, asked: arguments.WriteFile) -> str:
    """Write or remove a file.

    Raises:
        BadReply: the file may not be written, or there is nothing to remove.
    """
    path = asked.path
    if asked.delete or asked.content is None:
        if path not in draft.view:
            raise BadReply(missing(draft.view, path))
        draft.put(path, None)
        return f"Removed {path}."
    word = "Rewrote" if path in draft.view else "Wrote"
    draft.put(path, asked.content)
    lines = asked.content.count("\n") + (not asked.content.endswith("\n") and bool(asked.content))
    text = f"{word} {path} ({lines} line{'s' if lines != 1 else ''})."
    failure = syntax.fault(path, asked.content)
    return f"{text} It is no valid file yet:\n{_show_failure(failure)}" if failure else text


def _show_failure(failure: Failure) -> str:
    return f"{failure.kind}: {failure.message}\n{failure.excerpt}".rstrip()
