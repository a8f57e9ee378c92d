"""All that touches a database: connections, clocks, reads and writes.

store                      the front door: snapshots, writes, listeners
profile                    what an engine is
sqlite, mariadb, mssql     each engine's own: its profile, migrations, errors
writer, write              write transactions, and one fleet's side of them
fleets, clock              instants: who gives them, and that they only increase
tables, as_of, snapshot    what is versioned, and how it is seen as of an instant
graphs, graph_cache        whole graphs in memory, checked against the clock
cascades, versions         what a run writes, and how versions open and close
prepared, named, bulk      statements: built once, by name, and of many rows
driven, id_set, presence   pieces of statements: join order, sets of ids, who is a node
nodes, edges, evidence …   one module for each noun that is read or written
"""
