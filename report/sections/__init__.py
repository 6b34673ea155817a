"""The sections of the report, each made from the figures."""
