"""Local model files: what the head of a GGUF file says, and how a chat is written as its template wants it.

Layout: github.com/ggml-org/ggml, docs/gguf.md; versions 2 and 3, little-endian.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from nightshift.core.dialogue import Message
from nightshift.models.windows import read_cache_bytes

MAGIC = b"GGUF"
CONTROL = 3
MAX_ENTRIES = 10_000
MAX_BYTES = 1 << 26
_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True, kw_only=True)
class GGUFHeader:
    """The part of a file's head that a chat needs.

    `cache_bytes` are those of a token in the cache; `control` maps the ids of control tokens to their texts.
    """

    name: str
    context_length: int | None
    cache_bytes: int
    chat_template: str | None
    control: dict[int, str]


def is_gguf(path: Path) -> bool:
    """Whether the file exists and begins as a GGUF file does."""
    try:
        with path.open("rb") as file:
            return file.read(4) == MAGIC
    except OSError:
        return False


def read_header(path: Path) -> GGUFHeader:
    """Read the head.

    Raises:
        ValueError: this is not a GGUF file that can be read.
        OSError: the file cannot be opened.
    """
    with path.open("rb") as file:
        try:
            values = _entries(file)
        except (struct.error, KeyError, UnicodeDecodeError, OverflowError) as error:
            raise ValueError(f"{path.name} is damaged: {error!r}") from error
    length = values.get(f"{values.get('general.architecture')}.context_length")
    template = values.get("tokenizer.chat_template")
    return GGUFHeader(
        name=str(values.get("general.name") or path.stem),
        context_length=length if isinstance(length, int) else None,
        cache_bytes=read_cache_bytes(values),
        chat_template=template if isinstance(template, str) else None,
        control=_control(values.get("tokenizer.ggml.tokens"), values.get("tokenizer.ggml.token_type")),
    )


def _control(tokens: object, kinds: object) -> dict[int, str]:
    if not isinstance(tokens, list) or not isinstance(kinds, list):
        return {}
    pairs = zip(tokens, kinds, strict=False)
    return {number: text for number, (text, kind) in enumerate(pairs) if kind == CONTROL and isinstance(text, str)}


def _entries(file: BinaryIO) -> dict[str, Any]:
    if file.read(4) != MAGIC:
        raise ValueError("this is not a GGUF file")
    version, _tensors, count = _unpack(file, "IQQ")
    if version not in {2, 3}:
        raise ValueError(f"GGUF version {version} cannot be read here")
    if count > MAX_ENTRIES:
        raise ValueError("the file is damaged: it claims too many entries")
    return dict(_entry(file) for _ in range(count))


def _entry(file: BinaryIO) -> tuple[str, Any]:
    name = _text(file)
    (kind,) = _unpack(file, "I")
    return name, _value(file, kind)


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _text(file)
    if kind == _ARRAY:
        inner, count = _unpack(file, "IQ")
        if inner == _STRING:
            return [_text(file) for _ in range(count)]
        return list(_unpack(file, f"{count}{_FORMATS[inner]}"))
    return _unpack(file, _FORMATS[kind])[0]


def _text(file: BinaryIO) -> str:
    (length,) = _unpack(file, "Q")
    return _take(file, length).decode("utf-8", "replace")


def _unpack(file: BinaryIO, form: str) -> tuple[Any, ...]:
    layout = struct.Struct(f"<{form}")
    return layout.unpack(_take(file, layout.size))


def _take(file: BinaryIO, size: int) -> bytes:
    if size > MAX_BYTES:
        raise ValueError("the file is damaged: it claims too long a value")
    return file.read(size)


_PLAIN = {"system": "### System:", "user": "### Human:", "assistant": "### Assistant:"}


def write_chat(messages: Sequence[Message], template: str | None, control: Mapping[int, str]) -> str:
    """The prompt, ending where the assistant's turn begins.

    Templates are Jinja, as on Hugging Face; they are rendered in Jinja's sandbox because they come with a download. A
    template that refuses a system prompt gets it in front of the first turn. Without a usable template the form of
    GPT4All's own default is written. Control tokens inside a message are broken up, so that no text of a repository
    can end a turn or begin one.
    """
    safe = [{"role": message.role, "content": defuse(message.text, control)} for message in messages]
    if template:
        for turns in (safe, _merged(safe)):
            if text := _render(template, turns):
                return text
    return "\n\n".join([*(f"{_PLAIN[turn['role']]}\n{turn['content']}" for turn in safe), _PLAIN["assistant"] + "\n"])


def defuse(text: str, control: Mapping[int, str]) -> str:
    """The text with a space inside whatever would be read as a control token."""
    names = [re.escape(name) for name in control.values() if len(name) > 1 and name in text]
    if not names:
        return text
    return re.sub("|".join(sorted(names, key=len, reverse=True)), lambda m: f"{m[0][0]} {m[0][1:]}", text)


def _merged(turns: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """The turns with the system prompts in front of the first one."""
    system = [turn["content"] for turn in turns if turn["role"] == "system"]
    rest = [dict(turn) for turn in turns if turn["role"] != "system"] or [{"role": "user", "content": ""}]
    rest[0]["content"] = "\n\n".join([*system, rest[0]["content"]])
    return rest


def _render(template: str, turns: Sequence[Mapping[str, str]]) -> str | None:
    from jinja2 import TemplateError  # noqa: PLC0415 - only local models need it
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415

    def raise_exception(message: str) -> NoReturn:
        raise TemplateError(message)

    jinja = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    # The engine adds the token that begins a text by itself.
    known: dict[str, Any] = {"bos_token": "", "eos_token": "", "raise_exception": raise_exception}
    try:
        return jinja.from_string(template).render(messages=turns, add_generation_prompt=True, **known)
    except (TemplateError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError):
        return None
