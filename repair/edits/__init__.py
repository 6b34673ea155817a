"""The edit operators: `EXPRESSION_EDITS` stay within one expression or operator, `STATEMENT_EDITS` go beyond.

Each takes one scope of a file with what is known about it, and makes all edits of its kind. Their order is that of
edits that are equally likely.
"""

from repair.edit import EditOperator
from repair.edits.assignments import assignments, initial_values, missing_records, running_best
from repair.edits.attributes import missing_keys, own_attributes, shared_defaults, unset_fields
from repair.edits.calls import arguments, keywords, methods, missing_calls
from repair.edits.comprehensions import clauses, comprehensions
from repair.edits.conditions import branches, conditions
from repair.edits.constants import constants, off_by_one
from repair.edits.exits import declarations, flow, returns, yields
from repair.edits.guards import guards, wrapped
from repair.edits.moves import copies, moves, sibling_branches, updates
from repair.edits.names import names, transplants
from repair.edits.operators import comparisons, new_operands, operators
from repair.edits.results import exceptions, returned_expressions
from repair.edits.subscripts import slices, subscripts
from repair.edits.wrapping import bounds, concatenations, remainders, wrapping

EXPRESSION_EDITS: tuple[EditOperator, ...] = (
    comparisons, operators, off_by_one, constants, slices, arguments, keywords, missing_calls, methods, names,
    subscripts, comprehensions, wrapping, bounds, remainders, clauses, returned_expressions, exceptions, transplants,
    concatenations, new_operands,
)  # fmt: skip
STATEMENT_EDITS: tuple[EditOperator, ...] = (
    conditions, branches, guards, wrapped, returns, yields, initial_values, moves, copies, updates, assignments, flow,
    declarations, own_attributes, shared_defaults, missing_keys, missing_records, unset_fields, sibling_branches,
    running_best,
)  # fmt: skip
