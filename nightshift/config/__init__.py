"""The groups of settings, each with its defaults. The module `load` combines the groups and reads the values."""
