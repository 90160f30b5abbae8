"""The HTTP server of `worlds serve`: a thin door to worlds, with keys and limits.

Nothing here is imported by `import worlds`. The extra `server` installs what it needs.
"""
