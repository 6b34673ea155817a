"""The weekly report's parts: figures, what follows from them, and the page."""
