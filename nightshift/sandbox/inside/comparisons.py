"""Comparisons of the code side's objects on the test side of a split run.

That side never decides alone whether one of its objects equals a plain value, holds one, or is like an object that the
test has made by a call of its class. It is asked about the right value and about close ones, each twice, in random
order; the values are such that none of them stands out. Whoever cannot tell them apart contradicts himself.
"""

import random

from .close_values import among

ENOUGH = 5
"""With fewer values than this the answer may be a guess: it is taken, and the test is not judged."""
CHANCE = random.SystemRandom()


class Contradiction(AssertionError):
    """An object of the code side is equal to several values, or now to one and now not."""


def is_equal(side, remote, other):
    """Tell whether an object of the code side is equal to a value, as far as that side can be believed."""
    known = vars(remote)
    if hasattr(type(other), "_is_remote"):
        return True if remote is other else _is_alike(side, remote, other)
    if known["_plain"] is not None and known["_plain"] == other:
        return True
    if known["_equality"] == "identity" or (known["_equality"] == "plain" and known["_plain"] is not None):
        if _is_plain(other):
            side.unequal()
        return False
    values = among(other, CHANCE) if _is_plain(other) else [other]
    said = _said(side, remote, "equal", values)
    if len(values) < ENOUGH:
        side.note("compares objects with what has no close values")
    right = said[_place(values, other)]
    if right and sum(said) > 1:
        _contradict(side, f"an object of {type(remote).__name__} is equal to {other!r} and to other values")
    if not right:
        side.unequal()
    return right


def is_held(side, remote, item):
    """Tell whether an object of the code side contains a value; one derived from a container does by its content."""
    content = side.request("content", vars(remote)["_number"])
    values = among(item, CHANCE) if _is_plain(item) else [item]
    said = _said(side, remote, "holds", values)
    right = said[_place(values, item)]
    if content is not None and (item in content) is right:
        return right
    if content is not None and right and all(said) and len(said) >= ENOUGH:
        _contradict(side, f"an object of {type(remote).__name__} contains whatever is asked for")
    side.note("asks an object of the tested code what it holds")
    return right


def _is_alike(side, remote, other):
    """Compare two objects of the code side; one that the test has made is compared with slightly other ones as well."""
    made = vars(other).get("_made") or vars(remote).get("_made")
    one = remote if vars(other).get("_made") else other
    plain = made and made[0] is type(remote) and all(map(_is_plain, made[1]))
    given = among(tuple(made[1]), CHANCE) if plain else []
    told = side.request("operate", "eq", (side.pack(remote), side.pack(other)))
    if len(given) < ENOUGH or told is not True:
        side.note("compares objects of the tested code")
        return told
    packed = [[side.pack(value) for value in arguments] for arguments in given]
    said = side.request("alike", vars(one)["_number"], vars(made[0])["_number"], packed)
    if type(said) is list and len(said) == len(given) and all(answer is True for answer in said):
        _contradict(side, f"an object of {made[0].__name__} is equal to all others of its class")
    if sum(answer is True for answer in said) != 1 or said[_place(given, tuple(made[1]))] is not True:
        side.note("compares objects of the tested code")
    return told


def _said(side, remote, action, values):
    """What the code side says of an object and some values, each asked twice."""
    order = [*range(len(values)), *range(len(values))]
    CHANCE.shuffle(order)
    packed = [side.pack(value) for value in values]
    answers = side.request(action, vars(remote)["_number"], [packed[place] for place in order])
    if type(answers) is not list or len(answers) != len(order):
        side.fail("did not answer the question that it was asked")
    said = [
        {answer is True for at, answer in zip(order, answers, strict=True) if at == place}
        for place in range(len(values))
    ]
    if any(len(one) > 1 for one in said):
        _contradict(side, f"an object of {type(remote).__name__} is now equal to a value and now not")
    return [True in one for one in said]


def _place(values, value):
    """Where a value stands among others."""
    return next(
        place for place, one in enumerate(values) if one is value or (type(one) is type(value) and one == value)
    )


def _is_plain(value):
    return type(value).__module__ in ("builtins", "decimal", "fractions")


def _contradict(side, what):
    side.fault = side.fault or what
    raise Contradiction(what)
