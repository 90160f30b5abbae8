"""The vectors of chunks: embedded, kept, and found by their sign bits or by the native index."""
