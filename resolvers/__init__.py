"""One use case, one function: load, decide by the rules, write.

`importing` is the one that takes more than a module: from a file of lines to rows.
"""
