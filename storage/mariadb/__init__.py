"""MariaDB, the open engine: connections, errors, migrations and cascades by procedure."""
