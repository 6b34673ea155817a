"""Generators of edits, one family a file; `EXPRESSIONS` are those that stay within one expression or operator."""

from models.repair.edit import Generator
from models.repair.edits.arguments import arguments
from models.repair.edits.bounding import bounding, remainders
from models.repair.edits.calling import calling
from models.repair.edits.clauses import clauses
from models.repair.edits.comparisons import comparisons
from models.repair.edits.comprehensions import comprehensions
from models.repair.edits.constants import constants
from models.repair.edits.joining import joining
from models.repair.edits.keywords import keywords
from models.repair.edits.methods import methods
from models.repair.edits.names import names
from models.repair.edits.off_by_one import off_by_one
from models.repair.edits.operands import new_operands
from models.repair.edits.operators import operators
from models.repair.edits.raising import raising
from models.repair.edits.resulting import resulting
from models.repair.edits.slices import slices
from models.repair.edits.subscripts import subscripts
from models.repair.edits.surgery import surgery
from models.repair.edits.wrapping import wrapping

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
