"""Tests of average() and best()."""

from examples.ratings import average, best


def test_average() -> None:
    """It is rounded."""
    assert average([4, 5, 5]) == 4.7
    assert average([3]) == 3.0


def test_average_of_nothing() -> None:
    """Nobody has rated."""
    assert average([]) is None


def test_best() -> None:
    """A hotel without ratings is no candidate."""
    assert best({"Astoria": [4, 4], "Bellevue": [5, 4], "Carlton": []}) == "Bellevue"


def test_best_of_none() -> None:
    """There is no hotel, or none with ratings."""
    assert best({}) is None
    assert best({"Carlton": []}) is None
