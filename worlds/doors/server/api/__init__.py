"""The JSON API: the table of its operations, their parameters, what each does, and the OpenAPI document."""
