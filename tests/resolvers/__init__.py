"""Tests of the room `resolvers`."""
