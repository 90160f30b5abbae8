"""The MCP server of `worlds mcp`: one world as tools, resources and prompts for agents.

Nothing here is imported by `import worlds`. The extra `mcp` installs what it needs.
"""
