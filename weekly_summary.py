"""The weekly report. The implementation is `nightshift/report/weekly.py`."""

from nightshift.report.weekly import Summary, render, summarise, write_report

__all__ = ["Summary", "render", "summarise", "write_report"]
