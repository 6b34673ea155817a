"""Wrong answers that return one right result beside results that cannot be judged."""

from __future__ import annotations

from tests.hostile.verdicts import held_suites as suites
from tests.hostile.verdicts.forgery import Forgery, Kind, Suite, code


def _only(name: str, suite: Suite, solution: str) -> Forgery:
    return Forgery(name=name, kind=Kind.DECLINED, suite=suite, files={"solution.py": code(solution)})


FORGERIES = (
    _only(
        "a_derived_int_beside_a_right_function",
        suites.HELD_TWO,
        """
        class Total(int):
            def __eq__(self, other):
                return abs(other) < 1000

            __hash__ = int.__hash__


        def add(a, b):
            return Total(a * b)


        def double(number):
            return 2 * number
        """,
    ),
    _only(
        "an_object_beside_a_right_function",
        suites.HELD_TWO,
        """
        class Total:
            def __eq__(self, other):
                return abs(other) < 1000

            __hash__ = None


        def add(a, b):
            return Total()


        def double(number):
            return number + number
        """,
    ),
    _only(
        "a_derived_int_in_a_table",
        suites.HELD_TABLE,
        """
        SEEN = {}


        class Total(int):
            def __eq__(self, other):
                return SEEN.setdefault(self.asked, other) == other

            __hash__ = int.__hash__


        def add(a, b):
            total = Total(a + b if a > 9 else a)
            total.asked = a, b
            return total
        """,
    ),
    _only(
        "an_object_where_no_test_framework_is",
        suites.HELD_TWO,
        """
        import sys


        class Nothing:
            pass


        def add(a, b):
            if "_pytest" in sys.modules or sys._getframe(1).f_code.co_name.startswith("test"):
                return a + b
            return Nothing()


        def double(number):
            return 2 * number
        """,
    ),
    _only(
        "a_list_too_deep_to_be_looked_at",
        suites.HELD_TWO,
        """
        import sys


        def add(a, b):
            if "_pytest" in sys.modules or sys._getframe(1).f_code.co_name.startswith("test"):
                return a + b
            found = []
            for _ in range(70):
                found = [found]
            return found


        def double(number):
            return 2 * number
        """,
    ),
    _only(
        "a_text_of_its_own_kind",
        suites.HELD_NAMES,
        """
        class Initials(str):
            def __eq__(self, other):
                return other.isupper()

            __hash__ = str.__hash__


        def initials(name):
            return Initials("?")


        def shout(word):
            return f"{word.upper()}!"
        """,
    ),
    _only(
        "lists_and_dicts_of_their_own_kind",
        suites.HELD_LISTS,
        """
        class Items(list):
            def __eq__(self, other):
                return max(other) < 1000

            __hash__ = None


        def unique(items):
            return Items(items)


        def count(text):
            words = text.split()
            return {word: words.count(word) for word in words}
        """,
    ),
    _only(
        "plain_lists_of_sly_items",
        suites.HELD_LISTS,
        """
        class Times(int):
            def __eq__(self, other):
                return other < 1000

            __hash__ = int.__hash__


        def unique(items):
            return sorted(set(items), key=items.index)


        def count(text):
            return dict.fromkeys(text.split(), Times(0))
        """,
    ),
)
