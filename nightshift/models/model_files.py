"""Model files on this machine: the header of a GGUF file, its chat template, and the package that runs it.

The layout of GGUF files is described in github.com/ggml-org/ggml, docs/gguf.md. Versions 2 and 3 are supported,
little-endian only.
"""

from __future__ import annotations

import math
import re
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NoReturn, Self

from nightshift.core.dialogue import Message
from nightshift.core.errors import NightshiftError
from nightshift.core.status import install_by_hand
from nightshift.models.base import BackendSettings, BaseModelHandler, EnsureExtra
from nightshift.models.conversation import without_system
from nightshift.models.errors import BackendMisconfigured
from nightshift.models.model_table import WIDE, choose, choose_window, memory_bytes, read_cache_bytes

MAGIC = b"GGUF"
CONTROL = 3
MAX_ENTRIES = 10_000
MAX_BYTES = 1 << 26
_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True, kw_only=True)
class GGUFHeader:
    """The fields of a file's header that are needed for a chat.

    Attributes:
        context_length: number of tokens that the model was trained for; None if the header does not say.
        cache_bytes: size of one token in the cache.
        chat_template: the template for prompts; None if there is none.
        control: maps the ids of control tokens to their texts.
    """

    context_length: int | None
    cache_bytes: int
    chat_template: str | None
    control: dict[int, str]


def is_gguf(path: Path) -> bool:
    """Check whether the file exists and begins with GGUF's magic bytes."""
    try:
        with path.open("rb") as file:
            return file.read(4) == MAGIC
    except OSError:
        return False


def read_header(path: Path) -> GGUFHeader:
    """Read the header.

    Raises:
        ValueError: the file is not a readable GGUF file.
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
        raise ValueError(f"Nightshift cannot read GGUF version {version}")
    if count > MAX_ENTRIES:
        raise ValueError("the file is damaged: its header states too many entries")
    # Python evaluates a key before its value, so the name is read before the value, in the order of the file.
    return {_text(file): _value(file, *_unpack(file, "I")) for _ in range(count)}


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
    return _take(file, *_unpack(file, "Q")).decode("utf-8", "replace")


def _unpack(file: BinaryIO, form: str) -> tuple[Any, ...]:
    return struct.unpack(f"<{form}", _take(file, struct.calcsize(f"<{form}")))


def _take(file: BinaryIO, size: int) -> bytes:
    if size > MAX_BYTES:
        raise ValueError("the file is damaged: its header states too long a value")
    return file.read(size)


_ROLES = {"system": "### System:", "user": "### Human:", "assistant": "### Assistant:"}


def write_chat(messages: Sequence[Message], template: str | None, control: Mapping[int, str]) -> str:
    """Return the prompt for a conversation. It ends at the point where the assistant's reply begins.

    Templates are Jinja, as on Hugging Face. They are rendered in Jinja's sandbox because they are part of a downloaded
    file. If a template refuses a system prompt, the system prompt is put at the start of the first message. Without a
    usable template, the default format of GPT4All is used. Control tokens inside a message are broken up, so that text
    from a repository cannot begin or end a message.
    """
    safe = [replace(message, text=defuse(message.text, control)) for message in messages]
    for turns in (safe, without_system(safe)) if template else ():
        if text := _render(template or "", turns):
            return text
    return "\n\n".join([*(f"{_ROLES[turn.role]}\n{turn.text}" for turn in safe), _ROLES["assistant"] + "\n"])


def defuse(text: str, control: Mapping[int, str]) -> str:
    """Insert a space into every part of the text that would be read as a control token."""
    names = [re.escape(name) for name in control.values() if len(name) > 1 and name in text]
    if not names:
        return text
    return re.sub("|".join(sorted(names, key=len, reverse=True)), lambda m: f"{m[0][0]} {m[0][1:]}", text)


def _render(template: str, turns: Sequence[Message]) -> str | None:
    from jinja2 import TemplateError  # noqa: PLC0415 - only local models need it
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415

    def raise_exception(message: str) -> NoReturn:
        raise TemplateError(message)

    jinja = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    # Empty, because the engine itself adds the token that begins a text.
    variables: dict[str, Any] = {"bos_token": "", "eos_token": "", "raise_exception": raise_exception}
    messages = [{"role": turn.role, "content": turn.text} for turn in turns]
    try:
        return jinja.from_string(template).render(messages=messages, add_generation_prompt=True, **variables)
    except (TemplateError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError):
        return None


RETRY_S = 600.0
"""Seconds before a failed installation is tried again."""


class ModelFileBackend(BaseModelHandler):
    """A backend that runs a GGUF file with an optional package, which may have to be installed first.

    Args:
        path: the model file.
        num_ctx: the context in tokens, capped at the length that the model was trained for. None chooses a size that
            fits into memory.
        ensure_extra: installs the package.

    Attributes:
        vendor: the engine's name in messages to the owner.
        package: the module that runs the file.
        variables: the settings that may name the file, the backend's own setting first.
    """

    vendor: ClassVar[str]
    package: ClassVar[str]
    variables: ClassVar[tuple[str, ...]]
    parallel = 1

    def __init__(self, *, path: Path, num_ctx: int | None = None, ensure_extra: EnsureExtra | None = None) -> None:
        super().__init__(model=path.name)
        self._path, self._num_ctx, self._ensure_extra = path, num_ctx, ensure_extra
        self._retry_at_s = -math.inf
        self._window: int | None = None

    @classmethod
    def from_settings(cls, settings: BackendSettings, model: str | None) -> Self | None:
        """Create a backend from the path of a model file, or of a folder in which `model` names a file.

        `model` may be given with or without the ending `.gguf`. Returns None if no path is set.
        """
        paths = (getattr(settings, name.lower()) for name in cls.variables)
        if (path := next(filter(None, paths), None)) is None:
            return None
        return cls(path=in_folder(path, model), num_ctx=settings.num_ctx, ensure_extra=settings.ensure_extra)

    @property
    def window(self) -> int | None:
        """The context size in tokens with which the model is loaded; None until the file was read."""
        return self._window

    def _read_file(self) -> tuple[GGUFHeader, int]:
        """Read the file's header, and choose the context size for loading.

        Raises:
            BackendMisconfigured: the file cannot be read.
        """
        try:
            header = read_header(self._path)
            needed = self._path.stat().st_size + WIDE * header.cache_bytes
        except (OSError, ValueError) as error:
            raise self._unloadable(error) from error
        self._window = choose_window(self._num_ctx, header.context_length, needed, memory_bytes())
        return header, self._window

    def _unloadable(self, why: object, advice: str = "") -> BackendMisconfigured:
        advice = advice or f"set {self.variables[0]} to a model file that {self.vendor} can run"
        return BackendMisconfigured(f"{self.vendor} cannot load {self._path}: {why}; {advice}")

    @property
    def free(self) -> bool:
        """Always True: the model runs on this machine."""
        return True

    def is_available(self) -> bool:
        """Check that the file and the package exist. A missing package is installed first, which may take minutes."""
        if not is_gguf(self._path):
            self.detail = f"{self._path} is not a GGUF model file: set {self.variables[0]} to a GGUF file"
        elif time.monotonic() >= self._retry_at_s:
            self.detail = "" if find_spec(self.package) else f"the package {self.package} is being installed"
            try:
                self._require_package()
                self.detail = ""
            except BackendMisconfigured as error:
                self.detail, self._retry_at_s = str(error), time.monotonic() + RETRY_S * bool(self._ensure_extra)
        return not self.detail

    def _require_package(self) -> None:
        """Ensure that the package is installed. Blocks for minutes if it has to be installed.

        Raises:
            BackendMisconfigured: the package is missing and cannot be installed now.
        """
        if find_spec(self.package):
            return
        try:
            if self._ensure_extra:
                self._ensure_extra(self.name)
        except NightshiftError as error:
            raise BackendMisconfigured(f"the package {self.package}: {error}") from error
        if not find_spec(self.package):
            by_hand = install_by_hand(self.name)
            raise BackendMisconfigured(f"the package {self.package} is not installed; install it with {by_hand}")


def in_folder(path: Path, model: str | None) -> Path:
    """Return `path` itself if it is a file, or the named file in the folder `path`.

    Without a name, return the model of the folder that is best at coding.
    """
    if not path.is_dir():
        return path
    if model:
        return path / (model if model.endswith(".gguf") else f"{model}.gguf")
    names = sorted(each.name for each in path.glob("*.gguf"))
    return path / (choose(names) or "no-model.gguf")
