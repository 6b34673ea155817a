"""Runs the tests with a recorder in place of the wanted function, and reports the results that calls must give.

The recorder returns a `Probe` in place of a result. The probe learns the expected value from comparisons and answers
yes. If a truth value is needed (`assert f(x)`), a test is run several times: each time the test fails, the last truth
value that can still be changed is answered the other way. If the last run of a test passed, all its known results are
reported; if it failed, all but the last one.
"""

import copy
import inspect
import json
import os
import re
import sys
import time

from nightshift_inside import session, values


class UnknownResult(Exception):
    """Raised when a test needs a value that depends on an unknown result."""


class Unknown:
    """The value of a call whose result is not known yet."""


UNKNOWN = Unknown()


class Call:
    """A call that a test made: its packed arguments, and what is known of its result (the value or only its truth)."""

    def __init__(self, packed):
        self.packed, self.value, self.near, self.truth = packed, UNKNOWN, None, None


class Oracle:
    """Answers questions for truth values in one run of a test: first with the given answers, then with yes.

    `asked` counts the questions. `calls` holds all calls, the latest last. `notes` holds the calls whose results became
    known.
    """

    def __init__(self, answers=(), raising=None):
        self.answers, self.asked, self.raising = list(answers), 0, raising or {}
        self.calls, self.notes, self.calls_by_text = [], [], {}

    def decide(self):
        """Return the answer to the next question for a truth value."""
        if self.asked == len(self.answers):
            self.answers.append(True)
        self.asked += 1
        return self.answers[self.asked - 1]

    def call(self, packed):
        """Record a call; the same arguments give the same `Call`."""
        text = values.as_json(packed)
        if text not in self.calls_by_text:
            self.calls_by_text[text] = Call(packed)
        self.calls.append(self.calls_by_text[text])
        return self.calls_by_text[text]


class Probe:
    """A result that is not known yet."""

    __hash__ = None

    def __init__(self, oracle, call):
        self._oracle, self._call = oracle, call

    def __eq__(self, other):
        return self._compare(other)

    def __ne__(self, other):
        return not self._compare(other)

    def _compare(self, other):
        call = self._call
        wanted, near = _unwrap(other)
        if call.value is not UNKNOWN:
            return call.value == wanted if near is None else other == call.value
        if wanted is UNKNOWN:
            return True
        equal = self._oracle.decide()
        if equal:
            call.value, call.near = copy.deepcopy(wanted), near
            self._oracle.notes.append(call)
        return equal

    def __bool__(self):
        call = self._call
        if call.value is not UNKNOWN:
            return bool(call.value)
        if call.truth is None:
            call.truth = self._oracle.decide()
            self._oracle.notes.append(call)
        return call.truth

    def read_value(self):
        """Return the value of the result if it is known.

        Raises:
            UnknownResult: the value is not known.
        """
        if self._call.value is UNKNOWN:
            raise UnknownResult
        return self._call.value

    def __repr__(self):
        return "<result>"


def _unwrap(other):
    """Return the value that another object represents, and the tolerances if the object is an approximate value."""
    if isinstance(other, Probe):
        return other._call.value, None  # noqa: SLF001 (of the same class)
    if type(other).__name__.startswith("Approx") and hasattr(other, "expected"):
        return other.expected, _tolerances(other)
    return other, None


def _tolerances(approx):
    """Return the relative and the absolute tolerance of `pytest.approx`, with its defaults."""
    usual = 1e-6 if approx.abs is None else 0.0
    return [float(usual if approx.rel is None else approx.rel), float(1e-12 if approx.abs is None else approx.abs)]


def _pass_on(name):
    def method(self, *arguments):
        value = self.read_value()
        return getattr(value, name)(*(part.read_value() if isinstance(part, Probe) else part for part in arguments))

    return method


for _name in (
    "__lt__", "__le__", "__gt__", "__ge__", "__len__", "__iter__", "__getitem__", "__contains__", "__add__", "__radd__",
    "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__floordiv__", "__mod__", "__abs__", "__round__",
    "__neg__", "__int__", "__float__", "__str__", "__index__",
):  # fmt: skip
    setattr(Probe, _name, _pass_on(_name))


def isinstance_(value, kinds):
    """Replace `isinstance` in tests: for an unknown result it returns True."""
    if type(value) is Probe:
        return value._call.value is UNKNOWN or isinstance(value._call.value, kinds)  # noqa: SLF001 (our own)
    return isinstance(value, kinds)


RUNS = 60
"""Maximum number of runs of one test."""
MOST = 400
_state = {"oracle": None, "name": "", "signature": None}
_PATTERN = re.compile(r"""Expected regex: r?['"](.+)['"]|^['"](.+)['"] does not match ['"]""", re.MULTILINE)
_NOT_RAISED = re.compile(r"DID NOT RAISE (?:<class ')?\(?(?:\w+\.)*(\w+)|(\w+) not raised")


def install(space, name):
    """Replace a function of a module by the recorder; a line appended to the module calls this."""
    function = space.get(name)
    if function is None:
        return
    signature = inspect.signature(function)
    _state["name"], _state["signature"] = name, signature

    def recorder(*arguments, **named):
        return _call(signature, arguments, named)

    recorder.__name__ = recorder.__qualname__ = name
    recorder.__doc__, recorder.__module__ = function.__doc__, function.__module__
    space[name] = recorder


def _call(signature, arguments, named):
    bound = signature.bind(*arguments, **named)
    bound.apply_defaults()
    oracle = _state["oracle"]
    argument_values = [part.read_value() if type(part) is Probe else part for part in bound.arguments.values()]
    packed = values.pack(argument_values)
    if oracle is None or _opaque(packed):
        raise UnknownResult
    number = len(oracle.calls)
    call = oracle.call(packed)
    if number in oracle.raising:
        kind, message = oracle.raising[number]
        call.value = kind(message)
        oracle.notes.append(call)
        raise kind(message)
    return Probe(oracle, call)


def _opaque(packed):
    """Check whether some part is not plain data."""
    if type(packed) is not list:
        return False
    return packed[0] in {"o", "u"} or any(map(_opaque, packed[1:]))


class Plugin:
    """The pytest plugin that runs each test as often as necessary."""

    def __init__(self, events, until):
        self._events, self._until, self._reported = events, until, set()

    def pytest_collection_modifyitems(self, items):
        """Wrap each test, so that the plugin runs it."""
        for item in items:
            item.runtest = self._wrap(item, item.runtest)

    def _wrap(self, item, runtest):
        def run():
            error = self._run_until_passed(item, runtest)
            if error is not None:
                raise error

        return run

    def _run_until_passed(self, item, runtest):
        """Run a test with changing answers until it passes; return the error of the last run, or None."""
        oracle, error = Oracle(), None
        for _ in range(RUNS):
            oracle = Oracle(oracle.answers[: oracle.asked], oracle.raising)
            error = self._once(item, runtest, oracle)
            if error is None or time.monotonic() > self._until:
                break
            if not _flip_last_answer(oracle, error):
                break
        self._report(oracle.notes if error is None else oracle.notes[:-1])
        return error

    def _once(self, item, runtest, oracle):
        _state["oracle"] = oracle
        excinfos = getattr(item, "_excinfo", None)
        try:
            runtest()
        except Exception as error:  # noqa: BLE001 (a test may fail of anything)
            return error
        except BaseException as error:
            if type(error).__name__ in {"Failed", "Skipped", "Exit"}:
                return error
            raise
        finally:
            _state["oracle"] = None
        failed = getattr(item, "_excinfo", None)
        item._excinfo = excinfos  # noqa: SLF001 (where pytest keeps what a unittest test raised)
        return failed[-1].value if failed else None

    def _report(self, calls):
        for call in calls:
            how, wanted = _learn(call)
            text = json.dumps([call.packed, how, wanted, call.near])
            if _opaque(wanted) or text in self._reported or len(self._reported) >= MOST:
                continue
            self._reported.add(text)
            os.write(self._events, text.encode() + b"\n")


def _learn(call):
    """Return how the result of a call became known, and the result."""
    if call.value is UNKNOWN:
        return "holds", call.truth
    if isinstance(call.value, Exception):
        return "raises", values.pack([type(call.value).__name__, str(call.value)])
    return "gives", values.pack(call.value)


def _flip_last_answer(oracle, error):
    """Set other answers or exceptions for the next run of the test; return False if all of them have been tried."""
    if oracle.calls and _raises(oracle, str(error), len(oracle.calls) - 1):
        return True
    del oracle.answers[oracle.asked :]
    while oracle.answers and oracle.answers[-1] is False:
        oracle.answers.pop()
    oracle.asked = len(oracle.answers)
    if not oracle.answers:
        return False
    oracle.answers[-1] = False
    return True


def _raises(oracle, error_text, last):
    """Make the last call raise the exception that the test expected, or give that exception the expected message.

    Returns:
        True if the exception or the message is new, so that the test is worth another run.
    """
    missing, pattern = _NOT_RAISED.search(error_text), _PATTERN.search(error_text)
    if missing and last not in oracle.raising:
        kind = getattr(sys.modules["builtins"], missing[1] or missing[2], None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            oracle.raising = {**oracle.raising, last: (kind, "")}
            return True
    if pattern and last in oracle.raising and not oracle.raising[last][1]:
        message = re.sub(r"\\(.)", r"\1", (pattern[1] or pattern[2]).strip("^$"))
        oracle.raising = {**oracle.raising, last: (oracle.raising[last][0], message)}
        return True
    return False


def run(config, events, libraries, seconds):
    """Run the tests that `config` names; the results go to `events`, one line of JSON per call.

    A line is a list of four items: the packed arguments; `gives`, `holds` or `raises`; the packed result, its truth
    value, or the name and message of the exception; and the tolerances (relative, absolute) or None.
    """
    session.prepare(config, libraries)
    plugin = Plugin(events, time.monotonic() + seconds)
    return session.pytest_main([*session.words(config), "--assert=plain"], plugin)
