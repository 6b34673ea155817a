"""The parts of the weekly report: the figures, the advice that follows from them, and the page."""
