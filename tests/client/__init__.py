"""The client, asked the way its users ask it."""
