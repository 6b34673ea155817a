"""Reports of several faults are limited in length, and state how many faults they omit."""

from nightshift.core.errors import InvalidTask
from nightshift.core.text import faults


def test_the_first_faults_are_told_and_the_others_counted() -> None:
    invalid = InvalidTask({f"field{number}": "is wrong" for number in range(1_200_000)})
    assert list(invalid.fields) == [f"field{number}" for number in range(faults.MOST)]
    assert invalid.more == 1_200_000 - faults.MOST
    assert str(invalid).endswith(f"; and {invalid.more:,} more")
    assert len(str(invalid)) < 5000


def test_few_faults_are_told_whole() -> None:
    invalid = InvalidTask({"a": "is wrong", "b": "too"})
    assert (invalid.fields, invalid.more, str(invalid)) == ({"a": "is wrong", "b": "too"}, 0, "a: is wrong; b: too")


def test_long_names_and_reasons_are_cut() -> None:
    invalid = InvalidTask({"k" * 1_000_000: "w" * 1_000_000})
    ((name, why),) = invalid.fields.items()
    assert (len(name), len(why)) == (faults.NAME_CHARS, faults.WHY_CHARS)
    assert name.endswith("…")


def test_a_list_of_names_says_how_many_more_there_are() -> None:
    assert faults.name_first([1, 2]) == "1, 2"
    assert faults.name_first(range(1000)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 990 more"
    assert len(faults.name_first(["x" * 10_000] * 1000)) < 2000
