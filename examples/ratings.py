"""Sums up what guests thought of a hotel."""

from collections.abc import Mapping, Sequence


def average(stars: Sequence[int]) -> float | None:
    """The mean to one decimal; None where nobody has rated."""
    return round(sum(stars) / len(stars), 1)


def best(hotels: Mapping[str, Sequence[int]]) -> str | None:
    """The hotel with the highest mean; None where no hotel has been rated."""
    means = {name: mean for name, stars in hotels.items() if (mean := average(stars)) is not None}
    return max(means, key=lambda name: means[name], default=None)
