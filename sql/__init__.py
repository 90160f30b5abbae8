"""SQL as source: schema, named statements, migrations, and the one module that touches a driver."""
