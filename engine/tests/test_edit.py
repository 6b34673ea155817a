from hypothesis import given
from hypothesis import strategies as st

from nightshift_engine.edit import vocabulary

FILE = '''
"""Roads are 7 or "wide"."""
LIMIT = 40


def toll(weight, is_heavy=True):
    """Take `base_rate`, and 2.5 for 'trucks'."""
    return 40 if weight > LIMIT else "free"
'''
TESTS = "def test_toll():\n    assert toll(1) == 'free' and toll(99, False) == 99 == 99 == 99\n"


def test_constants_of_the_file_come_before_those_of_its_tests() -> None:
    constants = vocabulary(FILE, [TESTS]).constants
    assert constants[0] == "40"
    assert constants.index("'free'") < constants.index("99")
    assert {"7", "'wide'", "2.5", "'trucks'"} <= set(constants)
    assert not {"True", "False", "None"} & set(constants)


def test_names_of_code_and_of_prose_are_known() -> None:
    names = vocabulary(FILE, [TESTS]).names
    assert {"toll", "weight", "LIMIT", "is_heavy", "base_rate", "test_toll"} <= set(names)
    assert names.index("weight") < names.index("test_toll")


def test_broken_code_counts_as_prose() -> None:
    words = vocabulary("def f(:\n    return 'open' + big_word")
    assert words.constants == ("'open'",)
    assert "big_word" in words.names


@given(st.text(max_size=200))
def test_any_text_has_a_vocabulary(text: str) -> None:
    assert vocabulary(text, [text], [text]).texts == (text, text)
