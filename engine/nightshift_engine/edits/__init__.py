"""The edit operators: `EXPRESSION_EDITS` change one expression or operator, `STATEMENT_EDITS` change statements.

Each operator gets one scope of a file, with all that is known about the scope, and makes all edits of its kind. The
order of the operators decides between edits that are equally likely.
"""

from nightshift_engine.edit import EditOperator

from .assignments import assignments, initial_values, missing_records, running_best
from .attributes import missing_keys, own_attributes, replace_shared_defaults, unset_fields
from .calls import arguments, keywords, methods, missing_calls
from .comprehensions import clauses, comprehensions
from .conditions import branches, conditions
from .constants import constants, off_by_one
from .exits import declarations, flow, returns, yields
from .guards import guards, wrap
from .moves import copies, moves, sibling_branches, updates
from .names import names, transplants
from .operators import comparisons, new_operands, operators
from .results import exceptions, return_expressions
from .subscripts import slices, subscripts
from .wrapping import bounds, concatenations, remainders, wrapping

EXPRESSION_EDITS: tuple[EditOperator, ...] = (
    comparisons, operators, off_by_one, constants, slices, arguments, keywords, missing_calls, methods, names,
    subscripts, comprehensions, wrapping, bounds, remainders, clauses, return_expressions, exceptions, transplants,
    concatenations, new_operands,
)  # fmt: skip
STATEMENT_EDITS: tuple[EditOperator, ...] = (
    conditions, branches, guards, wrap, returns, yields, initial_values, moves, copies, updates, assignments, flow,
    declarations, own_attributes, replace_shared_defaults, missing_keys, missing_records, unset_fields,
    sibling_branches,
    running_best,
)  # fmt: skip
