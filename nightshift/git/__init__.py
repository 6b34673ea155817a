"""Git: `manager` is the interface of this package, the other modules are the mechanics behind it."""
