"""Runs in the child of `trier`: one kind of trial after another, each in a process forked from a warm one."""

from . import attempts, instrument, observing, probing, session

KINDS = {"attempt": attempts.run, "observe": observing.run, "probe": probing.run}


def run(config, trial, events, libraries):
    """Do what is asked and report it into `events`, one line of JSON a finding."""
    session.prepare(config, libraries)
    if "hypothesis" in config["preload"]:
        _hurried_hypothesis()
    served = instrument.Served(config["files"])
    served.install()
    return KINDS[trial["kind"]](config, trial, events, served)


def _hurried_hypothesis():
    """As the suite has it, but a failure need not be made smaller."""
    from hypothesis import Phase, settings  # noqa: PLC0415 (slow to import; only where tests use it)

    phases = [Phase.explicit, Phase.generate]
    settings.register_profile("tried", settings.get_profile("judged"), phases=phases)
    settings.load_profile("tried")
