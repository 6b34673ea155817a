"""Reads the arms that an owner wants to compare in a benchmark, and returns the settings of each arm.

An arm is a model with its settings (`report.benchmark.results.Arm`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, Field, StrictBool, TypeAdapter, ValidationError

from nightshift.core.built_in import BUILT_IN
from nightshift.core.errors import BenchmarkError
from nightshift.core.tasks.benchmark_results import Arm
from nightshift.core.text.strict import Strict, without_nul

MOST_ARMS = 20
LESSONS = 3
"""Number of lessons in a prompt of an arm with memory, if the owner's settings recall none."""
_EXAMPLE = "[{name: mini, model: openai=gpt-5-mini}, {name: engine, model: built-in}]"
"""Example of a file with two arms."""


class ArmIn(Strict):
    """An arm as a person writes it in YAML."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$")]
    model: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(without_nul)]
    protocol: Literal["auto", "whole", "edit"] = "auto"
    tools: StrictBool = False
    readers: StrictBool = False
    memory: StrictBool = False


_ARMS = TypeAdapter(Annotated[list[ArmIn], Field(min_length=1, max_length=MOST_ARMS)])


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSettings:
    """The settings in which an arm differs from the owner's settings. The settings in `unset` must have no value."""

    flags: Mapping[str, Any]
    unset: Mapping[str, None] = field(default_factory=dict)


def of_models(models: Sequence[str]) -> tuple[Arm, ...]:
    """Create an arm for each model, named as `backend=model` or `built-in`, with default settings.

    Raises:
        BenchmarkError: a model is named twice, or its name has another form.
    """
    named = [{"name": _plain_name(model), "model": model} for model in models if model.strip()]
    return _read(named, "--models") if named else ()


def from_file(path: Path) -> tuple[Arm, ...]:
    """Read arms from a YAML file that contains a list.

    Raises:
        BenchmarkError: names the file, the field and the fix.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BenchmarkError(f"{path}: cannot be read: {error}") from None
    return _read(data, str(path))


def settings_of(arm: Arm, recall_limit: int, limit_usd: float | None) -> ArmSettings:
    """Return the settings that an arm changes: no questions, pushes or notices, and no help from another model.

    Args:
        arm: the arm.
        recall_limit: number of lessons in the owner's prompts.
        limit_usd: maximum cost of an attempt in USD; None for no limit.
    """
    flags: dict[str, Any] = {
        "model_type": arm.backend,
        "model_name": arm.label if arm.model else None,
        "phase_models": {},
        "routing": "fixed",
        "repair_first_s": 0.0,
        "edit_format": arm.protocol,
        "explore": "on" if arm.tools else "off",
        "enable_review": arm.readers,
        "enable_audit": arm.readers,
        "critical_left": "commit",
        "change_tests": "keep",
        "enable_clarify": False,
        "clear_enough": 0.0,
        "enable_split": False,
        "environments": "trust",  # as in the validation of the items
        "setup_scripts": "off",  # so that the owner is not asked about a new script
        "git_auto_push": False,
        "git_integrate": False,
        "max_retries": 1,
        "worker_count": 1,
        "recall_limit": (recall_limit or LESSONS) if arm.memory else 0,
        "recall_control_share": 0.0,
        "task_cost_usd": limit_usd,
    }
    if not arm.memory:
        flags["embedder"] = "hashed"
    gone = ("day_tokens", "day_cost_usd", "total_tokens", "total_cost_usd", "review_debt", "notify_url")
    unset = (*gone, *(() if arm.model else ("model_name",)), *(() if limit_usd is not None else ("task_cost_usd",)))
    return ArmSettings(flags=flags, unset=dict.fromkeys(unset))


def _read(data: object, source: str) -> tuple[Arm, ...]:
    try:
        read = _ARMS.validate_python(data)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'arms'}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False)[:5]
        )
        raise BenchmarkError(f"{source}: {faults}. Arms are written like {_EXAMPLE}") from None
    for name, count in Counter(arm.name for arm in read).items():
        if count > 1:
            raise BenchmarkError(f"name: {count} arms are called {name}; give each a name of its own")
    return tuple(map(_arm, read))


def _arm(read: ArmIn) -> Arm:
    name = read.model.strip()
    backend, _, model = name.partition("=")
    if name in {"built-in", BUILT_IN}:
        backend = BUILT_IN
    elif not (backend and model):
        raise BenchmarkError(f"model: {name!r} must be backend=model, such as openai=gpt-5-mini, or built-in")
    return Arm(
        name=read.name, backend=backend, model=model, protocol=read.protocol, tools=read.tools, readers=read.readers,
        memory=read.memory,
    )  # fmt: skip


def _plain_name(model: str) -> str:
    """Return the model's own name, reduced to characters that are safe in a file name."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", model.rpartition("=")[2]).strip("._-")[:40] or "model"
