"""The benchmark: its figures, and runs that begin, go on and end here."""

from __future__ import annotations

from nightshift.core.errors import BenchmarkError
from nightshift.report.benchmark.running import Asked
from nightshift.report.benchmark.store import BenchmarkStore
from nightshift.report.benchmark.stored import known_repo
from nightshift.server.benchmark_answers import Benchmark, BenchmarkIn, BenchmarkQuery, BenchmarkStarted, nothing, told
from nightshift.server.context import AppContext
from nightshift.server.endpoint import Reply, Routes

routes = Routes()


@routes.endpoint("GET", "/api/benchmark", errors=(400, 409))
def show_benchmark(context: AppContext, query: BenchmarkQuery) -> Benchmark:
    """Show the benchmark of models on a repository's own history: report, runs with their progress, items, outcomes."""
    path = context.benchmark_db()
    if path is None or not path.exists():
        return nothing(context)
    with BenchmarkStore(path) as store:
        return told(context, store, query)


@routes.endpoint("POST", "/api/benchmark/runs", answers={202: BenchmarkStarted}, errors=(400, 409, 415))
def start_benchmark(context: AppContext, body: BenchmarkIn) -> Reply:
    """Begin a run over a repository that was mined; it goes on with what has no result yet."""
    with _known(context) as store:
        repo = known_repo(store, body.repo)
    context.benchmark.begin(repo, body.models, Asked(mode=body.mode, items=body.items, budget_usd=body.budget_usd))
    return Reply(answer=BenchmarkStarted(repo=repo), status=202)


@routes.endpoint(
    "POST", "/api/benchmark/runs/{key}/resume", answers={202: BenchmarkStarted}, texts=("key",), errors=(400, 409)
)
def resume_benchmark(context: AppContext, key: str) -> Reply:
    """Go on with a run that was stopped or broken off."""
    with _known(context) as store:
        run = store.run(key)
    context.benchmark.begin(run.repo, (), Asked(), run.key)
    return Reply(answer=BenchmarkStarted(repo=run.repo), status=202)


@routes.endpoint(
    "POST", "/api/benchmark/runs/{key}/stop", answers={202: BenchmarkStarted}, texts=("key",), errors=(400, 409)
)
def stop_benchmark(context: AppContext, key: str) -> Reply:
    """Stop a run: the attempt under way is put down and goes on with the run; one of a terminal ends its attempt."""
    with _known(context) as store:
        run = store.run(key)
    context.benchmark.stop(run.key)
    return Reply(answer=BenchmarkStarted(repo=run.repo), status=202)


def _known(context: AppContext) -> BenchmarkStore:
    path = context.benchmark_db()
    if path is None or not path.exists():
        raise BenchmarkError("nothing was mined yet: `nightshift bench mine REPO` does it")
    return BenchmarkStore(path)
