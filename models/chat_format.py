"""Writes a dialogue as the one text that a local model continues, by the chat template that its file brings along."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from core.dialogue import Message

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
