"""The import of a graph: from a file of lines to rows, in one write."""
