"""Model text into files: the one place that knows how models write code down.

What is asked for is one fenced block a file, its path in the info string. What comes is read leniently as long as it
has one meaning only; where it has two, or none, it is refused with a sentence that the model can act on. Nothing here
executes, evaluates or touches a disk.
"""

from nightshift.agent.replies.edits import Refused, apply_edit, is_applied
from nightshift.agent.replies.json_replies import find_json
from nightshift.agent.replies.reader import parse
from nightshift.agent.replies.values import CutReply, Edit, Parsed

__all__ = ["CutReply", "Edit", "Parsed", "Refused", "apply_edit", "find_json", "is_applied", "parse"]
