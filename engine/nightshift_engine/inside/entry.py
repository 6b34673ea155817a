"""The trusted parent of a run for the repair engine: like `supervisor`, but the reports of its children are no verdict.

There are two kinds of runs. One kind observes the tests, or evaluates or calls candidates, in one child. The other kind
synthesises a function: the tests run in one child with a recorder in place of the function, and the search runs in a
second child. The second child runs none of the workspace's code and begins after all processes of the tests have ended.
"""

import gc
import json
import signal
import sys

from nightshift_inside import files, services, supervisor
from nightshift_inside.child import Child, read_all

LEAST_S, SPARE_S = 1.0, 3.0
"""Two times of the search in seconds: its minimum budget, even if the tests took long, and the time beyond its budget
after which its process is killed.
"""


def main():
    """Read the job from standard input, run it, and answer on standard output."""
    gc.disable()
    del sys.path[:2]  # remove the folder of our code: the workspace's names must not clash with ours
    serve(sys.argv[3:])


def preload(libraries):
    """Import the modules that every run needs once, before the children fork."""
    sys.path.extend(path for path in libraries if path not in sys.path)
    from nightshift_inside import session  # noqa: PLC0415 (its libraries are not on the path before)

    from . import evaluating, observing, probing  # noqa: F401, PLC0415 (as above)

    session.preload()


def serve(libraries):
    """Serve the one job; `libraries` are the import paths of the test libraries."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    first = Child(with_tests, libraries)  # forked before the job arrives, so that its memory never holds the key
    supervisor.hide()
    job, source = files.receive(0)
    key = bytes.fromhex(job.pop("key"))
    try:
        answer = run(job, source, first, libraries)
    except services.NotUp as error:
        answer = error.answer
    supervisor.reply(key, answer)


def run(job, source, first, libraries):
    """Run the job with its services and return the answer."""
    beside = services.start(job)
    files.unpack(job, source)
    task = {**job["program"], "memory_mb": job["memory_mb"]}
    first.send(json.dumps({"session": job["session"], "task": task}).encode())
    answer = synthesise(job, task, first, libraries) if task["kind"] == "synthesis" else first.watch(job)
    return {"python": sys.version.split()[0], "program": answer} | beside.ended()


def synthesise(job, task, first, libraries):
    """Run the tests, and then search for a function that agrees with the recorded calls."""
    seen = first.watch({**job, "wall_s": task["tests_s"]})
    left_s = max(LEAST_S, task["budget_s"] - seen["duration_s"])
    second = Child(search, libraries)
    second.send(json.dumps({**task, "budget_s": left_s, "seen": seen["events"]}).encode())
    return second.watch({**job, "wall_s": left_s + SPARE_S})


def with_tests(pipe, events, libraries):
    """In the first child: run the task's part that needs the tests."""
    preload(libraries)
    config = json.loads(read_all(pipe))
    session, task = config["session"], config["task"]
    if task["kind"] == "synthesis":
        return record(session, task, events, libraries)
    return evaluate(session, task, events, libraries)


def record(session, task, events, libraries):
    """Run the tests with a recorder in place of the function."""
    from .synthesis import recorder  # noqa: PLC0415 (only where it is needed)

    gc.freeze()
    gc.enable()
    return recorder.run(session, events, libraries, task["tests_s"])


def evaluate(config, task, events, libraries):
    """Do the task and write the findings to `events`, one line of JSON each."""
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
    """Use the suite's Hypothesis settings, but without shrinking of failures."""
    from hypothesis import Phase, settings  # noqa: PLC0415 (slow to import; only where tests use it)

    phases = [Phase.explicit, Phase.generate]
    settings.register_profile("tried", settings.get_profile("judged"), phases=phases)
    settings.load_profile("tried")


def search(pipe, events, _libraries):
    """In the second child: run the search."""
    from .synthesis import work  # noqa: PLC0415 (the first child must not have it)

    return work.run(json.loads(read_all(pipe)), events)
