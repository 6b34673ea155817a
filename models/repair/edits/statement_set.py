"""The families of edits of statements and conditions."""

from __future__ import annotations

from models.repair.edit import Generator
from models.repair.edits.assignments import assignments
from models.repair.edits.branches import branches
from models.repair.edits.conditions import conditions
from models.repair.edits.copies import copies, updates
from models.repair.edits.fields import unset_fields
from models.repair.edits.flow import declarations, flow
from models.repair.edits.guards import guards
from models.repair.edits.initial import initial_values
from models.repair.edits.moves import moves
from models.repair.edits.remembering import remembering
from models.repair.edits.returns import returns
from models.repair.edits.running import running
from models.repair.edits.selves import missing_keys, own_attributes, shared_defaults
from models.repair.edits.siblings import siblings
from models.repair.edits.wrapped import wrapped
from models.repair.edits.yields import yields

STATEMENT_EDITS: tuple[Generator, ...] = (
    conditions, branches, guards, wrapped, returns, yields, initial_values, moves, copies, updates, assignments, flow,
    declarations, own_attributes, shared_defaults, missing_keys, remembering, unset_fields, siblings,
    running,
)  # fmt: skip
