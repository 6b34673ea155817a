"""Comparisons of the code side's objects on the test side of a split run.

That side never decides alone whether one of its objects equals a plain value: it is asked for the real value twice, in
random places among values close to it, and has to tell them apart. An object that the test has made by a call of its
class is compared with objects that differ from it in one argument.
"""

import random

from . import values
from .close_values import close, near

DECOYS, ENOUGH = 8, 5
PLAIN = (*values.BASES, bool, type(None))
CHANCE = random.SystemRandom()


class Contradiction(AssertionError):
    """An object of the code side is equal to several values."""


def is_equal(side, remote, other):
    """Tell whether an object of the code side is equal to a value, as far as that side can be believed."""
    known = vars(remote)
    if hasattr(type(other), "_is_remote"):
        if remote is other:
            return True
        return _is_alike(side, remote, other)
    if known["_plain"] is not None and known["_plain"] == other:
        return True
    if known["_equality"] == "identity" or (known["_equality"] == "plain" and known["_plain"] is not None):
        if type(other) in PLAIN:
            side.unequal()
        return False
    real = side.pack(other)
    candidates = [real, real, *(side.pack(value) for value in near(other, DECOYS, CHANCE))]
    order = list(range(len(candidates)))
    CHANCE.shuffle(order)
    answers = side.request("equal", known["_number"], [candidates[place] for place in order])
    if type(answers) is not list or len(answers) != len(order):
        side.fail("did not answer the question that it was asked")
    said = dict(zip(order, answers, strict=True))
    if len(candidates) < ENOUGH:
        side.note("compares objects with what has no close values")
    if said[0] is not said[1] or (said[0] is True and any(said[place] for place in order if place > 1)):
        error = Contradiction(f"an object of {type(remote).__name__} is equal to {other!r} and to other values")
        side.fault = side.fault or str(error)
        raise error
    if said[0] is not True:
        side.unequal()
    return said[0] is True


def is_held(side, remote, item):
    """Tell whether an object of the code side contains a value; one derived from a container does by its content."""
    content = side.request("content", vars(remote)["_number"])
    told = side.request("operate", "contains", (side.pack(remote), side.pack(item)))
    if told is not True or content is None or item in content:
        if content is None:
            side.note("asks an object of the tested code what it holds")
        return told
    decoys = [value for value in near(item, DECOYS, CHANCE) if value not in content]
    if decoys and all(side.request("operate", "contains", (side.pack(remote), side.pack(value))) for value in decoys):
        side.fault = side.fault or f"an object of {type(remote).__name__} contains whatever is asked for"
        raise Contradiction(side.fault)
    side.note("asks an object of the tested code what it holds")
    return told


def _is_alike(side, remote, other):
    """Compare two objects of the code side; one that the test has made is compared with slightly other ones too."""
    told = side.request("operate", "eq", (side.pack(remote), side.pack(other)))
    made = vars(other).get("_made") or vars(remote).get("_made")
    one = remote if vars(other).get("_made") else other
    decoys = [list(_other_arguments(side, made[1])) for _ in range(DECOYS)] if made else []
    if not decoys or told is not True or made[0] is not type(remote):
        side.note("compares objects of the tested code")
        return told
    answers = side.request("alike", vars(one)["_number"], vars(made[0])["_number"], decoys)
    if type(answers) is list and len(answers) == len(decoys) and all(answer is True for answer in answers):
        side.fault = side.fault or f"an object of {made[0].__name__} is equal to all others of its class"
        raise Contradiction(side.fault)
    if any(answers):
        side.note("compares objects of the tested code")
    return told


def _other_arguments(side, arguments):
    """Packed arguments of a call with one of them changed."""
    places = CHANCE.sample(range(len(arguments)), len(arguments))
    changed = next((place for place in places if close(arguments[place], CHANCE) is not arguments[place]), None)
    for place, value in enumerate(arguments):
        yield side.pack(close(value, CHANCE) if place == changed else value)
