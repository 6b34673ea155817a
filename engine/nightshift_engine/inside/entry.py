"""The trusted parent of a run for the repair engine: as `supervisor`, but what its children report is no verdict.

There are two kinds of runs. One looks at the tests, or evaluates candidates by them, in one child. The other looks for
a function: the tests run in one child with a recorder in the place of the function, and the search in a second one,
which runs none of the workspace's code and begins when all that the tests started is gone.
"""

import gc
import json
import signal
import sys

from nightshift_inside import files, services, supervisor
from nightshift_inside.child import Child, read_all

LEAST_S, SPARE_S = 1.0, 3.0
"""Least time of the search, however long the tests took, and the time until it is ended from outside (seconds)."""


def main():
    """Take the job from standard input, run it, answer on standard output."""
    gc.disable()
    del sys.path[:2]  # where our code was found; the workspace's names are not to meet ours
    serve(sys.argv[3:])


def preload(libraries):
    """Import once, for all that are forked from here, what every run needs."""
    sys.path.extend(path for path in libraries if path not in sys.path)
    from nightshift_inside import session  # noqa: PLC0415 (its libraries are not on the path before)

    from . import evaluating, observing, probing  # noqa: F401, PLC0415 (as above)

    session.preload()


def serve(libraries):
    """Serve the one job that comes; `libraries` are the import paths of the test libraries."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    first = Child(with_tests, libraries)  # before the job comes, so that nothing of its key is in its memory
    supervisor.hide()
    job, source = files.receive(0)
    key = bytes.fromhex(job.pop("key"))
    try:
        answer = run(job, source, first, libraries)
    except services.NotUp as error:
        answer = error.answer
    supervisor.reply(key, answer)


def run(job, source, first, libraries):
    """Do what is asked, with the services of the job; returns the answer."""
    beside = services.start(job)
    files.unpack(job, source)
    task = {**job["program"], "memory_mb": job["memory_mb"]}
    first.send(json.dumps({"session": job["session"], "task": task}).encode())
    answer = synthesise(job, task, first, libraries) if task["kind"] == "synthesis" else first.watch(job)
    return {"python": sys.version.split()[0], "program": answer} | beside.ended()


def synthesise(job, task, first, libraries):
    """Run the tests, and then search for a function that agrees with what was recorded."""
    seen = first.watch({**job, "wall_s": task["tests_s"]})
    left_s = max(LEAST_S, task["budget_s"] - seen["duration_s"])
    second = Child(search, libraries)
    second.send(json.dumps({**task, "budget_s": left_s, "seen": seen["events"]}).encode())
    return second.watch({**job, "wall_s": left_s + SPARE_S})


def with_tests(pipe, events, libraries):
    """In the first child: all that needs the tests."""
    preload(libraries)
    config = json.loads(read_all(pipe))
    session, task = config["session"], config["task"]
    if task["kind"] == "synthesis":
        return record(session, task, events, libraries)
    return evaluate(session, task, events, libraries)


def record(session, task, events, libraries):
    """Run the tests, with a recorder in the place of the function."""
    from .synthesis import recorder  # noqa: PLC0415 (only where it is needed)

    gc.freeze()
    gc.enable()
    return recorder.run(session, events, libraries, task["tests_s"])


def evaluate(config, task, events, libraries):
    """Do what is asked and report it into `events`, one line of JSON a finding."""
    from nightshift_inside import observer, session  # noqa: PLC0415 (their libraries are not on the path before)

    from . import evaluating, instrument, observing, probing  # noqa: PLC0415 (as above)

    session.prepare(config, libraries)
    if "hypothesis" in config["recorder"]["preload"]:
        observer.steady_hypothesis()
        without_shrinking()
    served = instrument.Served(config["files"])
    served.install()
    kinds = {"evaluate": evaluating.run, "observe": observing.run, "probe": probing.run}
    return kinds[task["kind"]](config, task, events, served)


def without_shrinking():
    """Have Hypothesis as the suite has it, but a failure need not be made smaller."""
    from hypothesis import Phase, settings  # noqa: PLC0415 (slow to import; only where tests use it)

    phases = [Phase.explicit, Phase.generate]
    settings.register_profile("tried", settings.get_profile("judged"), phases=phases)
    settings.load_profile("tried")


def search(pipe, events, _libraries):
    """In the second child: the search."""
    from .synthesis import work  # noqa: PLC0415 (the first child must not have it)

    return work.run(json.loads(read_all(pipe)), events)
