"""SQL text by engine, migrations and named queries; text only."""
