"""The T-SQL gate: every text the project can send to SQL Server, judged without a server."""
