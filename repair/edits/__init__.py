"""Generators of edits, one family a file; `EXPRESSIONS` are those that stay within one expression or operator."""

from repair.edit import Generator
from repair.edits.arguments import arguments
from repair.edits.bounding import bounding, remainders
from repair.edits.calling import calling
from repair.edits.clauses import clauses
from repair.edits.comparisons import comparisons
from repair.edits.comprehensions import comprehensions
from repair.edits.constants import constants
from repair.edits.joining import joining
from repair.edits.keywords import keywords
from repair.edits.methods import methods
from repair.edits.names import names
from repair.edits.off_by_one import off_by_one
from repair.edits.operands import new_operands
from repair.edits.operators import operators
from repair.edits.raising import raising
from repair.edits.resulting import resulting
from repair.edits.slices import slices
from repair.edits.subscripts import subscripts
from repair.edits.surgery import surgery
from repair.edits.wrapping import wrapping

EXPRESSIONS: tuple[Generator, ...] = (
    comparisons,
    operators,
    off_by_one,
    constants,
    slices,
    arguments,
    keywords,
    calling,
    methods,
    names,
    subscripts,
    comprehensions,
    wrapping,
    bounding,
    remainders,
    clauses,
    resulting,
    raising,
    surgery,
    joining,
    new_operands,
)
