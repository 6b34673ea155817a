"""All forged verdicts."""

from __future__ import annotations

from dataclasses import replace

from nightshift.core.tasks.verdicts import Label
from tests.hostile.verdicts import (
    covert_channels,
    declined_answers,
    equal_objects,
    in_process_changing,
    in_process_framework,
    in_process_reading,
    javascript_in_process,
    javascript_objects,
    javascript_outcomes,
    leaks,
    named_outcomes,
)
from tests.hostile.verdicts.forgery import Forgery

BEYOND = frozenset({
    "almost_equal_at_once", "a_list_that_contains_what_is_small", "a_class_that_counts_all_as_its_own",
    "a_dataclass_that_leaves_all_out", "a_point_of_the_first_sight", "a_value_that_raises_where_it_is_compared",
    "an_exception_of_a_property", "a_text_in_the_place_of_the_name", "reads_globals_of_the_tests",
})  # fmt: skip
"""Forgeries that no run can detect. The objects of most of them adapt to what each test asks; the last ones in the list
are right wherever pytest runs.
"""

FORGERIES: dict[str, Forgery] = {
    forgery.id: replace(forgery, best=Label.TESTS_PASSED) if forgery.name in BEYOND else forgery
    for module in (
        equal_objects, declined_answers, leaks, covert_channels, named_outcomes,
        in_process_reading, in_process_changing, in_process_framework,
        javascript_objects, javascript_outcomes, javascript_in_process,
    )
    for forgery in module.FORGERIES
}  # fmt: skip
