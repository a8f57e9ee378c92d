"""SQLite, the embedded default: one file, its connections, statements and migrations."""
