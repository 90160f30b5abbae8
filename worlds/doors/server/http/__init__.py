"""The steps of every request: access, limits, media types, errors, the log, metrics."""
