"""What the world sees: GraphQL types, thin fields, guards and transports."""
