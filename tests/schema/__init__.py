"""The GraphQL surface, asked the way clients ask it."""
