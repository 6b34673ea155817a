"""Generators of edits, one family a file; `EXPRESSIONS` are those that stay within one expression or operator."""

from models.repair.edit import Generator
from models.repair.edits.comparisons import comparisons
from models.repair.edits.off_by_one import off_by_one
from models.repair.edits.operators import new_operands, operators

EXPRESSIONS: tuple[Generator, ...] = (
    comparisons,
    operators,
    off_by_one,
    new_operands,
)
