"""One use case, one function: load, decide by the rules, write."""
