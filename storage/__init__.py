"""All that touches a database: connections, clocks, reads and writes."""
