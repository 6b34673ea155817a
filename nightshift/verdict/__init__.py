"""Whether a change may be committed: how its tests are planned, run, believed and measured."""
