"""Builds the chain of backends from the owner's settings: which backends, in which order, with which models.

`MODEL_TYPE` is `auto`, a backend's name, or several names in order of preference (`openai,ollama`). `MODEL_NAME` is one
model or several. `backend=model` names the backend, and a plain name belongs to the backend at the same position in
`MODEL_TYPE`. A backend with several models appears in the chain once per model, in consecutive places.

With `auto` every configured backend takes part. A plain model name goes to the vendor that its form suggests
(`claude…`, `gpt-…`, `….gguf`), otherwise to Ollama and to a custom server at `OPENAI_BASE_URL`.

The backend `repair` is the built-in engine, which accepts no model name.

The backend `llama_cpp` follows GPT4All with the same model file, as the fallback if GPT4All cannot load that file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from nightshift.core.built_in import BUILT_IN
from nightshift.core.errors import ConfigError
from nightshift.core.tasks.states import TERMINAL_PHASES, Phase
from nightshift.models import backend_class, backends
from nightshift.models.base import BackendSettings, BaseModelHandler

_SHAPES = (("anthropic", r"^claude"), ("openai", r"^(gpt-\d|o\d|chatgpt)"), ("gemini", r"^gemini-"))
_LLAMA_CPP = "llama_cpp"


def build_chain(
    settings: BackendSettings,
    *,
    model_type: str = "auto",
    model_name: str | None = None,
    phase_models: Mapping[str, str] | None = None,
) -> tuple[BaseModelHandler, ...]:
    """Create the backends in the order in which they are asked. Backends that only single phases use come last.

    Raises:
        ConfigError: the settings name an unknown backend, or one that is not configured.
    """
    automatic = model_type.strip().lower() in {"", "auto"}
    kinds = list(backends()) if automatic else [kind.lower() for kind in _split_list(model_type)]
    named = _pair_models(kinds, _split_list(model_name or ""), settings, automatic=automatic)
    if automatic and not settings.llama_cpp_model_path and _LLAMA_CPP not in named:
        kinds.remove(_LLAMA_CPP)  # without a model file of its own, llama.cpp is only the fallback of GPT4All
    # Models that the owner named come before models that are only detected.
    order = sorted(kinds, key=lambda kind: kind not in named) if automatic else kinds
    pairs = [(kind, model) for kind in dict.fromkeys(order) for model in tuple(named.get(kind, ())) or (None,)]
    chosen = [(kind, backend_class(kind).from_settings(settings, model)) for kind, model in pairs]
    if not automatic and (faults := [_missing(kind) for kind, backend in chosen if not backend]):
        raise ConfigError(faults)
    chain = [*_with_stand_ins([backend for _, backend in chosen if backend], settings)]
    return (*chain, *_for_phases(settings, chain, (phase_models or {}).values()))


def phase_routes(by_phase: Mapping[str, str], setting: str = "phase_models") -> dict[Phase, str]:
    """Check the phase names that are the keys of a setting, and return the setting's values by phase.

    Raises:
        ConfigError: a name is not a phase.
    """
    asking = {phase.value: phase for phase in Phase if phase not in TERMINAL_PHASES}
    if wrong := [name for name in by_phase if name.upper() not in asking]:
        names, where = ", ".join(asking), f"{setting} ({setting.upper()})"
        raise ConfigError([f"{where}: {name!r} is not a phase; choose one of {names}" for name in wrong])
    return {asking[name.upper()]: value for name, value in by_phase.items()}


def how_to_get_one() -> str:
    """Return one sentence for each way to set up a first model."""
    ways = ("ollama", *(name for name in backends() if name not in {"ollama", BUILT_IN}))
    return "; or ".join(backend_class(name).setup for name in ways)


def _split_list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _pair_models(
    kinds: Sequence[str], entries: Sequence[str], settings: BackendSettings, *, automatic: bool
) -> dict[str, list[str]]:
    """Group the models of `MODEL_NAME` by the backend that each belongs to."""
    pairs = [re.fullmatch(r"(\w+)=(.+)", entry) for entry in entries]
    named = [(pair[1], pair[2]) for pair in pairs if pair]
    for kind, _ in named:
        backend_class(kind)
    unpaired = [entry for entry, pair in zip(entries, pairs, strict=True) if not pair]
    if automatic:
        return _group([*named, *((kind, model) for model in unpaired for kind in _backends_for(model, settings))])
    free = [kind for kind in kinds if kind not in dict(named) and kind != BUILT_IN]
    if len(unpaired) > len(free) and free:
        raise ConfigError(["model_name (MODEL_NAME): more models than backends; write backend=model to pair them"])
    return _group([*named, *zip(free, unpaired, strict=False)])


def _group(named: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Group the models by backend, in order and without duplicates."""
    groups: dict[str, list[str]] = {}
    for kind, model in dict.fromkeys(named):
        groups.setdefault(kind, []).append(model)
    return groups


def _backends_for(model: str, settings: BackendSettings) -> list[str]:
    for kind, shape in _SHAPES:
        if re.search(shape, model):
            return [kind]
    if model.endswith(".gguf"):
        files = {"gpt4all": settings.gpt4all_model_path, _LLAMA_CPP: settings.llama_cpp_model_path}
        return [kind for kind, path in files.items() if path]
    return ["ollama", "openai"] if settings.openai_base_url else ["ollama"]


def _with_stand_ins(chain: Sequence[BaseModelHandler], settings: BackendSettings) -> Iterator[BaseModelHandler]:
    """Yield the backends, each followed by its fallback unless the chain contains the fallback already."""
    names = {(backend.name, backend.model) for backend in chain}
    for backend in chain:
        yield backend
        other = backend.stand_in(settings)
        if other and (other.name, other.model) not in names:
            yield other


def _missing(kind: str) -> str:
    return f"model_type (MODEL_TYPE): {kind} is not configured: {backend_class(kind).setup}"


def _for_phases(
    settings: BackendSettings, chain: Sequence[BaseModelHandler], wanted: Iterable[str]
) -> list[BaseModelHandler]:
    """Return the backends that `PHASE_MODELS` needs in addition to the chain.

    A plain model name belongs to the chain's first backend.
    """
    more: list[BaseModelHandler] = []
    first = next((backend.name for backend in chain if backend.name != BUILT_IN), "")
    for text in dict.fromkeys(wanted):
        if any(text in {b.name, b.model, f"{b.name}={b.model}"} for b in (*chain, *more)) or text in backends():
            continue
        kind, _, model = text.rpartition("=")
        if not (kind := kind or first):
            raise ConfigError([f"phase_models (PHASE_MODELS): name the backend of {model!r}, as backend=model"])
        chosen = backend_class(kind).from_settings(settings, model)
        if chosen is None:
            raise ConfigError([f"phase_models (PHASE_MODELS): {_missing(kind)}"])
        more.append(chosen)
    return more
