"""The parts of the weekly report: figures, conclusions from them, and the page."""
