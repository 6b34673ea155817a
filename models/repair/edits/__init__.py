"""Generators of edits, one family a file; `EXPRESSIONS` are those that stay within one expression or operator."""

from models.repair.edit import Generator
from models.repair.edits.comparisons import comparisons
from models.repair.edits.constants import constants
from models.repair.edits.names import names
from models.repair.edits.off_by_one import off_by_one
from models.repair.edits.operators import new_operands, operators
from models.repair.edits.slices import slices

EXPRESSIONS: tuple[Generator, ...] = (
    comparisons,
    operators,
    off_by_one,
    constants,
    slices,
    names,
    new_operands,
)
