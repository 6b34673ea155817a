"""The checks of `nightshift doctor`. The module `examination` lists their functions. No check writes to a home."""
