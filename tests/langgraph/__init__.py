"""LangGraph's saver, over the API and embedded."""
