"""The models that a step can be given to, with what each has cost and taken so far: to look at before one forks."""

from __future__ import annotations

from nightshift.core.built_in import BUILT_IN
from nightshift.core.routing import ModelResult
from nightshift.report import outlook
from nightshift.server.context import AppContext
from nightshift.server.schemas import Answer
from nightshift.server.timeline.forking import label_of
from nightshift.storage.db.model_results import ModelResults


class ForkModel(Answer):
    """A model, by the name under which a fork asks for it, and what it was measured at, where it was.

    `attempts` are those of the newest hundred of each kind of task that it began, `solved` those that were committed
    with what it wrote. Cost and seconds are the mean of its replies with code, for one attempt; null without an
    attempt, the cost also where the price of a call is not known.
    """

    name: str
    available: bool
    attempts: int
    solved: int
    cost_usd: float | None
    seconds: float | None


class ForkModels(Answer):
    """The models in the order of the settings; `left_usd` is what the day's budget has left, null without one."""

    models: list[ForkModel]
    left_usd: float | None


def fork_models(context: AppContext) -> ForkModels:
    """The configured models as they are now, with their results over all kinds of tasks."""
    measured: dict[str, ModelResult] = {}
    for by_model in ModelResults(context.database, clock=context.clock).results().values():
        for label, result in by_model.items():
            measured[label] = measured.get(label, ModelResult()) + result
    found = [
        _model(label_of(each), measured.get(f"{each.name}={each.model}", ModelResult()), available=each.available)
        for each in context.status().models
        if each.name != BUILT_IN
    ]
    forecast, *_ = outlook.read(context.database.reader(), context.work(), context.clock())
    return ForkModels(models=found, left_usd=forecast.left_usd)


def _model(name: str, result: ModelResult, *, available: bool) -> ForkModel:
    began = result.began
    return ForkModel(
        name=name,
        available=available,
        attempts=began,
        solved=result.solved,
        cost_usd=result.cost_usd / began if began and not result.unpriced else None,
        seconds=result.seconds / began if began else None,
    )
