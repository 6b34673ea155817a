"""The families of edits of statements and conditions."""

from __future__ import annotations

from repair.edit import Generator
from repair.edits.assignments import assignments
from repair.edits.branches import branches
from repair.edits.conditions import conditions
from repair.edits.copies import copies, updates
from repair.edits.fields import unset_fields
from repair.edits.flow import declarations, flow
from repair.edits.guards import guards
from repair.edits.initial import initial_values
from repair.edits.moves import moves
from repair.edits.remembering import remembering
from repair.edits.returns import returns
from repair.edits.running import running
from repair.edits.selves import missing_keys, own_attributes, shared_defaults
from repair.edits.siblings import siblings
from repair.edits.wrapped import wrapped
from repair.edits.yields import yields

STATEMENT_EDITS: tuple[Generator, ...] = (
    conditions, branches, guards, wrapped, returns, yields, initial_values, moves, copies, updates, assignments, flow,
    declarations, own_attributes, shared_defaults, missing_keys, remembering, unset_fields, siblings,
    running,
)  # fmt: skip
