"""Reports of several faults are limited in length, and state how many faults they omit."""

from nightshift.core.errors import InvalidTask
from nightshift.core.text import faults


def test_the_first_faults_are_told_and_the_others_counted() -> None:
    invalid = InvalidTask({f"field{number}": "is wrong" for number in range(1_200_000)})
    assert list(invalid.fields) == [f"field{number}" for number in range(faults.MOST)]
    assert invalid.more == 1_200_000 - faults.MOST
    assert str(invalid).endswith(f"; and {invalid.more:,} more")
    assert len(str(invalid)) < 5000
