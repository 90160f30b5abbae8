"""What every request goes through: access, limits, media types, errors, the log, metrics."""
