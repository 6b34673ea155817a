"""What the recorder returns in the place of a result: it learns from comparisons what is expected, and says yes.

Where a truth value must be answered (`assert f(x)`), the trail of answers decides; see `recorder`.
"""

import copy

from nightshift_inside import values


class Unsettled(Exception):
    """A test asks of a result what cannot be answered before the result is known."""


class Unknown:
    """The value of a call of which nothing is known yet."""


UNKNOWN = Unknown()


class Call:
    """A call that a test made: packed arguments, and what is known of its result: its value, or its truth alone."""

    def __init__(self, packed):
        self.packed, self.value, self.near, self.truth = packed, UNKNOWN, None, None


class Trail:
    """The answers of one run of a test: first those that are given, then yes.

    `asked` counts them; `notes` are calls whose results became known, `calls` all, the latest last.
    """

    def __init__(self, answers=(), raising=None):
        self.answers, self.asked, self.raising = list(answers), 0, raising or {}
        self.calls, self.notes, self.known = [], [], {}

    def decide(self):
        """The next answer."""
        if self.asked == len(self.answers):
            self.answers.append(True)
        self.asked += 1
        return self.answers[self.asked - 1]

    def call(self, packed):
        """Note a call; the same arguments have the same result."""
        text = values.as_json(packed)
        if text not in self.known:
            self.known[text] = Call(packed)
        self.calls.append(self.known[text])
        return self.known[text]


class Probe:
    """A result that is not known."""

    __hash__ = None

    def __init__(self, trail, call):
        self._trail, self._call = trail, call

    def __eq__(self, other):
        return self._compared(other)

    def __ne__(self, other):
        return not self._compared(other)

    def _compared(self, other):
        call = self._call
        wanted, near = _plain(other)
        if call.value is not UNKNOWN:
            return call.value == wanted if near is None else other == call.value
        if wanted is UNKNOWN:
            return True
        equal = self._trail.decide()
        if equal:
            call.value, call.near = copy.deepcopy(wanted), near
            self._trail.notes.append(call)
        return equal

    def __bool__(self):
        call = self._call
        if call.value is not UNKNOWN:
            return bool(call.value)
        if call.truth is None:
            call.truth = self._trail.decide()
            self._trail.notes.append(call)
        return call.truth

    def settled(self):
        """The value.

        Raises:
            Unsettled: it is not known.
        """
        if self._call.value is UNKNOWN:
            raise Unsettled
        return self._call.value

    def __repr__(self):
        return "<result>"


def _plain(other):
    """The value that another object stands for, and the tolerances where it is an approximate one."""
    if isinstance(other, Probe):
        return other._call.value, None  # noqa: SLF001 (of the same class)
    if type(other).__name__.startswith("Approx") and hasattr(other, "expected"):
        return other.expected, _tolerances(other)
    return other, None


def _tolerances(approx):
    """The relative and the absolute tolerance of `pytest.approx`, with its usual ones."""
    usual = 1e-6 if approx.abs is None else 0.0
    return [float(usual if approx.rel is None else approx.rel), float(1e-12 if approx.abs is None else approx.abs)]


def _passed_on(name):
    def method(self, *arguments):
        value = self.settled()
        return getattr(value, name)(*(part.settled() if isinstance(part, Probe) else part for part in arguments))

    return method


for _name in (
    "__lt__", "__le__", "__gt__", "__ge__", "__len__", "__iter__", "__getitem__", "__contains__", "__add__", "__radd__",
    "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__floordiv__", "__mod__", "__abs__", "__round__",
    "__neg__", "__int__", "__float__", "__str__", "__index__",
):  # fmt: skip
    setattr(Probe, _name, _passed_on(_name))


def isinstance_(value, kinds):
    """`isinstance` for tests: of a result that is not known it says yes."""
    if type(value) is Probe:
        return value._call.value is UNKNOWN or isinstance(value._call.value, kinds)  # noqa: SLF001 (our own)
    return isinstance(value, kinds)
