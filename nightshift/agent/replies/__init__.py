"""Reads files from model text: the one module that knows how models write code.

Models are asked for one fenced block per file, with its path in the info string. Other replies are read leniently as
long as they have exactly one meaning. A reply with two meanings, or none, is refused with a sentence that the model can
act on. Nothing here executes, evaluates or touches a disk.
"""

from nightshift.agent.replies.edits import Refused, apply_edit, is_applied
from nightshift.agent.replies.json_replies import find_json
from nightshift.agent.replies.reader import parse
from nightshift.agent.replies.values import Edit, Parsed

__all__ = ["Edit", "Parsed", "Refused", "apply_edit", "find_json", "is_applied", "parse"]
