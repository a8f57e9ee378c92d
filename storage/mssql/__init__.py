"""SQL Server, the production engine: its driver, tenants, clock, retries, errors and cascades."""
