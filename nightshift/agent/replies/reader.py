"""Reads files, edits and deletions from a model's reply.

The text of a fenced file is exactly the lines between its fences, each ending with a newline. JSON and tool calls carry
their texts character for character. A part with two meanings is refused, not guessed: two texts for one path, an
unnamed block although several files are possible, an edit without a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from nightshift.agent.replies import completeness, edits, fences, names
from nightshift.agent.replies.json_replies import Harvest, find_json
from nightshift.agent.replies.templates import is_placeholder
from nightshift.agent.replies.values import Edit, Parsed
from nightshift.core.built_in import BUILT_IN
from nightshift.core.code.paths import MAX_FILE_CHARS, MAX_FILES, path_fault
from nightshift.core.dialogue import Completion
from nightshift.core.errors import BadReply
from nightshift.core.text.encoding import is_encodable, is_utf8

# Code that looks different from what runs: Boucher and Anderson, “Trojan Source: Invisible Vulnerabilities”, 2021.
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")
# The file extensions that a fence of a language may hold; a language not listed here may hold any.
_COMPATIBLE = {
    language: frozenset(extensions.split(","))
    for languages, extensions in (
        ("python python3 py", "py,pyi"),
        ("javascript js node", "js,mjs,cjs,jsx"),
        ("typescript ts tsx", "ts,mts,cts,tsx"),
        ("go golang", "go"),
        ("bash sh shell zsh console terminal", "sh,"),
        ("json jsonc json5", "json,ipynb"),
        ("output text txt log plaintext", "txt,log,md,csv,"),
        ("pycon python-repl mermaid diff patch udiff", "none"),
    )
    for language in languages.split()
}
_UNIFIED = re.compile(r"--- \S.*\n\+\+\+ \S.*\n@@ ")
NOTHING = (
    "The reply holds no file. Send each file as one fenced block whose info string carries its path: "
    "```python path=<path>"
)
CUT = "The reply was cut off before its end. Be shorter: no explanations, only what is still missing."


def parse(reply: Completion, *, expected: Sequence[str] = ()) -> Parsed:
    """Read a CODING or TESTING reply.

    Args:
        reply: the completion; its finish reason decides whether an unclosed block may be whole.
        expected: the files that the task is about; if there is exactly one, a single unnamed block is that file.

    Raises:
        BadReply: nothing usable is in it, perhaps because it was cut off; the message is for the model.
    """
    reader = _Reader(expected, cut=reply.is_cut)
    parsed = reader.read(reply)
    if not parsed.empty:
        return parsed
    raise BadReply(CUT if parsed.cut else "\n".join(parsed.complaints) or NOTHING)


def with_answer(reply: Completion) -> Completion:
    """Return the reply; if its text is empty, the answer at the end of the model's thoughts becomes its text.

    Some servers send an answer only as part of the thoughts. Such an answer is accepted only if the model ended the
    reply, and if the thoughts end with a complete block that is the only block in them.
    """
    if reply.text.strip() or reply.tool_calls or reply.is_cut or not reply.thoughts:
        return reply
    thought = reply.thoughts[-1].text.rstrip()
    blocks = fences.blocks(thought)
    is_complete = len(blocks) == 1 and blocks[0].closed and not blocks[0].ambiguous and thought.endswith(("```", "~~~"))
    return replace(reply, text="\n".join(thought.split("\n")[blocks[0].line - 1 :])) if is_complete else reply


def _fits(language: str, kind: str | None) -> bool:
    """Check whether a fence of this language may hold a file of this kind; `kind` is None if the file is unknown."""
    fitting = _COMPATIBLE.get(language)
    return fitting is None or (bool(fitting & {"py", "js"}) if kind is None else kind in fitting)


def _split_files(block: fences.Block) -> list[fences.Block]:
    """Split a block with several files, of which each begins with a comment that holds its path.

    Small models send code and its tests in one block in this form.
    """
    lines = block.text.splitlines(keepends=True)
    starts = [
        at for at, line in enumerate(lines)
        if (at == 0 or not lines[at - 1].strip()) and not line[:1].isspace() and names.from_comment(line)
    ]  # fmt: skip
    if len(starts) < 2 or starts[0] or block.edits:
        return [block]
    texts = ["".join(lines[start:end]) for start, end in pairwise([*starts, len(lines)])]
    language, last = names.language_of(block.info), len(texts) - 1
    return [
        replace(
            block,
            text=text.rstrip("\n") + "\n" if at < last else text,
            info=language if at else block.info,
            label="" if at else block.label,
            line=block.line + starts[at],
            closed=at < last or block.closed,
        )
        for at, text in enumerate(texts)
    ]


class _Reader:
    def __init__(self, expected: Sequence[str], *, cut: bool) -> None:
        self.expected, self.cut = tuple(dict.fromkeys(expected)), cut
        self.may_hold_bytes = False
        self.got = Harvest()
        self.last_path: str | None = None

    def read(self, reply: Completion) -> Parsed:
        self.may_hold_bytes = reply.backend == BUILT_IN  # The engine has read the bytes; a model can only guess.
        self.got.calls(reply.tool_calls)
        text = reply.text
        blocks = [part for block in fences.blocks(text) for part in _split_files(block)]
        named = [block for block in blocks if block.edits or self._name(block) or self._diff(block)]
        is_in_file = any(edits.CODEX in block.text for block in named if not self._diff(block))
        patches, around = edits.codex_patches("" if is_in_file else text, is_cut=self.cut)
        if patches:
            self._patches(patches, None)
            named = [block for block in named if edits.CODEX not in block.text and block.text in around]
        elif not (named or self._document(text)):
            self._take_unnamed([block for block in blocks if not block.edits])
        for block in named:
            self._block(block)
        return self._build_parsed()

    def _document(self, text: str) -> bool:
        data = find_json(text)
        return data is not None and self.got.document(data)

    @staticmethod
    def _name(block: fences.Block) -> names.Name | None:
        """Return the file that a block names.

        A name in the line above the block, or in the block's first comment, is ignored if it does not fit the block's
        language: `app.py` above shell commands, for example.
        """
        if in_info := names.from_info(block.info):
            return in_info
        around = names.from_label(block.label) or names.from_comment(block.text.split("\n", 1)[0])
        language = names.language_of(block.info)
        return around if around and _fits(language, completeness.kind_of(around.path)) else None

    def _block(self, block: fences.Block) -> None:
        name = self._name(block)
        if block.edits:
            self._sections(block, name)
        elif name and name.delete:
            self.got.deletions.append(name.path)
        elif hunks := self._diff(block):
            self._patches(hunks, name.path if name else None)
        elif name and self._sound(block, name.path):
            self.got.files.append((name.path, block.text))
            self.last_path = name.path

    def _diff(self, block: fences.Block) -> list[edits.Patch]:
        name = names.from_info(block.info)
        is_code = name is None or completeness.kind_of(name.path) not in {*completeness.PROSE, "patch", "diff"}
        if edits.CODEX in block.text and (name is None or block.text.startswith(edits.CODEX)):
            patches = edits.codex_patches(block.text, is_cut=self.cut)[0]
            if name is None or is_code or {patch.path for patch in patches} == {name.path}:
                return patches
        is_diff = names.language_of(block.info) in {"diff", "patch", "udiff"} and not block.text.startswith("diff --cc")
        if is_diff and name and block.text.startswith("@@"):
            return edits.patches(f"--- a/{name.path}\n+++ b/{name.path}\n{block.text}")
        if not is_diff and not _UNIFIED.match(block.text):
            return []
        patches = edits.patches(block.text)
        return patches if is_diff or name is None or {patch.path for patch in patches} == {name.path} else []

    def _sound(self, block: fences.Block, path: str) -> bool:
        kind = completeness.kind_of(path, names.language_of(block.info))
        if block.ambiguous:
            self._complain(f"{path}: where this file ends cannot be told; use a fence longer than any inside of it.")
        elif not block.closed and (
            self.cut or not block.text.strip() or not completeness.is_complete(kind, block.text)
        ):
            if not self.cut:
                self._complain(
                    f"{path}: the block is not closed and its text is not complete; send the whole file again."
                )
        else:
            return True
        return False

    def _sections(self, block: fences.Block, name: names.Name | None) -> None:
        for section in edits.sections(block.text):
            path = section.path or (name.path if name else None) or self.last_path or self._only()
            if path is None:
                self._complain(
                    f"The SEARCH/REPLACE block near line {block.line} names no file; put its path in the fence."
                )
            elif section.fault:
                if not self.cut:
                    self._complain(f"{path}: a SEARCH/REPLACE block {section.fault}.")
            else:
                self.got.edits.append(Edit(path=path, search=section.search, replace=section.replace))
                self.last_path = path

    def _patches(self, patches: Iterable[edits.Patch], path: str | None) -> None:
        for patch in patches:
            where = patch.path or path
            if where is None:
                self._complain("A diff names no file.")
            elif patch.deleted:
                self.got.deletions.append(where)
            elif patch.created:
                self.got.files.append((where, "".join(hunk.replace for hunk in patch.hunks)))
            else:
                self.got.edits += [replace(hunk, path=where) for hunk in patch.hunks]
                self.got.moves |= {where: patch.moved} if patch.moved else {}

    def _only(self) -> str | None:
        return self.expected[0] if len(self.expected) == 1 else None

    def _take_unnamed(self, blocks: list[fences.Block]) -> None:
        path = self._only()
        kind = completeness.kind_of(path) if path else ""
        fitting = [b for b in blocks if _fits(names.language_of(b.info), kind or None)]
        if path and len(fitting) == 1 and self._sound(fitting[0], path):
            self.got.files.append((path, fitting[0].text))
        elif fitting and not self.cut and not (path and len(fitting) == 1):
            many = f"{len(fitting)} blocks carry" if len(fitting) > 1 else "A block carries"
            self._complain(f"{many} no path, so which file is meant cannot be told. {NOTHING}")

    def _complain(self, text: str) -> None:
        self.got.complaints.append(text)

    # Checks the parsed reply as a whole, after all of its parts were read.

    def _build_parsed(self) -> Parsed:
        files: dict[str, str] = {}
        twice: set[str] = set()
        for path, text in self.got.files:
            if self._path_ok(path) and self._text_ok(path, text):
                twice |= {path} if files.get(path, text) != text else set()
                files[path] = text
        for path in sorted(twice):
            del files[path]
            self._complain(f"{path}: two different texts were sent; send this file once.")
        edits = tuple(e for e in self.got.edits if self._path_ok(e.path) and self._text_ok(e.path, e.replace, e.search))
        deletions = tuple(p for p in dict.fromkeys(self.got.deletions) if self._path_ok(p) and p not in files)
        moves = {old: new for old, new in self.got.moves.items() if self._path_ok(old) and self._path_ok(new)}
        if self.cut:
            self._complain(CUT)
        complaints = tuple(dict.fromkeys(self.got.complaints))
        return Parsed(files=files, edits=edits, deletions=deletions, moves=moves, complaints=complaints, cut=self.cut)

    def _path_ok(self, path: str) -> bool:
        fault = "is the placeholder of the form" if is_placeholder(path) else path_fault(path)
        if fault:
            self._complain(f"The path {path[:200]!r} {fault}; paths are relative to the repository's root.")
        return fault is None

    def _text_ok(self, path: str, text: str, search: str = "") -> bool:
        if is_placeholder(text):
            self._complain(f"{path}: holds the placeholder of the form; send the lines of the file.")
            return False
        if _REORDERING.search(text):
            self._complain(f"{path}: holds invisible characters that reorder what is read; write them as escapes.")
            return False
        if not (is_encodable if self.may_hold_bytes else is_utf8)(text + search):
            self._complain(f"{path}: holds half of a surrogate pair, which no file can hold.")
            return False
        if len(text) + len(search) > MAX_FILE_CHARS or len(self.got.files) > MAX_FILES:
            self._complain(f"{path}: too much; at most {MAX_FILE_CHARS} characters a file and {MAX_FILES} files.")
            return False
        return True
