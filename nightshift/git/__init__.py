"""Git: `manager` is the interface of this package; the other modules implement it."""
