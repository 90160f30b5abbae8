"""Sources that a world follows: folders, files and addresses, each read into a graph of its own and kept in step."""
