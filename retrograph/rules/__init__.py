"""The laws of validity, time and walks: pure values in, pure values out."""
