"""Serves the pages: the table of pages, the HTML frame that they share, and the data embedded in them."""
