"""All forged verdicts."""

from __future__ import annotations

from tests.hostile.verdicts import (
    apart,
    covert_channels,
    declined_answers,
    equal_objects,
    in_one_process,
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

FORGERIES: dict[str, Forgery] = {
    forgery.id: forgery
    for module in (
        equal_objects, declined_answers, leaks, covert_channels, named_outcomes,
        in_process_reading, in_process_changing, in_process_framework, in_one_process, apart,
        javascript_objects, javascript_outcomes, javascript_in_process,
    )
    for forgery in module.FORGERIES
}  # fmt: skip
